/*
 * Asking what is new: one question for all streams that may have something, and never two at a
 * time. What is wanted meanwhile goes into the next one.
 *
 * Ownership: borrows the streams; who frees one says so.
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
    struct stream *first; /* in line, by next_dirty */
    struct stream *last;
    struct stream **asked; /* of the question under way; NULL where one was freed */
    struct news_question question;
};

void news_init(struct news *news, struct gateway *gateway) NONNULL;
void news_done(struct news *news) NONNULL;
/* Reads what the stream's log has behind its last_seq, soon. */
void news_want(struct news *news, struct stream *stream) NONNULL;
/* The same for all streams. */
void news_want_all(struct news *news) NONNULL;
/* The stream is about to be freed. */
void news_forget(struct news *news, struct stream *stream) NONNULL;

#endif
