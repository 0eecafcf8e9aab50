/*
 * Events to be written: stamped, checked, and turned into the array parameters of one statement.
 * Only lib/store includes this.
 */
#ifndef DEFT_STORE_CONVERSATION_EVENT_INSERT_H
#define DEFT_STORE_CONVERSATION_EVENT_INSERT_H

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"

struct conversation;
struct error;
struct event;
struct event_list;

/* One array for each column, in the order of the events. */
struct event_insert {
    struct strbuf id;
    struct strbuf kind;
    struct strbuf source;
    struct strbuf timestamp;
    struct strbuf result_of;
    struct strbuf body;
    struct uuid leaf; /* the newest event that is not a state update; unset when all are */
};

/* clang-format off */
#define EVENT_INSERT_INIT {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, UUID_INIT}
/* clang-format on */

void event_insert_done(struct event_insert *arrays);
/*
 * Stamps the events as event_list_stamp() and fills the arrays with them, so that no writer can do
 * one without the other. ERROR_TOO_LARGE when an event is above EVENT_MAX_BYTES.
 */
int event_insert_fill(struct event_insert *arrays, const struct conversation *conversation,
                      struct event_list *events, struct error *err) NONNULL MUST_CHECK;

/*
 * Sets missing ids, and times: now, but each at least a microsecond after the previous event's,
 * including the conversation's last event, whatever the clock says. Only a writer that has read
 * that last event can write the next number, so times grow strictly with seq. Clients page by time
 * and would lose one of two equal ones.
 */
void event_list_stamp(struct event_list *events, const struct conversation *conversation) NONNULL;
/* The newest event that is not a state update; NULL when all are. */
const struct uuid *event_list_leaf(const struct event_list *events) NONNULL MUST_CHECK;
/* As event_write_text(). ERROR_TOO_LARGE when the text is above EVENT_MAX_BYTES. */
int event_write_checked(struct event *event, struct error *err) NONNULL MUST_CHECK;
/* Applies appended events to the caller's copy of the conversation. */
void conversation_move_log_end(struct conversation *conversation,
                               const struct event_list *events) NONNULL;

#endif
