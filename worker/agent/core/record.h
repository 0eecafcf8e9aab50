/*
 * Storing what happened, come what may: a database that is away is waited for, an append whose fate
 * is unknown is tried again under the same ids, and a number that somebody else took means that
 * there is news to read first.
 *
 * Errors of all: ERROR_STALE when the lease is lost (touch nothing any more), ERROR_TOO_LARGE for
 * an event above EVENT_MAX_BYTES. All other failures of the database are waited out.
 */
#ifndef DEFT_WORKER_AGENT_CORE_RECORD_H
#define DEFT_WORKER_AGENT_CORE_RECORD_H

#include <stdint.h>

#include "base/attr.h"

struct agent;
struct conversation_write;
struct error;
struct event_list;

/* The first wait of record_wait(). */
#define RECORD_WAIT_FIRST_MS 50

/*
 * The wait before a database that is away is asked again; each is twice as long as the one before,
 * up to a second. ERROR_STALE when the lease is lost.
 */
int record_wait(struct agent *agent, int64_t *wait_ms, const struct error *cause,
                struct error *err) NONNULL MUST_CHECK;
/* Brings agent->history up to the end of the log. */
int record_load(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* Reads the row again when clients or jobs have changed it, as events said; else nothing. */
int record_refresh(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* 0 when the lease is still ours, however late; ERROR_STALE when it is another's. */
int record_check_lease(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/*
 * Appends events under the lease, secrets hidden in their free text; `change` is what becomes of
 * the row with them (guard and lease are filled in here), NULL for nothing. ERROR_CONFLICT when
 * somebody else wrote meanwhile: nothing was stored, and the history now holds what they wrote.
 */
int record_once(struct agent *agent, struct event_list *events,
                const struct conversation_write *change, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
/*
 * As record_once(), behind whatever others wrote. ERROR_CONFLICT only when one of the events is a
 * result of a call that has got another one meanwhile, or when it is an answer (change->stats) and
 * record_refresh() is due.
 */
int record_behind(struct agent *agent, struct event_list *events,
                  const struct conversation_write *change, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
/* As record_behind(), but ERROR_CONFLICT, too, when the user has spoken since the model was asked.
 */
int record_unless_spoken(struct agent *agent, struct event_list *events,
                         const struct conversation_write *change, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif
