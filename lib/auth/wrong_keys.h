/*
 * Rate limit of wrong keys per client address: after twenty a minute, further wrong keys are
 * answered with ERROR_RATE_LIMITED. A right key is never refused, whatever else its address sends,
 * so people behind one router do not lock each other out.
 *
 * Addresses are kept in a table of fixed size, IPv6 ones by their first 64 bits; the address that
 * has been quiet longest is replaced. Each process counts for itself.
 *
 * Threading: any thread. The lock inside is never held over I/O.
 * Decision: docs/decisions/0047-callers.md
 */
#ifndef DEFT_AUTH_WRONG_KEYS_H
#define DEFT_AUTH_WRONG_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct wrong_keys;

#define WRONG_KEYS_PER_MINUTE 20
/* Retry-After, in seconds: after this time one counted key expires. */
#define WRONG_KEYS_RETRY_S "3"

struct wrong_keys *wrong_keys_new(void) MUST_CHECK;
void wrong_keys_free(struct wrong_keys *keys);

/*
 * Counts a wrong key of the address (text; NULL and invalid addresses count as one). True while the
 * address is within the limit.
 */
bool wrong_keys_count(struct wrong_keys *keys, const char *address)
    __attribute__((nonnull(1))) MUST_CHECK;

/*
 * For a failed key lookup: counts an ERROR_UNAUTHENTICATED, and turns it into ERROR_RATE_LIMITED
 * after too many; other errors are unchanged. Returns -1. keys: NULL: nothing is counted.
 */
int wrong_keys_refuse(struct wrong_keys *keys, const char *address, struct error *err)
    __attribute__((nonnull(3))) MUST_CHECK;

#endif
