/*
 * The accepting side: Unix sockets, each with threads that serve one FastCGI request at a time.
 *
 * Ownership: listeners_start() takes nothing over; the context must outlive listeners_stop().
 * Threading: the main thread calls listeners_start() and listeners_stop().
 */
#ifndef DEFT_FCGI_LISTENERS_H
#define DEFT_FCGI_LISTENERS_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct fcgi_context;
struct listeners;

/* Listens and starts the threads. ERROR_CONFLICT when another process listens on a socket. */
int listeners_start(const struct fcgi_context *context, struct listeners **listeners_out,
                    struct error *err) NONNULL MUST_CHECK;
/*
 * Stops accepting, waits for the requests in progress until deadline_ms (clock_monotonic_ms()), and
 * removes the sockets. ERROR_TIMEOUT when some are still in progress; then nothing is freed.
 */
int listeners_stop(struct listeners *listeners, int64_t deadline_ms,
                   struct error *err) NONNULL MUST_CHECK;

#endif
