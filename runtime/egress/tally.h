/*
 * Counts refused connections: repeated ones share an entry. Bounded: those that do not fit are
 * counted as lost.
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

/* Reasons; the text is the rule's NFLOG prefix and the API's value. */
#define REFUSAL_REASONS(X)                                                                         \
    X(REFUSED_HOST, "host")             /* a service of the host */                                \
    X(REFUSED_SANDBOX, "sandbox")       /* another sandbox */                                      \
    X(REFUSED_PRIVATE, "private")       /* a private network */                                    \
    X(REFUSED_LINK_LOCAL, "link_local") /* link-local, where clouds keep their credentials */      \
    X(REFUSED_RESERVED, "reserved")     /* loopback, multicast and reserved ranges */              \
    X(REFUSED_POLICY, "policy")         /* not on this sandbox's list */

#define X(constant, text) constant,
enum refusal_reason { REFUSAL_REASONS(X) REFUSED_N_REASONS };
#undef X

const char *refusal_reason_to_string(enum refusal_reason reason) MUST_CHECK;
/* REFUSED_N_REASONS for an unknown text. */
enum refusal_reason refusal_reason_from_string(const char *text) NONNULL MUST_CHECK;

/* A refused packet. */
struct refused_packet {
    uint32_t bridge_index; /* of the incoming interface */
    enum refusal_reason reason;
    uint8_t protocol;    /* IANA's number */
    uint16_t port;       /* 0: the protocol has none, or it is unknown */
    uint32_t address_be; /* destination, in network order */
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
/* Puts back entries that could not be stored. */
void tally_merge(struct tally *tally, const struct tally *other) NONNULL;

#endif
