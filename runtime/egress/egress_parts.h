/*
 * The inside of egress.h, shared by its files.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_PARTS_H
#define DEFT_RUNTIME_EGRESS_EGRESS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/egress_book.h"

/* Where names of lists are asked for: the port after the other resolver's. */
#define EGRESS_DNS_PORT(resolver_port) ((uint16_t)((resolver_port) + 1))
/* Names that are looked up at a time. */
#define EGRESS_RESOLVERS 8

/* A socket at the gateway of a sandbox that may not go everywhere. */
struct egress_ear {
    unsigned bridge_index;
    int fd;
};

struct egress {
    const char *instance;
    bool has_rules;         /* DEFT_NETWORK_RULES */
    bool has_processes;     /* sandboxes are no containers */
    bool has_no_network;    /* nor have they any network */
    uint16_t resolver_port; /* DEFT_RESOLVER_PORT */
    char tag[BRIDGE_TAG_BYTES];
    int stop_fd;
    int ears_fd;      /* epoll: stop_fd as 0, and each ear as its bridge */
    struct lock lock; /* guards all below */
    struct condition changed;
    struct egress_book book;
    struct egress_ear *ears;
    size_t n_ears;
    uint64_t wanted;    /* loads asked for */
    uint64_t done;      /* and over */
    struct error state; /* of the last */
    bool is_stopping;
    unsigned asking[EGRESS_RESOLVERS]; /* bridges whose names are being looked up; 0: none */
};

/* Has the rules loaded as the book is now, and waits for that. */
int egress_load(struct egress *egress, struct error *err) NONNULL MUST_CHECK;
/* Listens at the gateway of a bridge, where it does not yet; a bridge that is gone asks nothing. */
int egress_listen(struct egress *egress, const char *bridge, struct error *err) NONNULL MUST_CHECK;
/* Closes what listens at bridges that are gone. */
void egress_unlisten_gone(struct egress *egress) NONNULL;

#endif
