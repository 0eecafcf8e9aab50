/*
 * Questions for the address of a name, and their answers: as much of RFC 1035 as that takes.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_H
#define DEFT_RUNTIME_EGRESS_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/egress/egress_policy.h"

/* Without EDNS no packet is longer. */
#define DNS_PACKET_BYTES 512
/* So many addresses fit beside the longest name. */
#define DNS_ADDRESSES_MAX 13
#define DNS_TYPE_A 1
#define DNS_TYPE_AAAA 28

enum dns_verdict { DNS_OK = 0, DNS_FAILED = 2, DNS_UNKNOWN = 3 };

struct dns_question {
    uint16_t id;
    uint16_t type;
    bool wants_recursion;
    char name[EGRESS_NAME_BYTES]; /* in its one form; "" when it has none of that form */
    size_t end;                   /* of the question in its packet */
};

/* False for what is no question: that gets no answer. */
bool dns_read(const void *packet, size_t len, struct dns_question *question_out) NONNULL MUST_CHECK;
/* Answers the question of a packet with addresses (network order), or with none; the length. */
size_t dns_answer(const void *packet, const struct dns_question *question, enum dns_verdict verdict,
                  const uint32_t *addresses_be, size_t n, unsigned char answer[DNS_PACKET_BYTES])
    __attribute__((nonnull(1, 2, 6))) MUST_CHECK;

#endif
