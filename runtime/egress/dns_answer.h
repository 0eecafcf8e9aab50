/*
 * Answers a DNS query of a sandbox with a list of destinations: a name that its policy does not
 * allow does not exist and is not looked up. The addresses in replies are the ones that the rules
 * let through. An allowed name has no records of other types: the reply is empty.
 *
 * Threading: any thread; EGRESS_LOOKUPS_MAX look-ups at a time.
 * Decision: docs/decisions/0063-names-of-lists.md
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_ANSWER_H
#define DEFT_RUNTIME_EGRESS_DNS_ANSWER_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "runtime/egress/dns_message.h"

struct service;

/* The bridge from which a query came. */
struct dns_source {
    unsigned bridge_index;
    char bridge[IF_NAMESIZE];
};

/* Writes the reply to a packet; returns its length, 0: the packet is no query. */
size_t dns_answer(struct service *service, const struct dns_source *source, const void *packet,
                  size_t len, unsigned char reply[DNS_PACKET_BYTES]) NONNULL MUST_CHECK;
/* False if the bridge is gone or not this instance's. */
bool dns_source_find(struct service *service, unsigned bridge_index,
                     struct dns_source *source_out) NONNULL MUST_CHECK;

#endif
