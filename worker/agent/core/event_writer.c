#include "worker/agent/core/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/db/hints.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/control.h"
#include "worker/agent/core/conversation_row.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/transcript.h"
#include "worker/agent/core/view.h"
#include "worker/context.h"

#define RETRY_MOST_MS 1000

int record_wait(struct agent *agent, int64_t *wait_ms, const struct error *cause, struct error *err)
{
    struct error seen = *cause;

    log_warning("database.waited_for", LOG_ERROR(&seen));
    if (control_sleep(agent->control, *wait_ms, err) < 0)
        return -1;
    *wait_ms = 2 * *wait_ms < RETRY_MOST_MS ? 2 * *wait_ms : RETRY_MOST_MS;
    return 0;
}

/* Temporary failures; all others are returned to the caller. */
static bool is_worth_waiting(const struct error *err)
{
    return error_is_transient(err);
}

/* True for state that describes a run rather than the conversation. */
static bool is_of_run(const char *key)
{
    static const char *const keys[] = {"execution_status", "last_user_message_id", "stats", "goal",
                                       "tags"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (text_equal(keys[i], key))
            return true;
    }
    return false;
}

/* Other writers announce changes of the row by an event, except a job that only adds its cost. */
static void note_changes(struct agent *agent, size_t first)
{
    for (size_t i = first; i < agent->history.n; i++) {
        const struct stored_event *event = &agent->history.items[i];
        const char *key = json_text_or(event->json, "key", "");

        if (!stored_event_is(event, "ConversationStateUpdateEvent"))
            continue;
        agent->has_foreign_stats = agent->has_foreign_stats || text_equal(key, "stats");
        agent->is_row_stale = agent->is_row_stale || !is_of_run(key);
    }
}

/* Removes events that a step back abandoned, and open calls of the source of a fork. */
static int tidy_beginning(struct agent *agent, struct error *err)
{
    if (agent->is_tidy)
        return 0;
    if (agent->conversation.is_branched &&
        branch_store_prune(agent->context->db, &agent->lease.conversation_id, &agent->history,
                           err) < 0)
        return -1;
    history_drop_open_calls(&agent->history, conversation_n_copied(&agent->conversation));
    agent->is_tidy = true;
    return 0;
}

int record_load(struct agent *agent, struct error *err)
{
    int64_t wait_ms = RECORD_WAIT_FIRST_MS;
    size_t n_before = agent->history.n;
    bool is_first = !agent->is_tidy;

    for (;;) {
        struct error failure = ERROR_INIT;

        if (event_store_load_after(agent->context->db, &agent->lease.conversation_id,
                                   &agent->history, &failure) == 0 &&
            tidy_beginning(agent, &failure) == 0)
            break;
        if (!is_worth_waiting(&failure)) {
            *err = failure;
            return -1;
        }
        if (record_wait(agent, &wait_ms, &failure, err) < 0)
            return -1;
    }
    if (!is_first)
        note_changes(agent, n_before);
    history_thin(&agent->history, n_before);
    if (view_apply(&agent->history, n_before))
        transcript_restart(&agent->transcript);
    agent->conversation.last_seq = agent->history.last_seq;
    if (agent->history.last_timestamp_us > agent->conversation.last_timestamp_us)
        agent->conversation.last_timestamp_us = agent->history.last_timestamp_us;
    return 0;
}

int record_refresh(struct agent *agent, struct error *err)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    int64_t wait_ms = RECORD_WAIT_FIRST_MS;

    if (!agent->is_row_stale && !agent->has_foreign_stats)
        return 0;
    for (;;) {
        struct error failure = ERROR_INIT;

        if (conversation_store_load_any(agent->context->db, &agent->lease.conversation_id, &now,
                                        &failure) == 0)
            break;
        if (!is_worth_waiting(&failure)) {
            *err = failure;
            if (err->code == ERROR_NOT_FOUND)
                err->code = ERROR_STALE;
            return -1;
        }
        if (record_wait(agent, &wait_ms, &failure, err) < 0)
            return -1;
    }
    agent_take_row(agent, &now);
    return 0;
}

static int write_once(struct agent *agent, struct event_list *events,
                      const struct conversation_write *change, struct error *err)
{
    struct conversation_write write = {.guard = GUARD_LEASE};

    if (change == NULL)
        return conversation_store_append(agent->context->db, &agent->lease, &agent->conversation,
                                         events, err);
    write = *change;
    write.guard = GUARD_LEASE;
    write.lease = &agent->lease;
    if (write.end_run)
        write.job.kind = goal_job(&agent->conversation);
    return conversation_store_write(agent->context->db, &agent->conversation, events, &write, err);
}

/*
 * A lease that expired while the database was unavailable is still ours if no other worker took it,
 * which a renewal finds out. Sets *is_held_out on success only.
 */
