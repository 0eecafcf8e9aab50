/*
 * Accepts requests of browsers to programs in a sandbox with an isolated network, on a socket that
 * already listens in the host's network, made by the process that started us.
 *
 * Each connection carries one request and what follows it: the request's header X-Deft-Port selects
 * the program's port and is removed. nginx authorizes requests beforehand
 * (docs/decisions/0020-previews.md).
 *
 * Ownership: the acceptor owns its connections until preview_door_close().
 * Threading: one thread, the loop's.
 */
#ifndef DEFT_SANDBOX_PORTS_PREVIEW_DOOR_H
#define DEFT_SANDBOX_PORTS_PREVIEW_DOOR_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct loop;
struct preview_door;
struct strbuf;

/* Takes ownership of the descriptor. */
int preview_door_open(struct loop *loop, int fd, struct preview_door **door_out,
                      struct error *err) NONNULL MUST_CHECK;
void preview_door_close(struct preview_door *door);

/* Removes the header from a request's head and returns its port; false without a valid one. */
bool preview_door_take_port(struct strbuf *head, int *port_out) NONNULL MUST_CHECK;

#endif
