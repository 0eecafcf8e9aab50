/*
 * Goals: start, stop, resume. Workers run the goal loop, as a job at the end of each run.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/conversation/goal.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_post.h"

enum { OBJECTIVE_MAX_CHARS = 100000 };

#define RESUME_TEXT "Continue with the goal that you were working on."

struct goal_request {
    const char *objective;
    json_int_t max_iterations;
};

static int check_resting(const struct conversation_edit *edit, struct error *err)
{
    if (edit->conversation.is_wanted || goal_is_active(&edit->conversation))
        return error_set(err, ERROR_CONFLICT, "Conversation run or goal loop already running.");
    return agent_check_room(edit->request, &edit->conversation.id, err);
}

/* Adds the text as a user message and requests a run. */
static int plan_round(struct conversation_edit *edit, const char *words, struct error *err)
{
    json_auto_t *content = json_array();
    const struct planned_message message = {edit->request->context->catalogue, content,
                                            MESSAGE_AND_RUN};
    bool calls_skills = false;

    json_push(content, text_content(words));
    if (conversation_plan_message(&edit->conversation, &message, &edit->events, &edit->planned,
                                  err) < 0)
        return -1;
    conversation_write_change(&edit->planned, &edit->write);
    calls_skills = conversation_note_skills(&edit->conversation, &edit->events);
    (void)calls_skills; /* the goal is new in any case */
    edit->write.spec = edit->conversation.spec;
    return 0;
}

static int plan_start(struct conversation_edit *edit, struct error *err)
{
    const struct goal_request *goal = edit->what;

    if (check_resting(edit, err) < 0)
        return -1;
    goal_start(&edit->conversation, goal->objective, goal->max_iterations, &edit->events);
    return plan_round(edit, goal->objective, err);
}

static int plan_resume(struct conversation_edit *edit, struct error *err)
{
    if (check_resting(edit, err) < 0)
        return -1;
    goal_set(&edit->conversation, GOAL_RUNNING, NULL, &edit->events);
    return plan_round(edit, RESUME_TEXT, err);
}

static int plan_stop(struct conversation_edit *edit, struct error *err)
{
    (void)err;
    if (goal_give_way(&edit->conversation, &edit->events))
        edit->write.spec = edit->conversation.spec;
    return 0;
}

static int read_iterations(const struct request *request, json_t *body, json_int_t *n_out,
                           struct error *err)
{
    static const struct validation_error not_number = {"int_type",
                                                       "Input should be a valid integer", NULL};
    static const struct validation_error too_small = {
        "greater_than_equal", "Input should be greater than or equal to 1", NULL};
    json_t *value = json_object_get(body, "max_iterations");

    *n_out = GOAL_ITERATIONS_DEFAULT;
    if (value == NULL)
        return 0;
    if (!json_is_integer(value))
        return request_problem(request, REQUEST_JSON_PATH("body", "max_iterations"), &not_number,
                               value, err);
    *n_out = json_integer_value(value);
    if (*n_out < 1)
        return request_problem(request, REQUEST_JSON_PATH("body", "max_iterations"), &too_small,
                               value, err);
    return 0;
}

/* POST {"objective", "max_iterations"} -> 200 | 400 | 404 | 409 | 422 | 429 */
static int start_goal(const struct request *request, struct reply *reply, struct error *err)
{
    const struct text_rule rule = {0, OBJECTIVE_MAX_CHARS, true};
    struct goal_request goal = {.objective = NULL};
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        request_member_text(request, body, "objective", &rule, &goal.objective, err) < 0 ||
        read_iterations(request, body, &goal.max_iterations, err) < 0)
        return -1;
    if (goal.objective == NULL || text_is_blank(goal.objective))
        return reply_detail(reply, 400, "Goal objective must not be empty.");
    if (conversation_edit_apply_with(request, &goal, plan_start, err) < 0)
        return -1;
    return reply_success(reply);
}

/* POST -> 200, also when there is no goal | 404 */
static int stop_goal(const struct request *request, struct reply *reply, struct error *err)
{
    if (conversation_edit_apply_with(request, "", plan_stop, err) < 0)
        return -1;
    return reply_success(reply);
}

/* POST -> 200 | 400 when there is nothing to go on with | 404 | 409 | 429 */
static int resume_goal(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    if (!goal_is_active(&conversation) && !goal_can_resume(&conversation))
        return reply_detail(reply, 400, "no_resumable_goal");
    if (conversation_edit_apply_with(request, "", plan_resume, err) < 0)
        return -1;
    return reply_success(reply);
}

#define CONVERSATION "/api/conversations/{conversation_id}"

const struct route conversation_goal_routes[] = {
    {HTTP_POST, CONVERSATION "/goal", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, BODY_LARGE_BYTES,
     start_goal},
    {HTTP_POST, CONVERSATION "/goal/stop", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, stop_goal},
    {HTTP_POST, CONVERSATION "/goal/resume", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, resume_goal},
    {.handle = NULL},
};
