/*
 * Previews between nginx and the programs in sandboxes: connects to the address that nginx names in
 * the request's head, passes the request on, looks at the beginning of the answer, and then copies
 * bytes both ways, whatever they are. nginx alone would pass on an answer of any status, or of
 * none.
 *
 * A side that does not take bytes is waited for, and the other side is not read from then. An idle
 * connection holds no buffer. Times are nginx's: it closes what is silent for too long.
 *
 * Ownership: the relay owns its connections until they end.
 */
#ifndef DEFT_GATEWAY_PREVIEW_RELAY_H
#define DEFT_GATEWAY_PREVIEW_RELAY_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct preview_link;

struct preview_relay {
    int listen_fd;
    int epoll_fd; /* of listen_fd and both sides of each connection; -1: no previews */
    struct preview_link *first; /* in use */
    struct preview_link *ended; /* in this turn */
    size_t n_links;
    char *chunk; /* for what is read and written in one turn */
};

#define PREVIEW_RELAY_INIT {.listen_fd = -1, .epoll_fd = -1}

/* Listens on the Unix socket; an old socket file is replaced. An empty path: no previews. */
int preview_relay_open(struct preview_relay *relay, const char *socket_path,
                       struct error *err) NONNULL MUST_CHECK;
void preview_relay_close(struct preview_relay *relay) NONNULL;
/* Does what is due, and never waits: when relay->epoll_fd is readable. */
void preview_relay_pump(struct preview_relay *relay) NONNULL;

#endif
