#include "worker/agent/hooks/hook_run.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/agent/hook_verdict.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/prompt/knowledge_request.h"
#include "model/prompt/project_knowledge.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/hooks/hook_model.h"
#include "worker/agent/sandbox/own_action.h"
#include "worker/agent/sandbox/sandbox.h"

enum {
    TIMEOUT_S = 60,
    TIMEOUT_MAX_S = 3600,
    HUNG_MS = 30000, /* this much later than the hook's limit the sandbox counts as hung */
    STREAM_MAX_CHARS = 50000,
    INPUT_MAX_BYTES = 100000, /* of the copy in the event */
    /* Of each text of an event that would be too large: a character has at most 6 bytes in JSON. */
    CUT_MAX_CHARS = 10000,
    FRAME_BYTES = 1000, /* id and time of an event, which come later */
    EXIT_FAILED = -1,
};

#define TYPE_COMMAND "command"
#define TYPE_AGENT "agent"

/* One hook to run. All borrowed. */
struct hook_job {
    const struct hook_occasion *occasion;
    const json_t *hook;
    const json_t *input;
    const char *input_text; /* the same, for standard input */
    const struct uuid *id;
};

/* What came of one hook. */
struct execution {
    const char *command;
    int64_t exit_code;
    struct strbuf out;
    struct strbuf err;
    struct strbuf error;
    struct hook_verdict verdict;
};

/* clang-format off */
#define EXECUTION_INIT                                                                             \
    {NULL, EXIT_FAILED, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, HOOK_VERDICT_INIT}
/* clang-format on */

static void execution_done(struct execution *execution)
{
    strbuf_done(&execution->out);
    strbuf_done(&execution->err);
    strbuf_done(&execution->error);
    hook_verdict_done(&execution->verdict);
}

void hook_outcome_done(struct hook_outcome *outcome)
{
    strbuf_done(&outcome->reason);
    strbuf_done(&outcome->context);
}

static const json_t *config_of(const struct agent *agent)
{
    return json_object_get(agent->conversation.spec, "hook_config");
}

bool hook_run_has(const struct agent *agent, enum hook_event event)
{
    return agent->sandbox != NULL && hooks_has(config_of(agent), event);
}

/* --- what a hook is told --- */

static json_t *own_or_null(const json_t *value)
{
    return value != NULL ? json_deep_copy(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_text_of(text) : json_null();
}

/* Standard input of a hook, as an object. */
static json_t *input_of(const struct agent *agent, const struct hook_occasion *occasion)
{
    json_t *input = json_object();

    json_put_text(input, "event_type", hook_event_name(occasion->event));
    json_put(input, "tool_name", text_or_null(occasion->tool_name));
    json_put(input, "tool_input", own_or_null(occasion->tool_input));
    json_put(input, "tool_response", own_or_null(occasion->tool_response));
    json_put(input, "message", text_or_null(occasion->message));
    json_put_text(input, "session_id", agent->lease.conversation_id.text);
    json_put_text(input, "working_dir", conversation_working_dir(&agent->conversation));
    json_put(input, "metadata", json_object());
    return input;
}

/* A copy of the part that differs between executions, for the event; NULL if it is too large. */
static json_t *shown_input(const json_t *input)
{
    static const char *const shown[] = {"tool_name", "tool_input", "tool_response", "message"};
    json_auto_t *part = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
        json_t *value = json_object_get(input, shown[i]);

        if (!json_is_null(value))
            json_put(part, shown[i], json_incref(value));
    }
    /* Deep: the event's texts are masked in place. */
    return json_dumpb(part, NULL, 0, JSON_COMPACT) <= INPUT_MAX_BYTES ? json_deep_copy(part) : NULL;
}

static json_t *env_of(const struct agent *agent, const struct hook_occasion *occasion)
{
    json_t *env = json_object();

    json_put_text(env, "OPENHANDS_PROJECT_DIR", conversation_working_dir(&agent->conversation));
    json_put_text(env, "OPENHANDS_SESSION_ID", agent->lease.conversation_id.text);
    json_put_text(env, "OPENHANDS_EVENT_TYPE", hook_event_name(occasion->event));
    json_put_text(env, "OPENHANDS_TOOL_NAME", occasion->tool_name);
    return env;
}

/* --- running one --- */

static int64_t timeout_s_of(const json_t *hook)
{
    int64_t timeout_s = json_int_or(hook, "timeout", TIMEOUT_S);

    return timeout_s >= 1 && timeout_s <= TIMEOUT_MAX_S ? timeout_s : TIMEOUT_MAX_S;
}

