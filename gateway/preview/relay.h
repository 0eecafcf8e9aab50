/*
 * Relays previews between nginx and the programs in sandboxes: connects to the address that nginx
 * names in the request head, forwards the request, checks the beginning of the answer, and then
 * copies bytes both ways unmodified. nginx alone would forward an answer of any status, or of none.
 *
 * While one side does not accept bytes, the other side is not read. An idle connection holds no
 * buffer. nginx enforces timeouts: it closes connections that are silent for too long.
 *
 * Ownership: the relay owns its connections until they end.
 */
#ifndef DEFT_GATEWAY_PREVIEW_RELAY_H
#define DEFT_GATEWAY_PREVIEW_RELAY_H

#include <stddef.h>
#include <sys/queue.h>

#include "base/attr.h"

struct error;
struct preview_link;

LIST_HEAD(preview_links, preview_link);

struct preview_relay {
    int listen_fd;
    int epoll_fd; /* of listen_fd and both sides of each connection; -1: no previews */
    struct preview_links links; /* in use */
    struct preview_links ended; /* in this event loop turn */
    size_t n_links;
    char *chunk; /* buffer for the reads and writes of one turn */
};

#define PREVIEW_RELAY_INIT {.listen_fd = -1, .epoll_fd = -1}

/* Listens on the Unix socket; replaces an old socket file. An empty path: no previews. */
int preview_relay_open(struct preview_relay *relay, const char *socket_path,
                       struct error *err) NONNULL MUST_CHECK;
void preview_relay_close(struct preview_relay *relay) NONNULL;
/* Handles pending events without blocking; call when relay->epoll_fd is readable. */
void preview_relay_pump(struct preview_relay *relay) NONNULL;

#endif
