/*
 * Wrong keys, counted for the address that sent them: twenty a minute are looked up in vain, what
 * is beyond that is told to come later. A right key is never refused, whatever else its address
 * sends: people behind one router do not lock each other out.
 *
 * Addresses are kept in a table of fixed size, those of IPv6 by their first 64 bits; the one that
 * has been quiet for longest makes room. Each process counts for itself.
 *
 * Threading: any thread. The lock inside is never held over I/O.
 */
#ifndef DEFT_AUTH_WRONG_KEYS_H
#define DEFT_AUTH_WRONG_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct wrong_keys;

#define WRONG_KEYS_PER_MINUTE 20
/* Retry-After: one key is forgotten in so many seconds. */
#define WRONG_KEYS_RETRY_S "3"

struct wrong_keys *wrong_keys_new(void) MUST_CHECK;
void wrong_keys_free(struct wrong_keys *keys);

/*
 * Counts a wrong key of the address (text; NULL and what is no address count as one). True while it
 * has sent no more than may be in a minute.
 */
bool wrong_keys_count(struct wrong_keys *keys, const char *address)
    __attribute__((nonnull(1))) MUST_CHECK;

/*
 * For a failed look-up of a key: an ERROR_UNAUTHENTICATED is counted, and becomes
 * ERROR_RATE_LIMITED when there were too many; other failures stay. Returns -1. keys: NULL, nothing
 * is counted.
 */
int wrong_keys_refuse(struct wrong_keys *keys, const char *address, struct error *err)
    __attribute__((nonnull(3))) MUST_CHECK;

#endif
