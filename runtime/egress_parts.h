/*
 * The inside of egress.h, shared by its files.
 */
#ifndef DEFT_RUNTIME_EGRESS_PARTS_H
#define DEFT_RUNTIME_EGRESS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "runtime/bridge.h"
#include "runtime/egress_book.h"

/* Names that are looked up at a time. */
#define EGRESS_RESOLVERS 8

struct egress {
    const char *instance;
    bool has_rules;      /* DEFT_NETWORK_RULES */
    bool has_processes;  /* sandboxes are no containers */
    bool has_no_network; /* nor have they any network */
    bool is_usually_restricted;
    char tag[BRIDGE_TAG_BYTES];
    int stop_fd;
    bool is_loaded;   /* the loader's own: rules are there, or may be from an earlier life */
    struct lock lock; /* guards all below */
    struct condition changed;
    struct egress_book book;
    int dns_fd;         /* does not change once it is open; -1: no sandbox was restricted yet */
    uint16_t dns_port;  /* 0: not open */
    uint64_t wanted;    /* loads asked for */
    uint64_t done;      /* and over */
    struct error state; /* of the last */
    bool is_stopping;
    unsigned asking[EGRESS_RESOLVERS]; /* bridges whose names are being looked up; 0: none */
};

/* Has the rules loaded as the book is now, and waits for that. */
int egress_load(struct egress *egress, struct error *err) NONNULL MUST_CHECK;

#endif
