/*
 * State of egress.h, shared by the files that load its rules and answer its DNS queries.
 *
 * Ownership: egress_new() and egress_free().
 * Threading: the first members are constant; the lock guards the rest.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_STATE_H
#define DEFT_RUNTIME_EGRESS_EGRESS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/lock.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/egress_table.h"

/* Port of the resolver for restricted sandboxes: follows the other resolver's. */
#define EGRESS_DNS_PORT(resolver_port) ((uint16_t)((resolver_port) + 1))
#define DNS_SERVER_THREADS 8
#define DNS_TCP_THREADS 2
#define EGRESS_LOOKUPS_MAX 8

enum dns_protocol { DNS_UDP, DNS_TCP, DNS_N_PROTOCOLS };

/* DNS sockets at the gateway of a restricted sandbox. */
struct dns_socket {
    unsigned bridge_index;
    int fds[DNS_N_PROTOCOLS];
};

struct egress {
    const char *instance;
    bool has_rules;         /* DEFT_NETWORK_RULES */
    bool has_processes;     /* sandboxes are processes of the host */
    bool has_no_network;    /* and have no network */
    uint16_t resolver_port; /* DEFT_RESOLVER_PORT */
    char tag[BRIDGE_TAG_BYTES];
    int stop_fd;
    /* epoll: stop_fd as 0, each DNS socket as its bridge's index */
    int polls[DNS_N_PROTOCOLS];
    struct lock lock; /* guards all below */
    struct condition changed;
    struct egress_table table;
    struct dns_socket *dns_sockets;
    size_t n_dns_sockets;
    uint64_t wanted;    /* requested loads */
    uint64_t done;      /* completed loads */
    struct error state; /* result of the last load */
    bool is_stopping;
    unsigned asking[EGRESS_LOOKUPS_MAX]; /* bridges with a lookup in progress; 0: none */
};

#endif
