/*
 * The listening socket. A visitor's request is looked at without being taken from its socket, its
 * credential is looked up, and only then is the socket given to libwebsockets, which reads the same
 * bytes and upgrades. So a bad key gets its 403, and nobody waits for anybody's look-up.
 *
 * Ownership: the door owns its visitors until they are handed over or refused.
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
    int epoll_fd;          /* of listen_fd and the visitors' sockets */
    struct visitor *first; /* the one that came first */
    struct visitor *last;
    size_t n_visitors;
};

/* What libwebsockets' side finds with the socket (lws_get_opaque_user_data()). */
struct admission {
    struct socket_request request;
    struct principal principal; /* PRINCIPAL_NOBODY: the first frame must say */
    int64_t n_hints;            /* of callers, when it was looked up */
    int64_t valid_ms;           /* of its session; 0: it has none */
};

/* Listens on the Unix socket; an old socket file is replaced. */
int door_open(struct door *door, const char *socket_path, struct error *err) NONNULL MUST_CHECK;
void door_close(struct door *door) NONNULL;
/* Lets in who came, and looks at who said something: when door->epoll_fd is readable. */
void door_pump(struct gateway *gateway) NONNULL;
/* Turns away who has not said anything for too long. */
void door_tick(struct gateway *gateway, int64_t now_ms) NONNULL;

#endif
