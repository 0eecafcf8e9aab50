/*
 * Model calls outside the conversation's log: side questions, summaries, titles. Workers make them,
 * as jobs; a handler adds the job and waits for its result.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/wait_slots.h"
#include "store/conversation/job_store.h"

enum { QUESTION_MAX_CHARS = 100000 };

/* The time of one model call with some retries. */
#define WAIT_MS ((int64_t)600 * 1000)

/* The model provider failed: not this server's fault, and the message is for the client. */
static int answer_refusal(struct reply *reply, const char *words)
{
    return reply_exception(reply, 502, words);
}

/* Waits in one of the slots for long requests. */
static int wait_for(const struct request *request, const struct uuid *key, json_t **result_out,
                    struct error *err)
{
    int rc = 0;

    if (wait_slot_take(request->context->wait_slots, &request->principal.user_id, err) < 0)
        return -1;
    rc = job_store_wait(request->context->db, key, clock_monotonic_ms() + WAIT_MS, result_out, err);
    wait_slot_return(request->context->wait_slots, &request->principal.user_id);
    return rc;
}

/* Adds a job for the conversation of the path and waits. */
static int run_job(const struct request *request, const char *kind, const json_t *payload,
                   json_t **result_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct job_request job = {kind, payload, uuid_random()};

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0 ||
        job_store_add(request->context->db, &conversation.id, &job, err) < 0)
        return -1;
    return wait_for(request, &job.key, result_out, err);
}

static int unknown_conversation(struct error *err)
{
    return error_reword(err, ERROR_NOT_FOUND, "Conversation not found");
}

/* POST {"question": text} -> 200 {"response": text} | 404 | 422 | 502 */
static int ask_agent(const struct request *request, struct reply *reply, struct error *err)
{
    const struct text_rule rule = {0, QUESTION_MAX_CHARS, true};
    json_auto_t *body = NULL;
    json_auto_t *payload = json_object();
    json_auto_t *result = NULL;
    json_auto_t *answer = json_object();
    const char *question = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        request_member_text(request, body, "question", &rule, &question, err) < 0)
        return -1;
    json_put_text(payload, "question", question);
    if (run_job(request, "ask", payload, &result, err) < 0)
        return unknown_conversation(err);
    if (json_text_or(result, "error", NULL) != NULL)
        return answer_refusal(reply, json_text_or(result, "error", ""));
    json_put_text(answer, "response", json_text_or(result, "response", ""));
    return reply_json(reply, 200, answer);
}

static int plan_condense(struct conversation_edit *edit, struct error *err)
{
    json_t *agent = conversation_agent(&edit->conversation);

    if (conversation_find_condenser(json_object_get(agent, "condenser")) == NULL)
        return error_set(err, ERROR_CONFLICT,
                         "Cannot condense conversation: No condenser configured");
    event_add_condensation_request(&edit->events);
    edit->write.job.kind = "condense";
    edit->write.job.key = *(const struct uuid *)edit->what;
    return 0;
}

/* POST -> 200 | 404 | 409 without a condenser | 502 */
static int condense(const struct request *request, struct reply *reply, struct error *err)
{
    const struct uuid key = uuid_random();
    json_auto_t *result = NULL;

    if (conversation_edit_apply_with(request, &key, plan_condense, err) < 0 ||
        wait_for(request, &key, &result, err) < 0)
        return unknown_conversation(err);
    if (json_text_or(result, "error", NULL) != NULL)
        return answer_refusal(reply, json_text_or(result, "error", ""));
    return reply_success(reply);
}

/* POST {}? -> 200 {"title": text} | 404. For clients before 1.19; other members are ignored. */
static int generate_title(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *body = NULL;
    json_auto_t *payload = json_object();
    json_auto_t *result = NULL;

    json_put(payload, "answer", json_true());
    if (request_json_object_or_empty(request, &body, err) < 0 ||
        run_job(request, "title", payload, &result, err) < 0)
        return unknown_conversation(err);
    if (json_text_or(result, "error", NULL) != NULL)
        return answer_refusal(reply, json_text_or(result, "error", ""));
    return reply_json(reply, 200, result);
}

#define CONVERSATION "/api/conversations/{conversation_id}"

const struct route conversation_ask_routes[] = {
    {HTTP_POST, CONVERSATION "/ask_agent", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_LARGE_BYTES, ask_agent},
    {HTTP_POST, CONVERSATION "/condense", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, condense},
    {HTTP_POST, CONVERSATION "/generate_title", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, generate_title},
    {.handle = NULL},
};
