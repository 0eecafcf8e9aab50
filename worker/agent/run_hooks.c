#include "worker/agent/run_hooks.h"

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/hooks/hook_run.h"

/* Of the wire contract. */
#define FEEDBACK_PREFIX "[Stop hook feedback] "

/* Stores hooks' events with what they change. */
static int store(struct agent *agent, struct event_list *events,
                 const struct conversation_write *change, struct error *err)
{
    if (event_writer_append_unless_spoken(agent, events, change, err) < 0)
        return -1;
    hook_run_acknowledge(agent, events);
    return 0;
}

/* As store(), and notes in the worker's own state that they have run. */
static int store_note(struct agent *agent, struct event_list *events,
                      struct conversation_write *change, const char *name, json_t *value,
                      struct error *err)
{
    json_auto_t *state = json_copy(agent->conversation.agent_state);

    json_put(state, name, value);
    change->agent_state = state;
    if (store(agent, events, change, err) < 0)
        return -1;
    json_decref(agent->conversation.agent_state);
    agent->conversation.agent_state = json_incref(state);
    return 0;
}

/* --- the start of the conversation --- */

static bool is_session_due(const struct agent *agent)
{
    return hook_run_has(agent, HOOK_SESSION_START) && !history_has_answer(&agent->history) &&
           json_bool_or(agent->conversation.agent_state, AGENT_STATE_SESSION_HOOKS, 0) == 0;
}

static int begin_session(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(hook_outcome_done) struct hook_outcome outcome = HOOK_OUTCOME_INIT;
    struct conversation_write change = {.agent_state = NULL};
    const struct hook_occasion occasion = {.event = HOOK_SESSION_START,
                                           .subject = agent->lease.conversation_id.text};

    if (hook_run_all(agent, &occasion, &events, &outcome, err) < 0)
        return -1;
    return store_note(agent, &events, &change, AGENT_STATE_SESSION_HOOKS, json_true(), err);
}

/* --- the user's messages --- */

/* The oldest message of the user without its hooks, or NULL. Copied ones had them in their source.
 */
static const struct stored_event *find_new_message(const struct agent *agent)
{
    int64_t seen_seq = json_int_or(agent->conversation.agent_state, AGENT_STATE_PROMPT_HOOKS, 0);
    int64_t n_copied = conversation_n_copied(&agent->conversation);

    if (seen_seq < n_copied)
        seen_seq = n_copied;
    for (size_t i = history_index_after(&agent->history, seen_seq); i < agent->history.n; i++) {
        if (stored_event_is_message(&agent->history.items[i], "user"))
            return &agent->history.items[i];
    }
    return NULL;
}

static void append_words(const json_t *message, struct strbuf *out)
{
    const json_t *content = json_object_get(json_object_get(message, "llm_message"), "content");
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        const char *text = json_text_or(part, "text", "");

        if (text[0] != '\0')
            strbuf_appendf(out, "%s%s", out->len > 0 ? "\n" : "", text);
    }
}

/* A message that is not the newest one can no longer be stopped. */
static bool ends_run(const struct agent *agent, const struct hook_outcome *outcome, int64_t seq)
{
    return outcome->is_blocked && !history_has_user_message_after(&agent->history, seq);
}

static int submit(struct agent *agent, const struct stored_event *message, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(hook_outcome_done) struct hook_outcome outcome = HOOK_OUTCOME_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    struct conversation_write change = {.agent_state = NULL};
    const struct uuid id = message->id;
    int64_t seq = message->seq;
    struct hook_occasion occasion = {
        .event = HOOK_USER_PROMPT_SUBMIT, .subject = id.text, .message_id = id.text};

    append_words(stored_event_json(message), &words);
    occasion.message = words.text;
    agent->asked_seq = seq;
    if (hook_run_all(agent, &occasion, &events, &outcome, err) < 0)
        return -1;
    if (ends_run(agent, &outcome, seq))
        run_end_plan(&events, STATUS_FINISHED, &change);
    if (store_note(agent, &events, &change, AGENT_STATE_PROMPT_HOOKS, json_integer(seq), err) < 0)
        return -1;
    agent->is_over = change.end_run;
    return 0;
}

int run_hooks_begin(struct agent *agent, bool *settled_out, struct error *err)
{
    const struct stored_event *message = NULL;

    *settled_out = is_session_due(agent);
    if (*settled_out)
        return begin_session(agent, err);
    if (!hook_run_has(agent, HOOK_USER_PROMPT_SUBMIT))
        return 0;
    message = find_new_message(agent);
    *settled_out = message != NULL;
    return message != NULL ? submit(agent, message, err) : 0;
}

/* --- the end of the run --- */

static bool is_status(const struct stored_event *event, enum execution_status status)
{
    return text_equal(json_text_or(stored_event_json(event), "value", ""),
                      status_to_string(status));
}

/* Continues the run; the history's last status says whether a client has announced that. */
static int resume(struct agent *agent, struct event_list *events,
                  const struct stored_event *last_status, struct error *err)
{
    struct conversation_write change = {.status = status_to_string(STATUS_RUNNING)};

    if (!is_status(last_status, STATUS_RUNNING))
        event_add_status(events, STATUS_RUNNING);
    return event_writer_append(agent, events, &change, err);
}

/*
 * What the Stop hooks are about: the end, or their last execution for it. A finished conversation
 * may be run again, and asks them again.
 */
static struct uuid subject_of(const struct history *history, const struct stored_event *finish)
{
    for (size_t i = history->n; i > 0 && &history->items[i - 1] != finish; i--) {
        const struct stored_event *event = &history->items[i - 1];

        if (stored_event_is(event, "HookExecutionEvent") &&
            text_equal(json_text_or(stored_event_json(event), "hook_event_type", ""),
                       hook_event_name(HOOK_STOP)))
            return event->id;
    }
    return finish->id;
}

static int settle_stop(struct agent *agent, const struct stored_event *finish, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(hook_outcome_done) struct hook_outcome outcome = HOOK_OUTCOME_INIT;
    CLEANUP(strbuf_done) struct strbuf feedback = STRBUF_INIT;
    struct conversation_write change = {.end_run = true, .bump_snapshot = true};
    const struct uuid id = subject_of(&agent->history, finish);
    const struct hook_occasion occasion = {.event = HOOK_STOP, .subject = id.text};

    agent->asked_seq = finish->seq;
    if (hook_run_all(agent, &occasion, &events, &outcome, err) < 0)
        return -1;
    if (!outcome.is_blocked) {
        if (store(agent, &events, &change, err) < 0)
            return -1;
        agent->is_over = true;
        return 0;
    }
    strbuf_append(&feedback, outcome.reason.text);
    strbuf_appendf(&feedback, "%s%s", feedback.len > 0 && outcome.context.len > 0 ? "\n" : "",
                   outcome.context.text);
    change = (struct conversation_write){.status = status_to_string(STATUS_RUNNING)};
    if (feedback.len > 0) {
        CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

        strbuf_appendf(&words, FEEDBACK_PREFIX "%s", feedback.text);
        (void)event_add_environment_message(&events, words.text);
    }
    event_add_status(&events, STATUS_RUNNING);
    return store(agent, &events, &change, err);
}

int run_hooks_end(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct stored_event *last_status = history_find_status(&agent->history);

    if (last_status != NULL && !is_status(last_status, STATUS_FINISHED))
        return resume(agent, &events, last_status, err);
    if (last_status == NULL || !run_end_asks_hooks(agent))
        return run_end_nothing(agent, err);
    return settle_stop(agent, last_status, err);
}
