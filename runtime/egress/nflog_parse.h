/*
 * Parser of NFLOG messages. libmnl checks their lengths; those inside the packets, which sandboxes
 * write, are checked here.
 *
 * Source: linux/netfilter/nfnetlink_log.h
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_EGRESS_NFLOG_PARSE_H
#define DEFT_RUNTIME_EGRESS_NFLOG_PARSE_H

#include <stddef.h>

struct denied_packet;

typedef void nflog_each(void *context, const struct denied_packet *packet);

/*
 * Calls `each` for every complete packet from our rules; skips the rest. bytes: aligned as a struct
 * nlmsghdr.
 */
void nflog_parse(const void *bytes, size_t len, nflog_each *each, void *context)
    __attribute__((nonnull(1, 3)));

#endif
