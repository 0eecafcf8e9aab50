/*
 * Packets that a packet filter rule (target NFLOG) shows to a process: a netlink socket that hears
 * one group, and the parser of what comes by it.
 *
 * Source: linux/netfilter/nfnetlink_log.h
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_NFLOG_H
#define DEFT_RUNTIME_EGRESS_NFLOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct refused_packet;

/* Of a packet no more is shown than its headers. */
#define NFLOG_SHOWN_BYTES 64
#define NFLOG_READ_BYTES (64UL * 1024)

/*
 * Hears the first group from `first` on that nobody else does. ERROR_UNAVAILABLE in words when this
 * kernel shows nothing, or not to this process.
 */
int nflog_open(uint16_t first, int *fd_out, uint16_t *group_out,
               struct error *err) NONNULL MUST_CHECK;
/* What is there now, without waiting: the bytes read; 0: nothing, or more than could be kept. */
size_t nflog_read(int fd, void *buffer, size_t size) NONNULL MUST_CHECK;

typedef void nflog_each(void *context, const struct refused_packet *packet);

/* Calls `each` for every whole packet of ours in what was read; the rest is left out. */
void nflog_parse(const void *bytes, size_t len, nflog_each *each, void *context)
    __attribute__((nonnull(1, 3)));

#endif
