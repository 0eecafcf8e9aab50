/*
 * Small IPv4 networks from a configured range: an engine's default pool has only about thirty.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_BACKEND_SUBNET_H
#define DEFT_RUNTIME_BACKEND_SUBNET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Network, bridge, sandbox and broadcast addresses, and room for a few more. */
#define SUBNET_PREFIX 29
#define SUBNET_TEXT_BYTES 24

/* The n-th /29 of `range` ("10.201.0.0/16"), modulo their number; ERROR_INVALID if that is not a
 * range of /29s. */
int subnet_of_range(const char *range, uint32_t n, char subnet_out[SUBNET_TEXT_BYTES],
                    struct error *err) NONNULL MUST_CHECK;
/*
 * Whether the host has its own route into the subnet according to `routes` (/proc/net/route), such
 * as another engine's bridge or a leftover one. Engines only check their own networks. Source:
 * proc_pid_net(5)
 */
bool subnet_is_routed(const char *subnet, const char *routes) NONNULL MUST_CHECK;

#endif
