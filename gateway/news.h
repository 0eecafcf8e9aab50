/*
 * Polls for new events: one query for all streams that may have some, and at most one query at a
 * time. Streams that become due while it runs go into the next one.
 *
 * Ownership: borrows the streams; call news_forget() before freeing one.
 */
#ifndef DEFT_GATEWAY_NEWS_H
#define DEFT_GATEWAY_NEWS_H

#include <stddef.h>

#include "base/attr.h"
#include "store/conversation/live_store.h"

struct gateway;
struct stream;

struct news {
    struct gateway *gateway;
    struct stream *first; /* queued through next_dirty */
    struct stream *last;
    struct stream **asked; /* in the query under way; NULL where one was freed */
    struct news_question question;
};

void news_init(struct news *news, struct gateway *gateway) NONNULL;
void news_done(struct news *news) NONNULL;
/* Schedules reading the stream's events after its last_seq. */
void news_want(struct news *news, struct stream *stream) NONNULL;
/* As above, for all streams. */
void news_want_all(struct news *news) NONNULL;
/* The stream is about to be freed. */
void news_forget(struct news *news, struct stream *stream) NONNULL;

#endif
