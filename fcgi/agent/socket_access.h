/*
 * Access to WebSockets: the subrequest that nginx sends before each upgrade.
 * Decision: docs/decisions/0062-socket-access.md
 */
#ifndef DEFT_FCGI_AGENT_SOCKET_ACCESS_H
#define DEFT_FCGI_AGENT_SOCKET_ACCESS_H

#include "fcgi/core/router.h"

extern const struct route socket_access_routes[];

#endif
