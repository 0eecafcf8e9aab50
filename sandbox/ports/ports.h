/*
 * Which TCP ports of the sandbox programs listen on, for others to reach.
 */
#ifndef DEFT_SANDBOX_PORTS_PORTS_H
#define DEFT_SANDBOX_PORTS_PORTS_H

#include <stdbool.h>

#include "base/attr.h"

struct request;

/* POST /ports/listening -> 200 {"ports": [number, …]}, ascending, without our own */
void ports_handle_listening(struct request *request) NONNULL;

enum { PORTS_MAX = 65536 };

/* Marks the ports of a table in the form of /proc/net/tcp where somebody listens on more than
 * loopback. */
void ports_read(const char *table, char listens[PORTS_MAX]) NONNULL;
/* True when somebody listens on that port, on whichever address. */
bool ports_has_listener(int port) MUST_CHECK;

#endif
