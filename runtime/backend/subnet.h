/*
 * Small IPv4 networks cut from a range, so that many sandboxes fit: an engine's own pool holds
 * about thirty.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_BACKEND_SUBNET_H
#define DEFT_RUNTIME_BACKEND_SUBNET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Network, bridge, sandbox, broadcast, and room for a few more. */
#define SUBNET_PREFIX 29
#define SUBNET_TEXT_BYTES 24

/* The n-th /29 of `range` ("10.201.0.0/16"), which begins anew behind its last; ERROR_INVALID when
 * that is no range of /29s. */
int subnet_of_range(const char *range, uint32_t n, char subnet_out[SUBNET_TEXT_BYTES],
                    struct error *err) NONNULL MUST_CHECK;
/*
 * Whether the host has a route of its own into the subnet, as /proc/net/route lists them
 * (`routes`): another engine's bridge, a bridge that was left over. Engines look at their own
 * networks alone. Source: proc_pid_net(5)
 */
bool subnet_is_routed(const char *subnet, const char *routes) NONNULL MUST_CHECK;

#endif
