/*
 * A subscriber's state on /sockets/bash-events: its position among the bash events of a sandbox.
 *
 * It takes the next event from those that the feed keeps or, when it is far behind, from a page
 * that is read for it alone. Nothing is queued for it.
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
    struct bash_socket *next; /* in its feed's list */
    struct bash_socket *previous;
    struct bash_feed *feed;
    struct subscriber *subscriber;
    int64_t at_us; /* time of the last event sent or skipped; -1: the newest, once known */
    struct errand read;
    struct bash_window page; /* events older than the feed keeps */
};

/* Attaches an authenticated subscriber to the feed of its sandbox, or closes it. */
void bash_socket_join(struct subscriber *subscriber) NONNULL;
/* Leaves the feed and releases the socket; accepts NULL. */
void bash_socket_leave(struct bash_socket *socket);
/* Handles a client's {"command", "cwd", "timeout"}; a bad one gets an error reply. */
void bash_socket_take_command(struct subscriber *subscriber, const json_t *frame) NONNULL;
/* As subscriber_next_frame() and subscriber_has_more(). */
struct frame *bash_socket_next_frame(struct bash_socket *socket) NONNULL MUST_CHECK;
bool bash_socket_has_more(const struct bash_socket *socket) NONNULL MUST_CHECK;

#endif
