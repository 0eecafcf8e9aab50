/*
 * What a subscriber has on /sockets/bash-events: its place among the bash events of a sandbox.
 *
 * It takes the next event from what the feed keeps or, when it is far behind, from a page that is
 * read for it alone. Nothing is queued for it.
 * Ownership: a subscriber owns its bash_socket.
 */
#ifndef DEFT_GATEWAY_BASH_SOCKET_H
#define DEFT_GATEWAY_BASH_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "gateway/bash_window.h"
#include "gateway/errand.h"

struct bash_feed;
struct frame;
struct subscriber;

struct bash_socket {
    struct bash_socket *next; /* of its feed */
    struct bash_socket *previous;
    struct bash_feed *feed;
    struct subscriber *subscriber;
    int64_t at_us; /* time of the last event sent or skipped; -1: the newest, when that is known */
    struct errand read;
    struct bash_window page; /* older events than the feed keeps */
};

/* Gives an authenticated subscriber its place at the feed of its sandbox, or closes it. */
void bash_socket_join(struct subscriber *subscriber) NONNULL;
/* Leaves the feed and releases the socket; NULL is fine. */
void bash_socket_leave(struct bash_socket *socket);
/* A client's {"command", "cwd", "timeout"}; a bad one is answered. */
void bash_socket_take_command(struct subscriber *subscriber, const json_t *frame) NONNULL;
/* As subscriber_next_frame() and subscriber_has_more(). */
struct frame *bash_socket_next_frame(struct bash_socket *socket) NONNULL MUST_CHECK;
bool bash_socket_has_more(const struct bash_socket *socket) NONNULL MUST_CHECK;

#endif
