/*
 * Follows the ends of sandboxes by pidfd, including those started by an earlier process.
 *
 * Threading: box_follow_events() is the body of a thread; the others are for any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_BOX_WATCH_H
#define DEFT_RUNTIME_BWRAP_BOX_WATCH_H

#include "base/attr.h"

struct backend_event_sink;
struct bwrap_host;

/* Watches a box whose guardian is our child; takes ownership of the descriptor. */
void box_watch_child(struct bwrap_host *host, const char *box, int pidfd) NONNULL;
void box_follow_events(struct bwrap_host *host, const struct backend_event_sink *sink) NONNULL;
void box_stop_following(struct bwrap_host *host) NONNULL;

#endif
