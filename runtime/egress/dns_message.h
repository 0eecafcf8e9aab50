/*
 * Parses DNS queries for a name's address and writes replies: the part of RFC 1035 that this needs.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_MESSAGE_H
#define DEFT_RUNTIME_EGRESS_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/egress/egress_policy.h"

/* Maximum length of a packet without EDNS. */
#define DNS_PACKET_BYTES 512
/* Maximum number of addresses in a packet with the longest name. */
#define DNS_ADDRESSES_MAX 13
#define DNS_TYPE_A 1
#define DNS_TYPE_AAAA 28
#define DNS_TYPE_ANY 255

enum dns_result { DNS_OK = 0, DNS_FAILED = 2, DNS_UNKNOWN = 3 };

struct dns_query {
    uint16_t id;
    uint16_t type;
    bool wants_recursion;
    char name[EGRESS_NAME_BYTES]; /* normalized; "" if it is not a valid name */
    size_t end;                   /* of the question, as an offset in its packet */
};

/* False if the packet is not a query; it gets no reply. */
bool dns_query_parse(const void *packet, size_t len,
                     struct dns_query *question_out) NONNULL MUST_CHECK;
/* Writes a reply to a packet's question, with addresses (network order) or none; its length. */
size_t dns_reply_write(const void *packet, const struct dns_query *question,
                       enum dns_result verdict, const uint32_t *addresses_be, size_t n,
                       unsigned char answer[DNS_PACKET_BYTES])
    __attribute__((nonnull(1, 2, 6))) MUST_CHECK;

#endif
