/*
 * Small IPv4 networks cut from a range, so that many sandboxes fit: an engine's own pool holds
 * about thirty.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_SUBNET_H
#define DEFT_RUNTIME_SUBNET_H

#include "base/attr.h"

struct error;

/* Network, bridge, sandbox, broadcast, and room for a few more. */
#define SUBNET_PREFIX 29
#define SUBNET_TEXT_BYTES 24

/* A random /29 of `range` ("10.201.0.0/16"); ERROR_INVALID when that is no range of /29s. */
int subnet_random(const char *range, char subnet_out[SUBNET_TEXT_BYTES],
                  struct error *err) NONNULL MUST_CHECK;

#endif
