/*
 * A door of the host's network through which a browser's requests reach programs of the sandbox,
 * where that has a network of its own that nobody outside is in: a socket that listens already,
 * made by who started us.
 *
 * A connection is one request, and what follows it: its head names the port of the program by the
 * header X-Deft-Port, which is taken out. Who may come here is asked before, by nginx
 * (docs/decisions/previews.md).
 *
 * Ownership: the door owns its connections until preview_door_close().
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

/* Takes the descriptor over. */
int preview_door_open(struct loop *loop, int fd, struct preview_door **door_out,
                      struct error *err) NONNULL MUST_CHECK;
void preview_door_close(struct preview_door *door);

/* Takes the header out of the head of a request, and says its port; false without a valid one. */
bool preview_door_take_port(struct strbuf *head, int *port_out) NONNULL MUST_CHECK;

#endif
