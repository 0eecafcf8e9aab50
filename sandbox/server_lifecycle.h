/*
 * The parts of the running server: opened in the order in which they need each other, closed in
 * reverse.
 *
 * Ownership: the parts in struct action_server belong to it until server_lifecycle_end().
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_SERVER_LIFECYCLE_H
#define DEFT_SANDBOX_SERVER_LIFECYCLE_H

#include "base/attr.h"

struct action_server;
struct error;
struct http_server;

/*
 * Opens all parts of a server that has only its configuration, and listens. ERROR_INVALID for a
 * descriptor or an address that cannot be used, ERROR_UNAVAILABLE.
 */
int server_lifecycle_begin(struct action_server *server, struct http_server **http_out,
                           struct error *err) NONNULL MUST_CHECK;
/* Ends what still runs, and frees all parts. */
void server_lifecycle_end(struct action_server *server, struct http_server *http) NONNULL;

#endif
