#include "worker/agent/core/event_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/prompt/knowledge_request.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/condensed_view_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/transcript.h"
#include "worker/context.h"

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
        const char *key = NULL;

        if (!stored_event_is(event, "ConversationStateUpdateEvent"))
            continue;
        /* An answer on its way stays: the request is for the next call. */
        if (knowledge_request_is_told_by(stored_event_json(event))) {
            agent->has_new_request = true;
            continue;
        }
        key = json_text_or(stored_event_json(event), "key", "");
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

static int load_new_events(struct agent *agent, void *unused, struct error *err)
{
    struct db *db = agent->context->db;
    const struct uuid *id = &agent->lease.conversation_id;

    (void)unused;
    if (agent->history.last_seq == 0 && condensed_view_store_load(db, id, &agent->history, err) < 0)
        return -1;
    if (event_store_load_after(db, id, &agent->history, err) < 0)
        return -1;
    return tidy_beginning(agent, err);
}

/* Applies the Condensations from event `first` on. */
static void apply_condensations(struct agent *agent, size_t first)
{
    if (!model_view_apply(&agent->history, first))
        return;
    agent->is_condensed = true;
    transcript_restart(&agent->transcript);
}

int event_writer_load(struct agent *agent, struct error *err)
{
    size_t n_before = agent->history.n;
    bool is_first = !agent->is_tidy;

    if (database_retry(agent, load_new_events, NULL, err) < 0)
        return -1;
    /* The row was read with the log up to last_seq. */
    note_changes(agent, is_first
                            ? history_index_after(&agent->history, agent->conversation.last_seq)
                            : n_before);
    history_thin(&agent->history, n_before);
    /* A loaded view has its Condensations applied. */
    apply_condensations(
        agent, is_first ? history_index_after(&agent->history, agent->history.gap.seq) : n_before);
    agent->conversation.last_seq = agent->history.last_seq;
    if (agent->history.last_timestamp_us > agent->conversation.last_timestamp_us)
        agent->conversation.last_timestamp_us = agent->history.last_timestamp_us;
    return 0;
}

static int load_row(struct agent *agent, void *conversation_out, struct error *err)
{
    if (conversation_store_load_any(agent->context->db, &agent->lease.conversation_id,
                                    conversation_out, err) == 0)
        return 0;
    if (err->code == ERROR_NOT_FOUND)
        err->code = ERROR_STALE;
    return -1;
}

bool event_writer_is_row_due(const struct agent *agent)
{
    return agent->is_row_stale || agent->has_foreign_stats;
}

int event_writer_refresh_row(struct agent *agent, struct error *err)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;

    if (!event_writer_is_row_due(agent))
        return 0;
    if (database_retry(agent, load_row, &now, err) < 0)
        return -1;
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
 * which a renewal finds out. Sets *is_held_out on success only. Only an answer decides: every
 * failure counts as temporary.
 */
static int renew_own_lease(struct agent *agent, void *is_held_out, struct error *err)
{
    struct held_lease held = {.conversation_id = agent->lease.conversation_id,
                              .fence = agent->lease.fence};
    int64_t asked_ms = clock_monotonic_ms();

    if (conversation_store_renew(agent->context->db, &agent->lease.owner, &held, 1, err) < 0) {
        err->code = ERROR_UNAVAILABLE;
        return -1;
    }
    *(bool *)is_held_out = held.is_held;
    if (held.is_held)
        run_control_renew(agent->control, asked_ms + LEASE_MS);
    return 0;
}

int event_writer_check_lease(struct agent *agent, struct error *err)
{
    bool is_held = false;

    if (database_retry(agent, renew_own_lease, &is_held, err) < 0)
        return -1;
    if (is_held)
        return 0;
    run_control_request(agent->control, STOP_LOST);
    return error_set(err, ERROR_STALE, "the lease is lost");
}

static void after_write(struct agent *agent, struct event_list *events)
{
    size_t n_before = agent->history.n;

    history_add_written(&agent->history, events,
                        agent->conversation.last_seq - (int64_t)events->n + 1);
    history_thin(&agent->history, n_before);
    apply_condensations(agent, n_before);
}

/*
 * Our sequence number is taken, perhaps by an earlier attempt of ours whose reply was lost: then
 * returns 0; else -1 with ERROR_CONFLICT.
 */
static int look_who_wrote(struct agent *agent, const struct event_list *events, struct error *err)
{
    if (event_writer_load(agent, err) < 0)
        return -1;
    if (events->n > 0 && history_has_event(&agent->history, &events->items[0].id))
        return 0;
    return error_set(err, ERROR_CONFLICT, "another writer changed the conversation");
}

/* Events to store, and the change of the row in the same transaction; NULL: none. */
struct event_write {
    struct event_list *events;
    const struct conversation_write *change;
};

/*
 * The guard failed. 0 if the lease is still ours: the write may be repeated, unless it would
 * overwrite stats that a job has changed.
 */
static int check_refusal(struct agent *agent, const struct event_write *write, struct error *err)
{
    if (event_writer_check_lease(agent, err) < 0)
        return -1;
    if (write->change == NULL || write->change->stats == NULL)
        return 0;
    /* The cost of a side question comes without an event. */
    agent->has_foreign_stats = true;
    return error_set(err, ERROR_CONFLICT, "the stats have changed");
}

static int try_write(struct agent *agent, void *call, struct error *err)
{
    const struct event_write *write = call;

    while (write_once(agent, write->events, write->change, err) < 0) {
        if (err->code == ERROR_CONFLICT)
            return look_who_wrote(agent, write->events, err);
        if (err->code != ERROR_STALE || check_refusal(agent, write, err) < 0)
            return -1;
    }
    after_write(agent, write->events);
    return 0;
}

int event_writer_append_once(struct agent *agent, struct event_list *events,
                             const struct conversation_write *change, struct error *err)
{
    struct event_write write = {events, change};

    secret_list_mask_events(&agent->secrets, events);
    return database_retry(agent, try_write, &write, err);
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
    return change != NULL && change->stats != NULL && event_writer_is_row_due(agent);
}

/* Events of others that invalidate these events, besides a result of the same call. */
enum conflict_scope { CONFLICT_CALL, CONFLICT_CALL_OR_USER };

static int append_unless(struct agent *agent, struct event_list *events,
                         const struct conversation_write *change, enum conflict_scope scope,
                         struct error *err)
{
    for (;;) {
        if (event_writer_append_once(agent, events, change, err) == 0)
            return 0;
        if (err->code != ERROR_CONFLICT || is_overtaken(agent, events) ||
            is_outdated(agent, change) ||
            (scope == CONFLICT_CALL_OR_USER &&
             history_has_user_message_after(&agent->history, agent->asked_seq)))
            return -1;
    }
}

int event_writer_append(struct agent *agent, struct event_list *events,
                        const struct conversation_write *change, struct error *err)
{
    return append_unless(agent, events, change, CONFLICT_CALL, err);
}

int event_writer_append_unless_spoken(struct agent *agent, struct event_list *events,
                                      const struct conversation_write *change, struct error *err)
{
    return append_unless(agent, events, change, CONFLICT_CALL_OR_USER, err);
}
