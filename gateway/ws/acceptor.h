/*
 * The listening socket: hands each connection over to libwebsockets, watched for unmasked frames.
 *
 * Ownership: borrows libwebsockets' context, which owns the connections.
 */
#ifndef DEFT_GATEWAY_WS_ACCEPTOR_H
#define DEFT_GATEWAY_WS_ACCEPTOR_H

#include "base/attr.h"

struct error;
struct lws_context;

struct acceptor {
    struct lws_context *lws;
    int listen_fd;
};

/* Listens on the Unix socket; replaces an old socket file. lws: borrowed. */
int acceptor_open(struct acceptor *acceptor, struct lws_context *lws, const char *socket_path,
                  struct error *err) NONNULL MUST_CHECK;
void acceptor_close(struct acceptor *acceptor) NONNULL;
/* Accepts new connections; call when listen_fd is readable. */
void acceptor_pump(const struct acceptor *acceptor) NONNULL;

#endif
