/*
 * Previews: what programs in a sandbox serve, each port on a web origin of its own,
 * <port>-<sandbox>.sandbox.<host of the page>. Which ports have a name, and what may be shown.
 */
#ifndef DEFT_MODEL_CONVERSATION_PREVIEW_H
#define DEFT_MODEL_CONVERSATION_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct strbuf;

enum { PREVIEW_ACTION_PORT = 8000, PREVIEW_EDITOR_PORT = 60001, PREVIEW_N_NAMED = 3 };
enum { PREVIEW_EDITOR_TOKEN_BYTES = 33 };

/* What an editor opens when nothing else is said: the working directory of sandbox specs. */
#define PREVIEW_EDITOR_FOLDER "/workspace/project"

/*
 * 127.0.0.2, in host order: a sandbox whose server is reached at the host's 127.0.0.1 has a door
 * for previews there, at the same port. What comes in says which port it is for.
 */
#define PREVIEW_LOOPBACK 0x7f000002U

/* A port that programs are told of by a variable, and clients by a name. */
struct preview_port {
    const char *name;  /* in exposed_urls, and of the variable in the sandbox */
    const char *label; /* of the host, beside the number */
    int port;
};

extern const struct preview_port preview_ports[PREVIEW_N_NAMED];

/* The port that a host's first part means, "8080" or "work-1"; 0 for none. */
int preview_port_of_label(const char *label) NONNULL MUST_CHECK;
/* False for the port of deft's own server, which has a key of its own. */
bool preview_port_is_allowed(int port) MUST_CHECK;
/* app_url: of the page, "http://localhost:3000". Appends the origin of that port of a sandbox. */
void preview_append_url(struct strbuf *out, const char *app_url, const char *runtime_id,
                        int port) NONNULL;

/* The token of a sandbox's editor: made of the sandbox's key, which it does not tell, so that it is
 * the same as long as the sandbox is. */
void preview_editor_token(const char *session_key,
                          char token_out[PREVIEW_EDITOR_TOKEN_BYTES]) NONNULL;

#endif