static int renew_own_lease(struct agent *agent, bool *is_held_out, struct error *err)
{
    struct held_lease held = {.conversation_id = agent->lease.conversation_id,
                              .fence = agent->lease.fence};
    int64_t asked_ms = clock_monotonic_ms();

    if (conversation_store_renew(agent->context->db, &agent->lease.owner, &held, 1, err) < 0)
        return -1;
    *is_held_out = held.is_held;
    if (held.is_held)
        control_renew(agent->control, asked_ms + LEASE_MS);
    return 0;
}

int record_check_lease(struct agent *agent, struct error *err)
{
    int64_t wait_ms = RECORD_WAIT_FIRST_MS;
    bool is_held = false;

    for (;;) {
        struct error failure = ERROR_INIT;

        if (renew_own_lease(agent, &is_held, &failure) == 0)
            break;
        if (record_wait(agent, &wait_ms, &failure, err) < 0)
            return -1;
    }
    if (is_held)
        return 0;
    control_request(agent->control, STOP_LOST);
    return error_set(err, ERROR_STALE, "the lease is lost");
}

static void after_write(struct agent *agent, const struct event_list *events)
{
    size_t n_before = agent->history.n;

    history_add_written(&agent->history, events,
                        agent->conversation.last_seq - (int64_t)events->n + 1);
    history_thin(&agent->history, n_before);
    if (view_apply(&agent->history, n_before))
        transcript_restart(&agent->transcript);
    hints_send(agent->context->hints, HINT_EVENTS, agent->lease.conversation_id.text);
}

/*
 * Our sequence number is taken, perhaps by an earlier attempt of ours whose reply was lost: then
 * returns 0; else -1 with ERROR_CONFLICT.
 */
static int look_who_wrote(struct agent *agent, const struct event_list *events, struct error *err)
{
    if (record_load(agent, err) < 0)
        return -1;
    if (events->n > 0 && history_has_event(&agent->history, &events->items[0].id)) {
        hints_send(agent->context->hints, HINT_EVENTS, agent->lease.conversation_id.text);
        return 0;
    }
    return error_set(err, ERROR_CONFLICT, "somebody else wrote meanwhile");
}

int record_once(struct agent *agent, struct event_list *events,
                const struct conversation_write *change, struct error *err)
{
    int64_t wait_ms = RECORD_WAIT_FIRST_MS;

    mask_events(&agent->secrets, events);
    for (;;) {
        struct error failure = ERROR_INIT;

        if (write_once(agent, events, change, &failure) == 0)
            break;
        if (failure.code == ERROR_CONFLICT)
            return look_who_wrote(agent, events, err);
        if (failure.code == ERROR_STALE) {
            if (record_check_lease(agent, err) < 0)
                return -1;
            if (change == NULL || change->stats == NULL)
                continue;
            /* The cost of a side question comes without an event. */
            agent->has_foreign_stats = true;
            return error_set(err, ERROR_CONFLICT, "the stats have changed meanwhile");
        }
        if (!is_worth_waiting(&failure)) {
            *err = failure;
            return -1;
        }
        if (record_wait(agent, &wait_ms, &failure, err) < 0)
            return -1;
    }
    after_write(agent, events);
    return 0;
}

/* True if a call that these events complete has another result by now. */
static bool is_overtaken(const struct agent *agent, const struct event_list *events)
{
    for (size_t i = 0; i < events->n; i++) {
        const struct uuid *action = &events->items[i].result_of;

        if (uuid_is_set(action) && history_has_result_of(&agent->history, action))
            return true;
    }
    return false;
}

/* True for an answer that was planned on an outdated row. */
static bool is_outdated(const struct agent *agent, const struct conversation_write *change)
{
    return change != NULL && change->stats != NULL &&
           (agent->is_row_stale || agent->has_foreign_stats);
}

/* Events of others that invalidate these events, besides a result of the same call. */
enum concern { CONCERN_NOTHING, CONCERN_USER };

static int record_unless(struct agent *agent, struct event_list *events,
                         const struct conversation_write *change, enum concern concern,
                         struct error *err)
{
    for (;;) {
        if (record_once(agent, events, change, err) == 0)
            return 0;
        if (err->code != ERROR_CONFLICT || is_overtaken(agent, events) ||
            is_outdated(agent, change) ||
            (concern == CONCERN_USER &&
             history_has_user_message_after(&agent->history, agent->asked_seq)))
            return -1;
    }
}

int record_behind(struct agent *agent, struct event_list *events,
                  const struct conversation_write *change, struct error *err)
{
    return record_unless(agent, events, change, CONCERN_NOTHING, err);
}

int record_unless_spoken(struct agent *agent, struct event_list *events,
                         const struct conversation_write *change, struct error *err)
{
    return record_unless(agent, events, change, CONCERN_USER, err);
}
