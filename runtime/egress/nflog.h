/*
 * Packets that a packet filter rule (target NFLOG) reports to a process: a netlink socket bound to
 * one group. nflog_parse.h parses its messages.
 *
 * Source: linux/netfilter/nfnetlink_log.h
 * Threading: none of its own.
 * Decision: docs/decisions/0061-netlink.md
 */
#ifndef DEFT_RUNTIME_EGRESS_NFLOG_H
#define DEFT_RUNTIME_EGRESS_NFLOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Only a packet's headers are reported. */
#define NFLOG_SHOWN_BYTES 64
#define NFLOG_READ_BYTES (64UL * 1024)

/*
 * Binds the first group from `first` on that no other process uses. ERROR_UNAVAILABLE with a
 * readable message if this kernel, or this process's rights, do not allow it.
 */
int nflog_open(uint16_t first, int *fd_out, uint16_t *group_out,
               struct error *err) NONNULL MUST_CHECK;
/* Reads available messages without blocking; returns their length, 0: none, or some were lost. */
size_t nflog_read(int fd, void *buffer, size_t size) NONNULL MUST_CHECK;

#endif
