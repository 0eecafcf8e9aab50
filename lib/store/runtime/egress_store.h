/*
 * Egress policies of users and of keys of the Runtime API.
 *
 * Ownership: egress_choice_done() and egress_network_list_done() release what a struct holds.
 */
#ifndef DEFT_STORE_RUNTIME_EGRESS_STORE_H
#define DEFT_STORE_RUNTIME_EGRESS_STORE_H

#include <stddef.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;

struct egress_choice {
    char *mode; /* NULL: nothing was set */
    char *list; /* "" when there is none */
};

/* A sandbox's network, and its policy. */
struct egress_network {
    char *network;
    struct egress_choice choice;
};

struct egress_network_list {
    struct egress_network *items;
    size_t n;
};

/* clang-format off */
#define EGRESS_CHOICE_INIT {NULL, NULL}
#define EGRESS_NETWORK_LIST_INIT {NULL, 0}
/* clang-format on */

void egress_choice_done(struct egress_choice *choice);
void egress_network_list_done(struct egress_network_list *networks);

/* The policy of the key, else of the user; either id may be unset. */
int egress_store_find(struct db *db, const struct uuid *tenant_id, const struct uuid *user_id,
                      struct egress_choice *choice_out, struct error *err) NONNULL MUST_CHECK;
/* The policies of all runtimes that have a network. */
int egress_store_list(struct db *db, struct egress_network_list *networks_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
