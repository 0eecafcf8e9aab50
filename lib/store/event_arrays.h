/*
 * Events on their way into the database: stamped, checked, and as array parameters of one
 * statement. Only lib/store includes this.
 */
#ifndef DEFT_STORE_EVENT_ARRAYS_H
#define DEFT_STORE_EVENT_ARRAYS_H

#include "base/attr.h"
#include "base/strbuf.h"

struct conversation;
struct error;
struct event;
struct event_list;

/* One array for each column, in the order of the events. */
struct event_arrays {
    struct strbuf id;
    struct strbuf kind;
    struct strbuf source;
    struct strbuf timestamp;
    struct strbuf result_of;
    struct strbuf body;
};

/* clang-format off */
#define EVENT_ARRAYS_INIT {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void event_arrays_done(struct event_arrays *arrays);
/* ERROR_TOO_LARGE when an event is above EVENT_MAX_BYTES. */
int event_arrays_fill(struct event_arrays *arrays, const struct event_list *events,
                      struct error *err) NONNULL MUST_CHECK;

/* Ids where there are none; one time for all, never before the conversation's last event's. */
void event_list_stamp(struct event_list *events, const struct conversation *conversation) NONNULL;
/* Appends one event's wire form. ERROR_TOO_LARGE when it is above EVENT_MAX_BYTES. */
int event_append_checked(const struct event *event, struct strbuf *body,
                         struct error *err) NONNULL MUST_CHECK;
/* What the caller's copy of the conversation must know after its events are in. */
void conversation_move_log_end(struct conversation *conversation,
                               const struct event_list *events) NONNULL;

#endif
