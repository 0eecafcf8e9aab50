/*
 * The image's browser-based editor, openvscode-server or code-server, started on request, on its
 * own port and with its own token.
 */
#ifndef DEFT_SANDBOX_PORTS_VSCODE_H
#define DEFT_SANDBOX_PORTS_VSCODE_H

#include "base/attr.h"

struct server_request;

/*
 * POST /editor/start {} -> 200 {"program": name, "token": text} once it listens, each only if there
 * is one | 503 with its message
 */
void vscode_handle_start(struct server_request *request) NONNULL;
/* POST /editor/status {} -> 200 {"program": name, "running": bool}; no program without one */
void vscode_handle_status(struct server_request *request) NONNULL;

#endif
