/*
 * Internals of egress.h, shared by its files.
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

/* Port of the resolver for restricted sandboxes: follows the other resolver's. */
#define EGRESS_DNS_PORT(resolver_port) ((uint16_t)((resolver_port) + 1))
/* Maximum number of concurrent lookups. */
#define EGRESS_RESOLVERS 8

/* A DNS socket at the gateway of a restricted sandbox. */
struct egress_ear {
    unsigned bridge_index;
    int fd;
};

struct egress {
    const char *instance;
    bool has_rules;         /* DEFT_NETWORK_RULES */
    bool has_processes;     /* sandboxes are processes of the host */
    bool has_no_network;    /* and have no network */
    uint16_t resolver_port; /* DEFT_RESOLVER_PORT */
    char tag[BRIDGE_TAG_BYTES];
    int stop_fd;
    int ears_fd;      /* epoll: stop_fd as 0, each DNS socket as its bridge's index */
    struct lock lock; /* guards all below */
    struct condition changed;
    struct egress_book book;
    struct egress_ear *ears;
    size_t n_ears;
    uint64_t wanted;    /* requested loads */
    uint64_t done;      /* completed loads */
    struct error state; /* result of the last load */
    bool is_stopping;
    unsigned asking[EGRESS_RESOLVERS]; /* bridges with a lookup in progress; 0: none */
};

/* Requests a load of the current rules and waits for it. */
int egress_load(struct egress *egress, struct error *err) NONNULL MUST_CHECK;
/* Opens the DNS socket at a bridge's gateway if needed; no-op if the bridge is gone. */
int egress_listen(struct egress *egress, const char *bridge, struct error *err) NONNULL MUST_CHECK;
/* Closes DNS sockets of bridges that are gone. */
void egress_unlisten_gone(struct egress *egress) NONNULL;

#endif
