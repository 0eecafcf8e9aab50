/*
 * Cache of a stream's newest events, as frames that its subscribers share.
 */
#ifndef DEFT_GATEWAY_FEED_EVENT_CACHE_H
#define DEFT_GATEWAY_FEED_EVENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct frame;
struct event_cache;

/* Format of an event: bare on the events socket, in an envelope on the session socket. */
enum frame_form { FORM_EVENT, FORM_SESSION, N_FORMS };

/* Keeps at most 64 events and 2 MiB, but always the newest. */
struct event_cache *event_cache_new(void) MUST_CHECK;
void event_cache_free(struct event_cache *cache);
/* Adds the event with the next seq; after a gap, drops the older ones. */
void event_cache_add(struct event_cache *cache, int64_t seq, const struct uuid *id,
                     const char *body, size_t body_len) NONNULL;
/* Returns a reference owned by the caller, or NULL when the event is not kept. */
struct frame *event_cache_frame(struct event_cache *cache, int64_t seq,
                                enum frame_form form) NONNULL MUST_CHECK;
/* Whether an event of that id is kept. */
bool event_cache_has(const struct event_cache *cache, const struct uuid *id) NONNULL MUST_CHECK;

#endif
