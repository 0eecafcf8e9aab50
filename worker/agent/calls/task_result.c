#include "worker/agent/calls/task_result.h"

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/task.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/conversation/task_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/hooks/call_hooks.h"
#include "worker/agent/hooks/hook_run.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/context.h"

#define STATUS_TEXT_COMPLETED "completed"
#define STATUS_TEXT_ERROR "error"
/* Id for a task that was not started. */
#define NO_TASK "unknown"
/* Fits into an event even if every character is escaped in JSON. */
#define WORDS_MAX_CHARS 100000

/* Members of a call's observation. */
struct task_outcome {
    const char *task_id;
    const char *subagent;
    const char *status;
    const char *text;
};

static json_t *result_to_json(const struct task_outcome *result)
{
    json_t *json = observation_from_text("TaskObservation", result->text);

    json_put(json, "is_error", json_boolean(text_equal(result->status, STATUS_TEXT_ERROR)));
    json_put_text(json, "task_id", result->task_id);
    json_put_text(json, "subagent", result->subagent);
    json_put_text(json, "status", result->status);
    return json;
}

static int store(struct agent *agent, size_t action, const struct task_outcome *result,
                 struct event_list *events, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    struct crash_points *crash = &agent->context->crash;
    struct conversation_write change = {.made_progress = true};
    json_auto_t *observation = result_to_json(result);

    if (call_hooks_add_observation(agent, action, observation, events, err) < 0)
        return -1;
    stats_append_text(agent->stats, &stats);
    change.stats = stats.text;
    crash_point(crash, CRASH_OBS_BEFORE_COMMIT);
    if (event_writer_append(agent, events, &change, err) < 0)
        return -1;
    hook_run_acknowledge(agent, events);
    crash_point(crash, CRASH_OBS_COMMITTED);
    return 0;
}

/*
 * The sub-agent's total cost so far. It is set rather than added, so reporting it twice counts
 * once.
 */
static void add_cost(struct agent *agent, const json_t *task, const struct conversation *child,
                     struct event_list *events)
{
    CLEANUP(strbuf_done) struct strbuf usage_id = STRBUF_INIT;
    json_auto_t *snapshot = NULL;

    strbuf_appendf(&usage_id, "task:%s", task_id(task));
    stats_set_sum(agent->stats, usage_id.text, child->stats);
    snapshot = stats_snapshot(agent->stats);
    event_add_state(events, "stats", snapshot);
}

/* Appends the text of a message or of a finish. */
static void append_words(const struct strbuf *event_text, struct strbuf *out)
{
    json_auto_t *event = NULL;
    struct error ignored = ERROR_INIT;
    const json_t *part = NULL;
    size_t i = 0;

    if (event_text->len == 0 ||
        json_parse_own(event_text->text, event_text->len, &event, &ignored) < 0)
        return;
    strbuf_append(out, json_text_or(json_object_get(event, "action"), "message", ""));
    json_array_foreach (json_object_get(json_object_get(event, "llm_message"), "content"), i, part)
        strbuf_append(out, json_text_or(part, "text", ""));
    strbuf_truncate(out, utf8_offset(out->text, out->len, WORDS_MAX_CHARS));
}

static void append_failure(const struct strbuf *event_text, struct strbuf *out)
{
    json_auto_t *event = NULL;
    struct error ignored = ERROR_INIT;

    strbuf_append(out, "The sub-agent's run ended with an error");
    if (event_text->len > 0 &&
        json_parse_own(event_text->text, event_text->len, &event, &ignored) == 0)
        strbuf_appendf(out, ": %s", json_text_or(event, "detail", ""));
    else
        strbuf_append_char(out, '.');
}

/* Appends why there is no result. */
static void append_reason(enum execution_status status, const struct strbuf *failure,
                          struct strbuf *out)
{
    switch (status) {
    case STATUS_ERROR:
        append_failure(failure, out);
        return;
    case STATUS_STUCK:
        strbuf_append(out, "The sub-agent repeated itself and was stopped.");
        return;
    case STATUS_WAITING_FOR_CONFIRMATION:
        strbuf_append(out, "The sub-agent waits for a user to confirm an action.");
        return;
    case STATUS_IDLE:
    case STATUS_PAUSED:
        strbuf_append(out, "The sub-agent was stopped before it finished.");
        return;
    case STATUS_RUNNING:
    case STATUS_FINISHED:
    case STATUS_N:
        break;
    }
    strbuf_append(out, "The sub-agent did not finish.");
}

static void append_end(const struct conversation *child, const struct strbuf *words,
                       const struct strbuf *failure, struct strbuf *out)
{
    if (child->status == STATUS_FINISHED) {
        append_words(words, out);
        if (text_is_blank(out->text))
            strbuf_append(out, "The sub-agent finished without a message.");
        return;
    }
    if (words->len > 0) {
        append_words(words, out);
        strbuf_append(out, "\n\n");
    }
    append_reason(child->status, failure, out);
}

struct end_read {
    const struct conversation *child;
    struct strbuf *text_out;
};

static int try_read_end(struct agent *agent, void *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;
    const struct end_read *read = call;

    if (task_store_read_end(agent->context->db, &read->child->id, &words, &reason, err) < 0)
        return -1;
    append_end(read->child, &words, &reason, read->text_out);
    return 0;
}

static int read_end(struct agent *agent, const struct conversation *child, struct strbuf *text_out,
                    struct error *err)
{
    struct end_read read = {child, text_out};

    return database_retry(agent, try_read_end, &read, err);
}

int task_result_store(struct agent *agent, size_t action, const json_t *task,
                      const struct conversation *child, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct task_outcome result = {
        .task_id = task_id(task),
        .subagent = task_subagent(task),
        .status = child->status == STATUS_FINISHED ? STATUS_TEXT_COMPLETED : STATUS_TEXT_ERROR,
    };

    if (read_end(agent, child, &text, err) < 0)
        return -1;
    result.text = text.text;
    add_cost(agent, task, child, &events);
    return store(agent, action, &result, &events, err);
}

int task_result_deleted(struct agent *agent, size_t action, const json_t *task, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct task_outcome result = {
        .task_id = task_id(task),
        .subagent = task_subagent(task),
        .status = STATUS_TEXT_ERROR,
        .text = "The sub-agent's conversation was deleted before it had a result.",
    };

    return store(agent, action, &result, &events, err);
}

int task_result_refuse(struct agent *agent, size_t action, const char *words, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const json_t *args = json_object_get(agent->history.items[action].json, "action");
    const char *resumed = json_text_or(args, "resume", "");
    const struct task_outcome result = {
        .task_id = text_is_blank(resumed) ? NO_TASK : resumed,
        .subagent = json_text_or(args, "subagent_type", ""),
        .status = STATUS_TEXT_ERROR,
        .text = words,
    };

    return store(agent, action, &result, &events, err);
}
