/*
 * Refused connections, counted: what is refused again and again is one entry. Bounded: what finds
 * no place is counted as lost.
 *
 * Ownership: tally_done() releases the entries.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_TALLY_H
#define DEFT_RUNTIME_EGRESS_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define TALLY_MAX 1024

/* Why; the first word is what a rule writes beside the packet, and what the API says. */
#define REFUSAL_REASONS(X)                                                                         \
    X(REFUSED_HOST, "host")             /* a service of the host */                                \
    X(REFUSED_SANDBOX, "sandbox")       /* another sandbox */                                      \
    X(REFUSED_PRIVATE, "private")       /* a private network */                                    \
    X(REFUSED_LINK_LOCAL, "link_local") /* link-local, where clouds keep their credentials */      \
    X(REFUSED_RESERVED, "reserved")     /* loopback, multicast, and what is nobody's */            \
    X(REFUSED_POLICY, "policy")         /* what is on no list of this sandbox */

#define X(constant, text) constant,
enum refusal_reason { REFUSAL_REASONS(X) REFUSED_N_REASONS };
#undef X

const char *refusal_reason_to_string(enum refusal_reason reason) MUST_CHECK;
/* REFUSED_N_REASONS for a word that is none. */
enum refusal_reason refusal_reason_from_string(const char *text) NONNULL MUST_CHECK;

/* A packet that was refused. */
struct refused_packet {
    uint32_t bridge_index; /* of the interface that it came by */
    enum refusal_reason reason;
    uint8_t protocol;    /* IANA's number */
    uint16_t port;       /* 0: it has none */
    uint32_t address_be; /* where it was to go, in network order */
};

struct tally_entry {
    struct refused_packet packet;
    int64_t count;
    int64_t first_us; /* UTC */
    int64_t last_us;
};

struct tally {
    struct tally_entry *items;
    size_t n;
    int64_t n_lost;
};

/* clang-format off */
#define TALLY_INIT {NULL, 0, 0}
/* clang-format on */

void tally_done(struct tally *tally);
void tally_note(struct tally *tally, const struct refused_packet *packet, int64_t now_us) NONNULL;
/* Puts entries back that could not be kept elsewhere. */
void tally_merge(struct tally *tally, const struct tally *other) NONNULL;

#endif
