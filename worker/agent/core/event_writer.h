/*
 * Durable writes of a run: waits while the database is unavailable, retries an append of unknown
 * outcome under the same ids, and reports a sequence number taken by another writer so that its
 * events are read first.
 *
 * Errors of all: ERROR_STALE if the lease is lost (write nothing more), ERROR_TOO_LARGE for an
 * event above EVENT_MAX_BYTES. All other database failures are retried.
 */
#ifndef DEFT_WORKER_AGENT_CORE_EVENT_WRITER_H
#define DEFT_WORKER_AGENT_CORE_EVENT_WRITER_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct conversation_write;
struct error;
struct event_list;

/* Loads new events into agent->history. */
int event_writer_load(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* True if a client or a job changed the row: event_writer_refresh_row() will reload it. */
bool event_writer_is_row_due(const struct agent *agent) NONNULL MUST_CHECK;
/* Reloads the row if events reported changes by clients or jobs; else does nothing. */
int event_writer_refresh_row(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* 0 if the lease is still ours, even after its expiry; ERROR_STALE if another worker has it. */
int event_writer_check_lease(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/*
 * Appends events under the lease, with secrets masked in their free text. change: update of the row
 * in the same transaction (guard and lease are filled in here); NULL for none. ERROR_CONFLICT if
 * another writer was first: nothing was stored, and the history now includes its events.
 */
int event_writer_append_once(struct agent *agent, struct event_list *events,
                             const struct conversation_write *change, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
/*
 * As event_writer_append_once(), after any events of other writers. ERROR_CONFLICT only if one of
 * the events is a result of a call that now has another one, or if it is a model answer
 * (change->stats) and event_writer_refresh_row() is due.
 */
int event_writer_append(struct agent *agent, struct event_list *events,
                        const struct conversation_write *change, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
/*
 * As event_writer_append(), but also ERROR_CONFLICT if the user sent a message since the model was
 * asked.
 */
int event_writer_append_unless_spoken(struct agent *agent, struct event_list *events,
                                      const struct conversation_write *change, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif
