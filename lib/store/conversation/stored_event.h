/*
 * A stored event as a worker keeps it. The body of one that is rarely read is kept as text, which
 * takes a seventh of its JSON tree.
 *
 * Ownership: whoever has the event calls stored_event_drop().
 * Threading: an event belongs to one thread, since reading its body may unpack it.
 * Decision: docs/decisions/0108-settled-events-as-text.md
 */
#ifndef DEFT_STORE_CONVERSATION_STORED_EVENT_H
#define DEFT_STORE_CONVERSATION_STORED_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct stored_event {
    int64_t seq;
    struct uuid id;
    char kind[40];
    struct uuid result_of;
    json_t *body;            /* for stored_event.c; NULL: in `packed` only */
    char *packed;            /* the body's text, then call_id and response_id; NULL: not yet */
    size_t packed_len;       /* of the body's text */
    const char *call_id;     /* an action's tool_call_id, in body or packed; else NULL */
    const char *response_id; /* llm_response_id, as above; NULL where no model spoke */
    const char *state_key;   /* a ConversationStateUpdateEvent's key, in body; else NULL */
    bool is_of_run;          /* written under a lease */
    bool is_forgotten;       /* a Condensation removed it from the model's view */
    const json_t *summary;   /* a Condensation's, to insert before this event; or NULL */
};

/* Sets an event's kind and body; takes over the reference to the body. */
void stored_event_set_body(struct stored_event *event, const char *kind, json_t *json) NONNULL;
/*
 * Gives an event whose body is set its text, by which it is packed. Takes the text over
 * (mem_free()), of text_len bytes and a NUL.
 */
void stored_event_take_text(struct stored_event *event, char *text, size_t text_len) NONNULL;
/*
 * The whole body, unpacked if need be; valid until the event is packed or dropped. Only its owner
 * may change it, and only before the event was packed.
 */
json_t *stored_event_json(const struct stored_event *event) NONNULL MUST_CHECK;
/*
 * Frees the JSON tree of a call or of a call's result; the body is read from its text when it is
 * asked for again. What stored_event_json() returned, and pointers into it, end; so do pointers
 * that were copied from call_id and response_id. Other kinds stay as they are: a Condensation's
 * summary is known by its address.
 */
void stored_event_pack(struct stored_event *event) NONNULL;
/* Its response_id, or "". */
const char *stored_event_response(const struct stored_event *event) NONNULL MUST_CHECK;
/*
 * A copy for another history, such as a part of this one; without the summary, whose place is in
 * this one. Neither packs or unpacks the other. The caller drops it, and before the event: it
 * borrows call_id and response_id.
 */
struct stored_event stored_event_copy(const struct stored_event *event) NONNULL MUST_CHECK;
void stored_event_drop(struct stored_event *event) NONNULL;

#endif