static json_t *args_of(const struct agent *agent, const struct hook_job *job)
{
    json_t *args = json_object();

    json_put_text(args, "command", json_text_or(job->hook, "command", ""));
    json_put_text(args, "input", job->input_text);
    json_put(args, "env", env_of(agent, job->occasion));
    json_put(args, "timeout", json_integer(timeout_s_of(job->hook)));
    json_put(args, "async", json_boolean(json_bool_or(job->hook, "async", 0)));
    return args;
}

static void append_clipped(struct strbuf *out, const char *text)
{
    strbuf_append_bytes(out, text, utf8_offset(text, strlen(text), STREAM_MAX_CHARS));
}

static void take_observation(const json_t *observation, struct execution *execution)
{
    execution->exit_code = json_int_or(observation, "exit_code", EXIT_FAILED);
    append_clipped(&execution->out, json_text_or(observation, "stdout", ""));
    append_clipped(&execution->err, json_text_or(observation, "stderr", ""));
    append_clipped(&execution->error, json_text_or(observation, "error", ""));
}

static int run_command(struct agent *agent, const struct hook_job *job, struct execution *execution,
                       struct error *err)
{
    json_auto_t *args = args_of(agent, job);
    json_auto_t *observation = NULL;
    struct action_request order = {
        .action_id = *job->id,
        .tool = "hook",
        .observation_kind = "HookObservation",
        .args = args,
        .timeout_ms = timeout_s_of(job->hook) * 1000 + HUNG_MS,
    };

    if (text_is_blank(execution->command)) {
        strbuf_append(&execution->error, "The hook has no command.");
        return 0;
    }
    if (own_action_run(agent, &order, &observation, &execution->error, err) < 0)
        return -1;
    if (observation != NULL)
        take_observation(observation, execution);
    return 0;
}

/* What a model answers is shown as standard output. */
static int ask_model(struct agent *agent, const struct hook_job *job, struct execution *execution,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    const struct model_hook question = {
        .hook = job->hook,
        .is_agent = text_equal(json_text_or(job->hook, "type", ""), TYPE_AGENT),
        .event_name = hook_event_name(job->occasion->event),
        .input_text = job->input_text,
        .id = job->id,
        .timeout_s = timeout_s_of(job->hook)};

    if (hook_model_ask(agent, &question, &answer, &execution->error, err) < 0)
        return -1;
    append_clipped(&execution->out, answer.text);
    if (execution->error.len > 0)
        return 0;
    if (hook_verdict_read_answer(&execution->verdict, answer.text))
        execution->exit_code = 0;
    else
        strbuf_append(&execution->error, "The model's answer is no verdict.");
    return 0;
}

static int execute(struct agent *agent, const struct hook_job *job, struct execution *execution,
                   struct error *err)
{
    const char *type = json_text_or(job->hook, "type", TYPE_COMMAND);

    execution->command = json_text_or(job->hook, "command", "");
    if (!text_equal(type, TYPE_COMMAND)) {
        execution->command = "";
        return ask_model(agent, job, execution, err);
    }
    if (run_command(agent, job, execution, err) < 0)
        return -1;
    if (execution->error.len == 0)
        hook_verdict_read(&execution->verdict, execution->exit_code, execution->out.text,
                          execution->err.text);
    return 0;
}

/* --- its event --- */

static const char *text_or_none(const struct strbuf *text)
{
    return text->len > 0 ? text->text : NULL;
}

/* What an observer of the stream learns to call the hook. */
static const char *name_of(const json_t *hook, const struct execution *execution)
{
    if (!text_is_blank(execution->command))
        return execution->command;
    return json_text_or(hook, "name", json_text_or(hook, "type", TYPE_COMMAND));
}

/* A hook prints what it likes, and must not keep what it is about from being stored. */
static void fit_event(json_t *json)
{
    static const char *const texts[] = {"hook_command", "stdout", "stderr",
                                        "reason",       "error",  "additional_context"};

    if (json_dumpb(json, NULL, 0, JSON_COMPACT) <= EVENT_MAX_BYTES - FRAME_BYTES)
        return;
    (void)json_object_del(json, "hook_input");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const json_t *text = json_object_get(json, texts[i]);
        size_t len = json_string_length(text);

        if (len > CUT_MAX_CHARS)
            json_put(json, texts[i],
                     json_text(json_string_value(text),
                               utf8_offset(json_string_value(text), len, CUT_MAX_CHARS)));
    }
}

