/*
 * Cache of a stream's newest events, as frames that its subscribers share.
 */
#ifndef DEFT_GATEWAY_RECENT_H
#define DEFT_GATEWAY_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct frame;
struct recent;

/* Format of an event: bare on the events socket, in an envelope on the session socket. */
enum frame_form { FORM_EVENT, FORM_SESSION, N_FORMS };

/* Keeps at most 64 events and 2 MiB, but always the newest. */
struct recent *recent_new(void) MUST_CHECK;
void recent_free(struct recent *recent);
/* Adds the event with the next seq; after a gap, drops the older ones. */
void recent_add(struct recent *recent, int64_t seq, const struct uuid *id, const char *body,
                size_t body_len) NONNULL;
/* Returns a reference owned by the caller, or NULL when the event is not kept. */
struct frame *recent_frame(struct recent *recent, int64_t seq,
                           enum frame_form form) NONNULL MUST_CHECK;
/* Whether an event of that id is kept. */
bool recent_has(const struct recent *recent, const struct uuid *id) NONNULL MUST_CHECK;

#endif
