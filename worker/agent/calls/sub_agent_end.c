#include "worker/agent/calls/sub_agent_end.h"

#include <stddef.h>

#include <jansson.h>

#include "base/crash.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/conversation/task_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/hooks/call_hooks.h"
#include "worker/agent/hooks/hook_run.h"
#include "worker/context.h"

/* Appends the text of a message or of a finish. */
static void append_words(const struct strbuf *event_text, size_t max_chars, struct strbuf *out)
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
    strbuf_truncate(out, utf8_offset(out->text, out->len, max_chars));
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

struct end_read {
    const struct conversation *child;
    size_t max_chars;
    struct strbuf *text_out;
};

static void append_end(const struct end_read *read, const struct strbuf *words,
                       const struct strbuf *failure, struct strbuf *out)
{
    if (read->child->status == STATUS_FINISHED) {
        append_words(words, read->max_chars, out);
        if (text_is_blank(out->text))
            strbuf_append(out, "The sub-agent finished without a message.");
        return;
    }
    if (words->len > 0) {
        append_words(words, read->max_chars, out);
        strbuf_append(out, "\n\n");
    }
    append_reason(read->child->status, failure, out);
}

static int try_read_end(struct agent *agent, void *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf reason = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct end_read *read = call;

    if (task_store_read_end(agent->context->db, &read->child->id, &words, &reason, err) < 0)
        return -1;
    append_end(read, &words, &reason, &text);
    strbuf_append(read->text_out, text.text);
    return 0;
}

int sub_agent_end_append(struct agent *agent, const struct conversation *child, size_t max_chars,
                         struct strbuf *out, struct error *err)
{
    struct end_read read = {child, max_chars, out};

    if (child != NULL)
        return database_retry(agent, try_read_end, &read, err);
    strbuf_append(out, "The sub-agent's conversation was deleted before it had a result.");
    return 0;
}

void sub_agent_end_set_cost(struct agent *agent, const char *usage_id,
                            const struct conversation *child)
{
    stats_set_sum(agent->stats, usage_id, child->stats);
}

int sub_agent_end_store(struct agent *agent, size_t action, const struct sub_agent_result *result,
                        struct event_list *events, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    struct crash_points *crash = &agent->context->crash;
    struct conversation_write change = {.made_progress = true,
                                        .agent_state = result->state,
                                        .ended_waits = result->ended,
                                        .n_ended_waits = result->n_ended};

    if (call_hooks_add_observation(agent, action, result->observation, events, err) < 0)
        return -1;
    stats_append_text(agent->stats, &stats);
    change.stats = stats.text;
    crash_point(crash, CRASH_OBS_BEFORE_COMMIT);
    if (event_writer_append(agent, events, &change, err) < 0)
        return -1;
    hook_run_acknowledge(agent, events);
    crash_point(crash, CRASH_OBS_COMMITTED);
    if (result->state != NULL) {
        json_decref(agent->conversation.agent_state);
        agent->conversation.agent_state = json_incref(result->state);
    }
    return 0;
}
