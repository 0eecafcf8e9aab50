/*
 * A repository in the workspace of a conversation: clone, setup, hook; and the credentials for git,
 * which are sent to the sandbox and not stored here.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/plugins/repository.h"
#include "model/schema/object_schema.h"
#include "store/conversation/conversation_store.h"

enum {
    MS_PER_S = 1000,
    SLACK_MS = 90000, /* for a cold start of the sandbox, and for commands of the agent before it */
    ASK_MS = 60000,
    ATTEMPTS_MAX = 100,
    FENCE_TRIES = 8,
};

/* A preparation in progress, for one request. */
struct preparation {
    const struct request *request;
    const struct conversation *conversation;
    const struct repository_spec *spec;
    const char *path; /* of the repository, once it is known; borrowed from `result` */
    json_t *result;
};

static int read_spec(const struct request *request, const struct object_schema *schema,
                     struct repository_spec *spec_out, struct error *err)
{
    static const struct json_path where = {NULL, "body", 0};
    json_auto_t *body = NULL;
    json_auto_t *spec = NULL;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    spec = object_schema_read(schema, body, &where, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    return repository_spec_read(spec, spec_out, err);
}

static int give_credentials(const struct request *request, const struct conversation *conversation,
                            const struct repository_spec *spec, struct error *err)
{
    json_auto_t *answer = NULL;
    json_auto_t *body = NULL;

    if (!secret_is_set(&spec->token))
        return 0;
    body = repository_credentials(spec);
    return sandbox_request_send(
        request->context,
        &(struct sandbox_request){.owner = {&request->principal, conversation},
                                  .path = "/git/credentials",
                                  .body = body,
                                  .timeout_ms = ASK_MS},
        &answer, err);
}

/* POST {"url","credentials"} -> 200 {"success"} | 400 | 404 | 422 | 502 */
static int repository_renew(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
    json_auto_t *answer = NULL;

    if (read_spec(request, &repository_credentials_request_schema, &spec, err) < 0 ||
        agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    if (give_credentials(request, &conversation, &spec, err) < 0)
        return sandbox_request_failed(reply, err);
    answer = json_object();
    json_put(answer, "success", json_true());
    return reply_json(reply, 200, answer);
}

/* --- one action --- */

/* How long the sandbox may take for the step. */
static int64_t patience_ms(const struct preparation *preparation, enum repository_step step)
{
    int64_t own_s = REPOSITORY_STOP_S;

    if (step == REPOSITORY_CLONE)
        own_s = REPOSITORY_CLONE_S;
    if (step == REPOSITORY_SETUP)
        own_s = preparation->spec->setup_timeout_s;
    return own_s * MS_PER_S + SLACK_MS;
}

/*
 * Under the conversation's fence: a worker that claims the conversation raises it, and the call is
 * retried.
 */
static int send(const struct preparation *preparation, struct sandbox_request *to_sandbox,
                json_t **answer_out, struct error *err)
{
    const struct uuid *id = &preparation->conversation->id;

    to_sandbox->owner =
        (struct sandbox_owner){&preparation->request->principal, preparation->conversation};
    to_sandbox->conversation = id->text;
    for (int i = 0; i < FENCE_TRIES; i++) {
        if (conversation_store_load_fence(preparation->request->context->db, id, &to_sandbox->fence,
                                          err) < 0)
            return -1;
        if (sandbox_request_send(preparation->request->context, to_sandbox, answer_out, err) == 0)
            return 0;
        if (err->code != ERROR_CONFLICT)
            break;
    }
    return -1;
}

static int read_workspace(const struct preparation *preparation, const char *path,
                          json_t **answer_out, struct error *err)
{
    struct sandbox_request to_sandbox = {.method = "GET", .path = path, .timeout_ms = ASK_MS};

    return send(preparation, &to_sandbox, answer_out, err);
}

/* Runs the step, or waits for one already running. */
static int run_step(const struct preparation *preparation, enum repository_step step,
                    const char *path, json_t **answer_out, struct error *err)
{
    json_auto_t *body =
        repository_action(preparation->spec, step,
                          conversation_working_dir(preparation->conversation), preparation->path);
    struct sandbox_request to_sandbox = {
        .method = "PUT", .path = path, .body = body, .timeout_ms = patience_ms(preparation, step)};

    return send(preparation, &to_sandbox, answer_out, err);
}

/*
 * Interrupted and failed steps are run again, except the user's own setup script, whose result is
 * kept. After a restart there is no setup left to stop.
 */
static bool is_final(const json_t *answer, enum repository_step step)
{
    const json_t *observation = json_object_get(answer, "observation");

    if (step == REPOSITORY_STOP || step == REPOSITORY_RESET)
        return true;
    if (!json_is_object(observation))
        return false;
    return step == REPOSITORY_SETUP || !json_bool_or(observation, "is_error", 0);
}

/* A result stored by an earlier request counts, unless the step is to be repeated. */
static int run_once(const struct preparation *preparation, enum repository_step step,
                    json_t **answer_out, struct error *err)
{
    for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        json_auto_t *known = NULL;
        const char *state = NULL;

        strbuf_append(&path, "/actions/");
        repository_append_id(preparation->spec, &preparation->conversation->id, step, attempt,
                             &path);
        if (read_workspace(preparation, path.text, &known, err) < 0)
            return -1;
        state = json_text_or(known, "state", "");
        if (text_equal(state, "unknown") || text_equal(state, "running"))
            return run_step(preparation, step, path.text, answer_out, err);
        if (is_final(known, step)) {
            *answer_out = json_incref(known);
            return 0;
        }
    }
    return error_set(err, ERROR_RATE_LIMITED, "gave up after %d attempts", ATTEMPTS_MAX);
}

/* --- the steps --- */

static void note_step(struct preparation *preparation, enum repository_step step, bool is_error,
                      const char *text)
{
    json_t *steps = json_object_get(preparation->result, "steps");
    json_t *entry = json_object();

    json_put_text(entry, "status", repository_status(step));
    json_put(entry, "is_error", json_boolean(is_error));
    json_put_text(entry, "text", text);
    json_push(steps, entry);
    if (is_error)
        log_info("repository.step_failed", LOG_STR("status", repository_status(step)));
}

static const char *text_of(const json_t *answer)
{
    const json_t *observation = json_object_get(answer, "observation");
    const json_t *part = json_array_get(json_object_get(observation, "content"), 0);

    return json_text_or(part, "text", json_text_or(answer, "reason", ""));
}

/* Clone or hook: takes the answer's own message. */
static int take_step(struct preparation *preparation, enum repository_step step,
                     json_t **answer_out, struct error *err)
{
    json_auto_t *answer = NULL;

    if (run_once(preparation, step, &answer, err) < 0)
        return -1;
    note_step(preparation, step,
              json_bool_or(json_object_get(answer, "observation"), "is_error", 1) != 0,
              text_of(answer));
    *answer_out = json_incref(answer);
    return 0;
}

/* The setup continues in the conversation's shell, which the agent needs. */
static int stop_setup(struct preparation *preparation, struct error *err)
{
    json_auto_t *stopped = NULL;
    json_auto_t *renewed = NULL;

    if (run_once(preparation, REPOSITORY_STOP, &stopped, err) < 0)
        return -1;
    if (json_int_or(json_object_get(stopped, "observation"), "exit_code", -1) != -1)
        return 0;
    return run_once(preparation, REPOSITORY_RESET, &renewed, err);
}

static int run_setup(struct preparation *preparation, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *answer = NULL;
    const json_t *observation = NULL;
    json_int_t code = 0;

    if (run_once(preparation, REPOSITORY_SETUP, &answer, err) < 0)
        return -1;
    observation = json_object_get(answer, "observation");
    code = json_int_or(observation, "exit_code", -1);
    strbuf_append(&words, text_of(answer));
    if (observation == NULL) {
        strbuf_append(&words,
                      " The set-up was interrupted. Send the request again to run it again.");
    } else if (code == -1) {
        if (stop_setup(preparation, err) < 0)
            return -1;
        strbuf_appendf(&words, "%sThe set-up took longer than %lld seconds and was stopped.",
                       words.len > 0 ? "\n" : "", (long long)preparation->spec->setup_timeout_s);
    } else if (code != 0) {
        strbuf_appendf(&words, "%sThe set-up ended with exit code %lld.", words.len > 0 ? "\n" : "",
                       (long long)code);
    }
    note_step(preparation, REPOSITORY_SETUP, observation == NULL || code != 0, words.text);
    return 0;
}

static void put_members(json_t *result, const json_t *observation)
{
    static const char *const names[] = {"path", "branch", "commit", "was_there"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        json_t *value = json_object_get(observation, names[i]);

        json_put(result, names[i], value != NULL ? json_incref(value) : json_null());
    }
}

static int prepare(struct preparation *preparation, struct error *err)
{
    json_auto_t *cloned = NULL;
    json_auto_t *hooked = NULL;
    const json_t *observation = NULL;

    json_put(preparation->result, "steps", json_array());
    if (take_step(preparation, REPOSITORY_CLONE, &cloned, err) < 0)
        return -1;
    observation = json_object_get(cloned, "observation");
    put_members(preparation->result, observation);
    preparation->path = json_text_or(preparation->result, "path", "");
    if (preparation->path[0] != '/' || preparation->spec->url == NULL)
        return 0;
    if (json_bool_or(observation, "has_setup", 0) && run_setup(preparation, err) < 0)
        return -1;
    return take_step(preparation, REPOSITORY_HOOKS, &hooked, err);
}

/*
 * POST {"url","name","branch","setup_timeout_s","credentials"}
 * -> 200 {"path","branch","commit","was_there","steps"} | 400 | 404 | 422 | 429 | 502
 */
static int repository_prepare(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
    json_auto_t *result = json_object();
    struct preparation preparation = {request, &conversation, &spec, "", result};

    if (read_spec(request, &repository_request_schema, &spec, err) < 0 ||
        agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    if (give_credentials(request, &conversation, &spec, err) < 0 || prepare(&preparation, err) < 0)
        return sandbox_request_failed(reply, err);
    return reply_json(reply, 200, result);
}

#define SCOPED "/api/conversations/{runtime_conversation_id}/git"

const struct route repository_routes[] = {
    {HTTP_POST, SCOPED "/repository", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     repository_prepare},
    {HTTP_POST, SCOPED "/credentials", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     repository_renew},
    {.handle = NULL},
};
