/*
 * Previews: web pages that programs in a sandbox serve, each port on its own origin,
 * <port>-<sandbox>.sandbox.<host of the page>. Defines named ports and which ports are allowed.
 */
#ifndef DEFT_MODEL_CONVERSATION_PREVIEW_H
#define DEFT_MODEL_CONVERSATION_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct strbuf;

enum { PREVIEW_ACTION_PORT = 8000, PREVIEW_EDITOR_PORT = 60001, PREVIEW_N_NAMED = 3 };
enum { PREVIEW_EDITOR_TOKEN_BYTES = 33 };

/* Folder that the editor opens by default: the working directory of sandbox specs. */
#define PREVIEW_EDITOR_FOLDER "/workspace/project"

/*
 * 127.0.0.2, in host order: a sandbox whose server is reached at the host's 127.0.0.1 has its
 * preview listener there, on the same port. Each connection names the port that it is for.
 */
#define PREVIEW_LOOPBACK 0x7f000002U

/* A port passed to programs in an environment variable, and to clients by name. */
struct preview_port {
    const char *name;  /* in exposed_urls, and of the variable in the sandbox */
    const char *label; /* in host names, as an alternative to the number */
    int port;
};

extern const struct preview_port preview_ports[PREVIEW_N_NAMED];

/* Returns the port of a host's first label, "8080" or "work-1"; 0 if it is none. */
int preview_port_of_label(const char *label) NONNULL MUST_CHECK;
/* False for the port of deft-action, which has its own key. */
bool preview_port_is_allowed(int port) MUST_CHECK;
/* Appends the origin of a sandbox's port. app_url: of the page, "http://localhost:3000". */
void preview_append_url(struct strbuf *out, const char *app_url, const char *runtime_id,
                        int port) NONNULL;

/* Gives the token of a sandbox's editor: a hash of the sandbox's key, so that it is stable for the
 * sandbox's lifetime. */
void preview_editor_token(const char *session_key,
                          char token_out[PREVIEW_EDITOR_TOKEN_BYTES]) NONNULL;

#endif
