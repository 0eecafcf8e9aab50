/*
 * The image's own editor for a browser: openvscode-server or code-server, started when somebody
 * wants it, on a port and with a token of its own.
 */
#ifndef DEFT_SANDBOX_PORTS_VSCODE_H
#define DEFT_SANDBOX_PORTS_VSCODE_H

#include "base/attr.h"

struct request;

/* POST /editor/start {} -> 200 {"program": name or null, "token": text or null} once it listens |
 * 503 with its words */
void vscode_handle_start(struct request *request) NONNULL;
/* POST /editor/status {} -> 200 {"program": name or null, "running": bool} */
void vscode_handle_status(struct request *request) NONNULL;

#endif
