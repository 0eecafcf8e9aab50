/*
 * The listening socket. The request of a pending connection is peeked at, its credential is looked
 * up, and only then is the socket given to libwebsockets, which reads the same bytes and upgrades.
 * So a bad key gets its 403, and look-ups do not block each other.
 *
 * Ownership: the acceptor owns its pending connections until they are handed over or refused.
 * Decision: docs/decisions/0004-gateway-pulls.md
 */
#ifndef DEFT_GATEWAY_DOOR_H
#define DEFT_GATEWAY_DOOR_H

#include <stddef.h>
#include <stdint.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "gateway/subscriber.h"

struct error;
struct gateway;
struct visitor;

struct door {
    int listen_fd;
    int epoll_fd;          /* of listen_fd and the pending connections */
    struct visitor *first; /* oldest */
    struct visitor *last;
    size_t n_visitors;
};

/* Data attached to the socket for libwebsockets (lws_get_opaque_user_data()). */
struct admission {
    struct socket_request request;
    struct principal principal; /* PRINCIPAL_NOBODY: the first frame must authenticate */
    int64_t n_hints;            /* of callers, when the credential was looked up */
    int64_t valid_ms;           /* of its session; 0: it has none */
};

/* Listens on the Unix socket; replaces an old socket file. */
int door_open(struct door *door, const char *socket_path, struct error *err) NONNULL MUST_CHECK;
void door_close(struct door *door) NONNULL;
/* Accepts new connections and reads from pending ones; call when door->epoll_fd is readable. */
void door_pump(struct gateway *gateway) NONNULL;
/* Closes connections that sent no request head in time. */
void door_tick(struct gateway *gateway, int64_t now_ms) NONNULL;

#endif
