/*
 * Which sandbox may go where: policies, whom each is for, and the addresses that names had lately.
 * From it come the packet filter's rules.
 *
 * Ownership: egress_book_done() releases all.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_BOOK_H
#define DEFT_RUNTIME_EGRESS_EGRESS_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/egress_policy.h"

struct error;
struct strbuf;

/* So many addresses of names are kept; the one that was asked for longest ago makes room. */
#define EGRESS_KNOWN_MAX 4096
/* And so long: who has one open, or kept it, may come again. */
#define EGRESS_KNOWN_MS 3600000

/* The first is the settings'. */
struct egress_book_policy {
    char *mode;
    char *list;
    struct egress_policy policy;
};

struct egress_book_seat {
    char bridge[BRIDGE_NAME_BYTES];
    size_t policy;
};

struct egress_known {
    char name[EGRESS_NAME_BYTES];
    uint32_t address; /* in host order */
    int64_t seen_ms;  /* monotonic */
};

struct egress_book {
    struct egress_book_policy *policies;
    size_t n_policies;
    struct egress_book_seat *seats;
    size_t n_seats;
    struct egress_known *known;
    size_t n_known;
};

/* In nat, with the tag: where questions for names go; those to private addresses. */
#define EGRESS_DNS_CHAIN "DEFT-DNS-"
#define EGRESS_NAMES_CHAIN "DEFT-NAMES-"

/* What the rules are made for. */
struct egress_rules {
    const char *tag;
    uint16_t resolver_port; /* of the resolver of those that may go everywhere */
    uint16_t dns_port;      /* of the others' */
    int group;              /* of NFLOG; -1: what is refused is not shown */
};

void egress_book_done(struct egress_book *book);
/* The policy of those texts, new where there was none such. ERROR_INVALID as egress_policy_parse().
 */
int egress_book_policy(struct egress_book *book, const char *mode, const char *list,
                       size_t *policy_out, struct error *err) NONNULL MUST_CHECK;
/* True when that changes anything. */
bool egress_book_seat(struct egress_book *book, const char *bridge, size_t policy) NONNULL;
void egress_book_unseat(struct egress_book *book, size_t seat) NONNULL;
/* The policy of a bridge: the settings' for one that has no seat. Borrowed until the next change.
 */
const struct egress_policy *egress_book_find(const struct egress_book *book,
                                             const char *bridge) NONNULL MUST_CHECK;
/* True when the name had not that address lately: then rules are to be loaded. */
bool egress_book_learn(struct egress_book *book, const char *name, uint32_t address,
                       int64_t now_ms) NONNULL;
/* Addresses that the name had since `since_ms`, at most `max`. */
size_t egress_book_addresses(const struct egress_book *book, const char *name, int64_t since_ms,
                             uint32_t *addresses, size_t max) NONNULL MUST_CHECK;
/* What iptables-restore is given. */
void egress_book_append_rules(const struct egress_book *book, const struct egress_rules *rules,
                              struct strbuf *out) NONNULL;

#endif
