/*
 * Egress policies, the sandboxes they are assigned to, and recently resolved addresses of names.
 * The packet filter rules are generated from it.
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

/* Maximum number of addresses kept; the least recently resolved one is replaced. */
#define EGRESS_KNOWN_MAX 4096
/* Time for which an address is kept: a client may reconnect to one that it resolved earlier. */
#define EGRESS_KNOWN_MS 3600000

/* The first one is the settings'. */
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

/* Chains in nat, followed by the tag: all DNS queries; those to private addresses. */
#define EGRESS_DNS_CHAIN "DEFT-DNS-"
#define EGRESS_NAMES_CHAIN "DEFT-NAMES-"

/* Parameters of the generated rules. */
struct egress_rules {
    const char *tag;
    uint16_t resolver_port; /* of the resolver for unrestricted sandboxes */
    uint16_t dns_port;      /* for restricted ones */
    int group;              /* of NFLOG; -1: refused packets are not logged */
};

void egress_book_done(struct egress_book *book);
/* The policy for these texts, added if new. ERROR_INVALID as egress_policy_parse(). */
int egress_book_policy(struct egress_book *book, const char *mode, const char *list,
                       size_t *policy_out, struct error *err) NONNULL MUST_CHECK;
/* Assigns a policy to a bridge; true if that changes anything. */
bool egress_book_seat(struct egress_book *book, const char *bridge, size_t policy) NONNULL;
void egress_book_unseat(struct egress_book *book, size_t seat) NONNULL;
/* A bridge's policy, by default the settings'. Borrowed until the next change. */
const struct egress_policy *egress_book_find(const struct egress_book *book,
                                             const char *bridge) NONNULL MUST_CHECK;
/* Stores an address; true if it is new for the name, so that the rules must be loaded again. */
bool egress_book_learn(struct egress_book *book, const char *name, uint32_t address,
                       int64_t now_ms) NONNULL;
/* Addresses of the name seen since `since_ms` (monotonic), at most `max`. */
size_t egress_book_addresses(const struct egress_book *book, const char *name, int64_t since_ms,
                             uint32_t *addresses, size_t max) NONNULL MUST_CHECK;
/* Appends the input of iptables-restore. */
void egress_book_append_rules(const struct egress_book *book, const struct egress_rules *rules,
                              struct strbuf *out) NONNULL;

#endif
