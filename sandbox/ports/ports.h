/*
 * TCP ports that the sandbox's programs listen on and others can reach.
 */
#ifndef DEFT_SANDBOX_PORTS_PORTS_H
#define DEFT_SANDBOX_PORTS_PORTS_H

#include <stdbool.h>

#include "base/attr.h"

struct server_request;

/* POST /ports/listening -> 200 {"ports": [number, …]}, ascending, without our own */
void ports_handle_listening(struct server_request *request) NONNULL;

enum { PORTS_MAX = 65536 };

/* Marks the listening ports in a table in /proc/net/tcp format, except those on loopback only. */
void ports_read(const char *table, char listens[PORTS_MAX]) NONNULL;
/* True when a program listens on that port, on any address. */
bool ports_has_listener(int port) MUST_CHECK;

#endif
