/*
 * Accepts requests of browsers to programs in a sandbox with an isolated network, on a socket that
 * already listens in the host's network, made by the process that started us.
 *
 * Each connection carries one request and what follows it: the request's header X-Deft-Port selects
 * the program's port and is removed. nginx authorizes requests beforehand
 * (docs/decisions/0020-previews.md).
 *
 * Ownership: the acceptor owns its connections until preview_listener_close().
 * Threading: one thread, the loop's.
 */
#ifndef DEFT_SANDBOX_PORTS_PREVIEW_LISTENER_H
#define DEFT_SANDBOX_PORTS_PREVIEW_LISTENER_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct event_loop;
struct preview_listener;
struct strbuf;

/* Takes ownership of the descriptor. */
int preview_listener_open(struct event_loop *loop, int fd, struct preview_listener **listener_out,
                          struct error *err) NONNULL MUST_CHECK;
void preview_listener_close(struct preview_listener *listener);

/* Removes the header from a request's head and returns its port; false without a valid one. */
bool preview_listener_take_port(struct strbuf *head, int *port_out) NONNULL MUST_CHECK;

#endif
