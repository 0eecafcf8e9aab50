/*
 * Polls for new events: one query for all streams that may have some, and at most one query at a
 * time. Streams that become due while it runs go into the next one.
 *
 * Ownership: borrows the streams; call event_poller_forget() before freeing one.
 */
#ifndef DEFT_GATEWAY_FEED_EVENT_POLLER_H
#define DEFT_GATEWAY_FEED_EVENT_POLLER_H

#include "base/attr.h"
#include "gateway/feed/stream.h"
#include "store/conversation/async_store.h"

struct db_async;

struct event_poller {
    struct db_async *live;
    struct stream_list queue; /* through poll */
    struct stream **asked;    /* in the query under way; NULL where one was freed */
    struct new_events_query query;
};

/* live: borrowed. */
void event_poller_init(struct event_poller *poller, struct db_async *live) NONNULL;
void event_poller_done(struct event_poller *poller) NONNULL;
/* Schedules reading the stream's events after its last_seq. */
void event_poller_want(struct event_poller *poller, struct stream *stream) NONNULL;
/* As above, for all of that list (linked by all). */
void event_poller_want_all(struct event_poller *poller, const struct stream_list *all) NONNULL;
/* The stream is about to be freed. */
void event_poller_forget(struct event_poller *poller, struct stream *stream) NONNULL;

#endif
