/*
 * Counts refused connections: repeated ones share an entry. Bounded: those that do not fit are
 * counted as lost.
 *
 * Ownership: denial_counter_done() releases the entries.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_DENIAL_COUNTER_H
#define DEFT_RUNTIME_EGRESS_DENIAL_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define DENIAL_COUNTER_MAX 1024

/* Reasons; the text is the rule's NFLOG prefix and the API's value. */
#define DENIAL_REASONS(X)                                                                          \
    X(DENIED_HOST, "host")             /* a service of the host */                                 \
    X(DENIED_SANDBOX, "sandbox")       /* another sandbox */                                       \
    X(DENIED_PRIVATE, "private")       /* a private network */                                     \
    X(DENIED_LINK_LOCAL, "link_local") /* link-local, where clouds keep their credentials */       \
    X(DENIED_RESERVED, "reserved")     /* loopback, multicast and reserved ranges */               \
    X(DENIED_POLICY, "policy")         /* not on this sandbox's list */

#define X(constant, text) constant,
enum denial_reason { DENIAL_REASONS(X) DENIED_N_REASONS };
#undef X

const char *denial_reason_to_string(enum denial_reason reason) MUST_CHECK;
/* DENIED_N_REASONS for an unknown text. */
enum denial_reason denial_reason_from_string(const char *text) NONNULL MUST_CHECK;

/* A refused packet. */
struct denied_packet {
    uint32_t bridge_index; /* of the incoming interface */
    enum denial_reason reason;
    uint8_t protocol;    /* IANA's number */
    uint16_t port;       /* 0: the protocol has none, or it is unknown */
    uint32_t address_be; /* destination, in network order */
};

struct denial {
    struct denied_packet packet;
    int64_t count;
    int64_t first_us; /* UTC */
    int64_t last_us;
};

struct denial_counter {
    struct denial *items;
    size_t n;
    int64_t n_lost;
};

/* clang-format off */
#define DENIAL_COUNTER_INIT {NULL, 0, 0}
/* clang-format on */

void denial_counter_done(struct denial_counter *counter);
/* Counts a packet, by destination and reason. now_us: UTC. */
void denial_counter_note(struct denial_counter *counter, const struct denied_packet *packet,
                         int64_t now_us) NONNULL;
/* Puts back entries that could not be stored. */
void denial_counter_merge(struct denial_counter *counter,
                          const struct denial_counter *other) NONNULL;

#endif