static void add_event(const struct hook_job *job, const struct execution *execution,
                      struct event_list *events)
{
    const struct hook_occasion *occasion = job->occasion;
    json_auto_t *shown = shown_input(job->input);

    event_add_hook_execution(events,
                             &(struct hook_parts){
                                 .event_type = hook_event_name(occasion->event),
                                 .command = name_of(job->hook, execution),
                                 .tool_name = occasion->tool_name,
                                 .out = execution->out.text,
                                 .err = execution->err.text,
                                 .reason = text_or_none(&execution->verdict.reason),
                                 .additional_context = text_or_none(&execution->verdict.context),
                                 .error = text_or_none(&execution->error),
                                 .action_id = occasion->action_id,
                                 .message_id = occasion->message_id,
                                 .input = shown,
                                 .exit_code = execution->exit_code,
                                 .is_success = execution->verdict.is_success,
                                 .is_blocked = execution->verdict.is_blocked,
                             });
    event_list_name_last(events, job->id);
}

/* --- all of them --- */

static bool can_block(enum hook_event event)
{
    return event != HOOK_POST_TOOL_USE && event != HOOK_SESSION_START && event != HOOK_SESSION_END;
}

static struct uuid id_of(const struct agent *agent, const struct hook_occasion *occasion,
                         size_t index)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s/%s/%s/%zu", agent->lease.conversation_id.text, occasion->subject,
                   hook_event_name(occasion->event), index);
    return uuid_from_name(name.text);
}

static void add_to_outcome(const struct execution *execution, struct hook_outcome *outcome)
{
    const struct hook_verdict *verdict = &execution->verdict;

    if (verdict->is_blocked) {
        outcome->is_blocked = true;
        strbuf_append(&outcome->reason, verdict->reason.text);
    }
    if (verdict->context.len > 0)
        strbuf_appendf(&outcome->context, "%s%s", outcome->context.len > 0 ? "\n\n" : "",
                       verdict->context.text);
    strbuf_truncate(&outcome->context,
                    utf8_offset(outcome->context.text, outcome->context.len, STREAM_MAX_CHARS));
}

static int run_one(struct agent *agent, const struct hook_job *job, struct event_list *events,
                   struct hook_outcome *outcome, struct error *err)
{
    CLEANUP(execution_done) struct execution execution = EXECUTION_INIT;
    CLEANUP(event_list_done) struct event_list told = EVENT_LIST_INIT;

    if (execute(agent, job, &execution, err) < 0)
        return -1;
    if (!can_block(job->occasion->event))
        execution.verdict.is_blocked = false;
    log_info("hook.ran", LOG_STR("event", hook_event_name(job->occasion->event)),
             LOG_INT("exit_code", execution.exit_code));
    add_event(job, &execution, &told);
    /* Masks need room, too. */
    secret_list_mask_events(&agent->secrets, &told);
    fit_event(told.items[0].json);
    event_list_append(events, &told);
    if (execution.verdict.asks_reading) {
        json_auto_t *request = knowledge_request_hook_value();

        event_add_state(events, PROJECT_KNOWLEDGE_KEY, request);
    }
    add_to_outcome(&execution, outcome);
    return 0;
}

int hook_run_all(struct agent *agent, const struct hook_occasion *occasion,
                 struct event_list *events, struct hook_outcome *outcome, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf input_text = STRBUF_INIT;
    json_auto_t *input = NULL;
    json_auto_t *hooks = NULL;
    const json_t *hook = NULL;
    size_t i = 0;

    if (agent->sandbox == NULL)
        return 0;
    hooks = hooks_find(config_of(agent), occasion->event, occasion->tool_name);
    if (json_array_size(hooks) == 0)
        return 0;
    input = input_of(agent, occasion);
    json_append_text(&input_text, input);
    json_array_foreach (hooks, i, hook) {
        struct uuid id = id_of(agent, occasion, i);
        const struct hook_job job = {occasion, hook, input, input_text.text, &id};

        if (run_one(agent, &job, events, outcome, err) < 0)
            return -1;
        if (outcome->is_blocked)
            return 0;
    }
    return 0;
}

void hook_run_acknowledge(struct agent *agent, const struct event_list *events)
{
    for (size_t i = 0; i < events->n; i++) {
        if (text_equal(events->items[i].kind, "HookExecutionEvent"))
            sandbox_acknowledge(agent->sandbox, &events->items[i].id);
    }
}
