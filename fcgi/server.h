/*
 * The accepting side: Unix sockets, each with threads that serve one FastCGI request at a time.
 *
 * Ownership: server_start() takes nothing over; the context must outlive server_stop().
 * Threading: the main thread calls server_start() and server_stop().
 */
#ifndef DEFT_FCGI_SERVER_H
#define DEFT_FCGI_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct fcgi_context;
struct server;

/* Listens and starts the threads. ERROR_CONFLICT when another process listens on a socket. */
int server_start(const struct fcgi_context *context, struct server **server_out,
                 struct error *err) NONNULL MUST_CHECK;
/*
 * Stops accepting, waits for the requests in progress until deadline_ms (clock_monotonic_ms()), and
 * removes the sockets. ERROR_TIMEOUT when some are still in progress; then nothing is freed.
 */
int server_stop(struct server *server, int64_t deadline_ms, struct error *err) NONNULL MUST_CHECK;

#endif
