#include "worker/agent/calls/start_child.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/conversation/worktree.h"
#include "model/event/event.h"
#include "start/start_place.h"
#include "start/start_rows.h"
#include "start/start_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/agent_start.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/hooks/call_hooks.h"
#include "worker/agent/hooks/hook_run.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

#define OBSERVATION_KIND "StartChildConversationObservation"

/* A child conversation about to be stored. */
struct child_start {
    struct conversation child;
    const char *isolation;
    struct strbuf problem; /* why none is started, for the model */
};

/* clang-format off */
#define CHILD_START_INIT {.child = CONVERSATION_INIT, .isolation = "shared", .problem = STRBUF_INIT}
/* clang-format on */

static void child_start_done(struct child_start *start)
{
    conversation_done(&start->child);
    strbuf_done(&start->problem);
}

/* Errors reported to the model; all others end the step. */
static int note_problem(struct child_start *start, const struct error *failure, struct error *err)
{
    if (failure->code == ERROR_CANCELLED || failure->code == ERROR_STALE) {
        *err = *failure;
        return -1;
    }
    strbuf_append(&start->problem, failure->message);
    return 0;
}

static int place(const struct agent *agent, struct conversation *child, struct error *err)
{
    const struct start_context context = agent_start_context(agent);

    if (start_place_child(&context, &agent->conversation, child, err) < 0)
        return -1;
    return start_check_quota(&context, err);
}

/* A refusal is news for the model. */
static int try_place(struct agent *agent, void *call, struct error *err)
{
    struct child_start *start = call;
    struct error failure = ERROR_INIT;

    if (place(agent, &start->child, &failure) == 0)
        return 0;
    if (failure.code == ERROR_RATE_LIMITED || !error_is_transient(&failure))
        return note_problem(start, &failure, err);
    *err = failure;
    return -1;
}

static int add_worktree(struct agent *agent, struct child_start *start, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *answer = NULL;

    worktree_append_command(&start->child, NULL, &command);
    if (sandbox_execute(agent->sandbox, command.text, WORKTREE_COMMAND_S, &answer, err) < 0 ||
        worktree_read_answer(answer, &path, err) < 0)
        return -1;
    worktree_enter(&start->child, path.text);
    start->isolation = "worktree";
    return 0;
}

/* Creates a worktree if there is a repository for it. */
static int isolate(struct agent *agent, const json_t *args, struct child_start *start,
                   struct error *err)
{
    struct error failure = ERROR_INIT;

    if (text_equal(json_text_or(args, "isolation", ""), "shared"))
        return 0;
    if (sandbox_ready(agent->sandbox, err) < 0)
        return -1;
    if (add_worktree(agent, start, &failure) == 0 || failure.code == ERROR_NOT_FOUND)
        return 0;
    return note_problem(start, &failure, err);
}

static int prepare(struct agent *agent, size_t action, struct child_start *start, struct error *err)
{
    const json_t *args =
        json_object_get(stored_event_json(&agent->history.items[action]), "action");
    struct error failure = ERROR_INIT;

    if (text_is_blank(json_text_or(args, "task", ""))) {
        strbuf_append(&start->problem, "The task is empty.");
        return 0;
    }
    start->child.id =
        child_conversation_id(&agent->conversation.id, &agent->history.items[action].id);
    if (child_conversation_make(&agent->context->keyring, &agent->conversation,
                                json_text_or(args, "title", NULL), &start->child, &failure) < 0)
        return note_problem(start, &failure, err);
    if (database_retry(agent, try_place, start, err) < 0)
        return -1;
    if (start->problem.len > 0)
        return 0;
    return isolate(agent, args, start, err);
}

static void append_words(const struct child_start *start, struct strbuf *out)
{
    strbuf_appendf(out, "Conversation %s was started in %s", start->child.id.text,
                   conversation_working_dir(&start->child));
    strbuf_append(out, text_equal(start->isolation, "worktree")
                           ? ", its own git worktree. It runs independently from now on."
                           : ", the folder of this one. It runs independently from now on.");
}

static json_t *told_start(const struct child_start *start)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_t *observation = NULL;

    append_words(start, &words);
    observation = observation_from_text(OBSERVATION_KIND, words.text);
    json_put_text(observation, "conversation_id", start->child.id.text);
    json_put_text(observation, "parent_conversation_id", start->child.parent_id.text);
    json_put_text(observation, "status", status_to_string(STATUS_IDLE));
    json_put_text(observation, "title", start->child.title);
    json_put_text(observation, "workspace", conversation_working_dir(&start->child));
    json_put_text(observation, "isolation", start->isolation);
    return observation;
}

static json_t *told_problem(const struct agent *agent, const struct child_start *start)
{
    json_t *observation = observation_from_text(OBSERVATION_KIND, start->problem.text);

    json_put_text(observation, "parent_conversation_id", agent->conversation.id.text);
    json_put(observation, "is_error", json_true());
    return observation;
}

static int store_result(struct agent *agent, size_t action, json_t *observation,
                        const struct conversation_write *change, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    if (call_hooks_add_observation(agent, action, observation, &events, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_CHILD_BEFORE_COMMIT);
    if (event_writer_append(agent, &events, change, err) < 0)
        return -1;
    hook_run_acknowledge(agent, &events);
    crash_point(&agent->context->crash, CRASH_CHILD_COMMITTED);
    return 0;
}

static int store_problem(struct agent *agent, size_t action, const struct child_start *start,
                         struct error *err)
{
    json_auto_t *observation = told_problem(agent, start);

    return store_result(agent, action, observation, NULL, err);
}

static int store_child(struct agent *agent, size_t action, struct child_start *start,
                       struct error *err)
{
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    const json_t *args =
        json_object_get(stored_event_json(&agent->history.items[action]), "action");
    const struct new_conversation inserted = {&start->child, &rows.events, &rows.write};
    const struct conversation_write change = {.child = &inserted};
    json_auto_t *observation = told_start(start);

    if (agent_start_plan(agent->context->catalogue, &start->child, json_text_or(args, "task", ""),
                         &rows, err) < 0)
        return -1;
    return store_result(agent, action, observation, &change, err);
}

int start_child_run(struct agent *agent, size_t action, struct error *err)
{
    CLEANUP(child_start_done) struct child_start start = CHILD_START_INIT;
    struct error failure = ERROR_INIT;

    if (prepare(agent, action, &start, err) < 0)
        return -1;
    if (start.problem.len > 0)
        return store_problem(agent, action, &start, err);
    if (store_child(agent, action, &start, &failure) == 0)
        return 0;
    if (failure.code != ERROR_INVALID && failure.code != ERROR_TOO_LARGE) {
        *err = failure;
        return -1;
    }
    strbuf_append(&start.problem, failure.message);
    return store_problem(agent, action, &start, err);
}
