/*
 * /v1: LLM profiles served as OpenAI models. A call starts a conversation, or continues one, waits
 * until it has stopped, and replies with the agent's answer, or sends it as it comes.
 */
#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/streamed_turn.h"
#include "fcgi/core/cors.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/event/event.h"
#include "model/openai/openai_answer.h"
#include "model/openai/openai_request.h"
#include "model/openai/openai_stream.h"
#include "model/schema/object_schema.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"

#define ID_PARAM "HTTP_X_OPENHANDS_SERVERCONVERSATION_ID"

/* Always the same, so that a call finds files of an earlier one. */
#define WORKING_DIR "/workspace/project"

/* A call in progress: the request, its conversation, and the result. */
struct turn {
    struct openai_request ask;
    struct uuid id;             /* unset: a new conversation */
    struct openai_usage before; /* usage of that conversation before this call */
    int64_t after_seq;          /* its newest event then */
    struct openai_stream stream;
    struct strbuf text;
    struct openai_answer answer;
    bool is_answered; /* the reply already holds the refusal, or was sent as a stream */
};

/* clang-format off */
#define TURN_INIT {.ask = OPENAI_REQUEST_INIT, .id = UUID_INIT, .stream = OPENAI_STREAM_INIT, .text = STRBUF_INIT}
/* clang-format on */

static void turn_done(struct turn *turn)
{
    openai_request_done(&turn->ask);
    openai_stream_done(&turn->stream);
    strbuf_done(&turn->text);
}

/* Reads the conversation id from the header; unset without one. */
static int read_id(const struct request *request, struct uuid *id_out, struct error *err)
{
    const char *text = request_param(request, ID_PARAM);
    json_auto_t *input = NULL;

    if (text == NULL || uuid_parse(text, id_out))
        return 0;
    input = json_text_of(text);
    return request_problem(
        request, REQUEST_JSON_PATH("header", CORS_CONVERSATION_HEADER),
        &(struct validation_error){"uuid_parsing", "Input should be a valid UUID", NULL}, input,
        err);
}

static int refuse(struct reply *reply, struct turn *turn, int status, const char *words)
{
    turn->is_answered = true;
    return reply_detail(reply, status, words);
}

/* Checks that the request is valid, and that its model is a profile of the user. */
static int check_ask(const struct request *request, struct reply *reply, struct turn *turn,
                     struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);

    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    if (turn->ask.refusal != NULL)
        return refuse(reply, turn, 400, turn->ask.refusal);
    if (turn->ask.profile == NULL)
        return error_set(err, ERROR_NOT_FOUND,
                         "There is no such model: model names of this server begin with %s",
                         OPENAI_MODEL_PREFIX);
    if (document_store_get(&scope, COLLECTION_PROFILES, turn->ask.profile, &profile, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Profile '%.200s' not found", turn->ask.profile);
    return 0;
}

/* The active agent profile; ERROR_CONFLICT when there is none. */
static int find_agent_profile(const struct request *request, struct uuid *id_out, struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;
    const struct document_scope scope = user_documents_scope(request);
    const char *pointer = NULL;

    if (user_settings_load(request, &settings, err) < 0)
        return -1;
    pointer = user_settings_pointer(&settings, "active_agent_profile_id");
    if (pointer == NULL || !uuid_parse(pointer, id_out))
        return error_set(err, ERROR_CONFLICT, "No agent profile is active");
    if (document_store_get_by_id(&scope, COLLECTION_AGENT_PROFILES, id_out, &profile, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_CONFLICT, "The active agent profile no longer exists")
                   : -1;
    return 0;
}

/* A start request: the active agent profile with that LLM profile and system text. */
static json_t *start_request(const struct openai_request *run_turn,
                             const struct uuid *agent_profile_id)
{
    json_t *body = json_object();
    json_t *workspace = json_need_object(body, "workspace");
    json_t *additions = json_need_object(body, "agent_launch_additions");
    json_t *message = json_need_object(body, "initial_message");

    json_put_text(workspace, "working_dir", WORKING_DIR);
    json_put_text(body, "agent_profile_id", agent_profile_id->text);
    json_put_text(additions, "llm_profile_ref", run_turn->profile);
    if (run_turn->system.len > 0)
        json_put_text(additions, "system_message_suffix_append", run_turn->system.text);
    json_put(message, "content", json_incref(run_turn->content));
    /* API clients do not show a title, and generating one costs a model call. */
    json_put(body, "autotitle", json_false());
    return body;
}

static int start(const struct request *request, struct reply *reply, struct turn *turn,
                 struct error *err)
{
    struct uuid agent_profile_id = UUID_INIT;
    json_auto_t *body = NULL;

    if (find_agent_profile(request, &agent_profile_id, err) < 0)
        return -1;
    body = start_request(&turn->ask, &agent_profile_id);
    if (conversation_begin(request, body, reply, &turn->id, err) < 0)
        return -1;
    turn->is_answered = !uuid_is_set(&turn->id);
    return 0;
}

/*
 * Continues a conversation. Its agent does not change: model and system text are those of the first
 * call.
 */
static int go_on(const struct request *request, struct turn *turn, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct db *db = request->context->db;
    struct user_message message = {.catalogue = request->context->catalogue,
                                   .run = MESSAGE_AND_RUN};
    json_auto_t *content = NULL;

    if (conversation_store_load(db, &scope, &turn->id, &conversation, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, &turn->id, err);
    turn->before = openai_usage_of(conversation.stats);
    turn->after_seq = conversation.last_seq;
    if (content_read(turn->ask.content, &content, err) < 0 ||
        agent_check_room(request, &turn->id, err) < 0)
        return -1;
    message.content = content;
    if (conversation_post_message(db, &scope, &turn->id, &message, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, &turn->id, err);
    return 0;
}

/* Reads the result; any status but "finished" is an error. */
static int read_answer(const struct request *request, struct reply *reply, struct turn *turn,
                       struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct openai_usage now = {.input_tokens = 0};

    if (conversation_store_load(request->context->db, &scope, &turn->id, &conversation, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, &turn->id, err);
    if (conversation.status != STATUS_FINISHED) {
        strbuf_appendf(&words, "The conversation ended as '%s', not as 'finished'",
                       status_to_string(conversation.status));
        turn->is_answered = true;
        return reply_exception(reply, 500, words.text);
    }
    if (final_response_read(request, &turn->id, &turn->text, err) < 0)
        return -1;
    now = openai_usage_of(conversation.stats);
    turn->answer.usage = openai_usage_since(&now, &turn->before);
    turn->answer.text = turn->text.text;
    turn->answer.ended_s = clock_utc_us() / 1000000;
    return 0;
}

/* The form, model and values of the stream are set. */
static int send_stream(const struct request *request, struct reply *reply, struct turn *turn,
                       int64_t deadline_ms, struct error *err)
{
    const struct streamed_turn streamed = {.conversation_id = turn->id,
                                           .after_seq = turn->after_seq,
                                           .before = turn->before,
                                           .deadline_ms = deadline_ms,
                                           .stream = &turn->stream};

    turn->is_answered = true;
    turn->stream.begun_s = turn->answer.begun_s;
    return streamed_turn_send(request, reply, &streamed, err);
}

static int take_turn(const struct request *request, struct reply *reply, struct turn *turn,
                     struct error *err)
{
    struct db *db = request->context->db;
    int64_t deadline_ms = clock_monotonic_ms() + request->context->settings->answer_wait_ms;
    int rc = 0;

    turn->answer.begun_s = clock_utc_us() / 1000000;
    rc = uuid_is_set(&turn->id) ? go_on(request, turn, err) : start(request, reply, turn, err);
    if (rc < 0 || turn->is_answered)
        return rc;
    /* Set before later steps can fail, since the conversation now exists. */
    reply_header(reply, CORS_CONVERSATION_HEADER, turn->id.text);
    if (turn->ask.is_streamed)
        return send_stream(request, reply, turn, deadline_ms, err);
    if (conversation_store_wait_stopped(db, &turn->id, deadline_ms, err) < 0)
        return -1;
    return read_answer(request, reply, turn, err);
}

/* Checks, starts, and waits in one of the slots for long requests. */
static int run_turn(const struct request *request, struct reply *reply, struct turn *turn,
                    struct error *err)
{
    int rc = 0;

    if (check_ask(request, reply, turn, err) < 0)
        return -1;
    if (turn->is_answered)
        return 0;
    if (wait_slot_take(request->context->wait_slots, &request->principal.user_id, err) < 0)
        return -1;
    rc = take_turn(request, reply, turn, err);
    wait_slot_return(request->context->wait_slots, &request->principal.user_id);
    return rc;
}

/* GET -> 200 {"object", "data"} */
static int models(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_list_done) struct document_list profiles = DOCUMENT_LIST_INIT;
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *json = json_object();
    json_t *data = json_array();

    json_put_text(json, "object", "list");
    json_put(json, "data", data);
    if (document_store_list(&scope, COLLECTION_PROFILES, &profiles, err) < 0)
        return -1;
    for (size_t i = 0; i < profiles.n; i++)
        json_push(data, openai_model(profiles.items[i].name));
    return reply_json(reply, 200, json);
}

/* POST -> 200 ChatCompletion, or a stream of its chunks | 400 | 404 | 409 no agent profile | 422 |
 * 429 | 500 | 504 */
static int chat(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(turn_done) struct turn turn = TURN_INIT;
    json_auto_t *values = NULL;
    json_auto_t *answer = NULL;
    enum openai_turns turns = OPENAI_ALL_TURNS;

    if (read_id(request, &turn.id, err) < 0 ||
        request_json_schema(request, &openai_chat_schema, &values, err) < 0)
        return -1;
    if (uuid_is_set(&turn.id))
        turns = OPENAI_NEW_TURNS;
    openai_request_read_chat(values, turns, &turn.ask, request->problems);
    turn.answer.model = json_text_or(values, "model", "");
    turn.stream.form = OPENAI_FORM_CHAT;
    turn.stream.model = turn.answer.model;
    turn.stream.asked = values;
    if (run_turn(request, reply, &turn, err) < 0)
        return -1;
    if (turn.is_answered)
        return 0;
    answer = openai_chat_completion(&turn.answer);
    return reply_json(reply, 200, answer);
}

/* POST -> 200 Response, or a stream of its events, always of a new conversation; otherwise as
 * chat() */
static int response(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(turn_done) struct turn turn = TURN_INIT;
    json_auto_t *values = NULL;
    json_auto_t *answer = NULL;

    if (request_json_schema(request, &openai_response_schema, &values, err) < 0)
        return -1;
    openai_request_read_response(values, &turn.ask, request->problems);
    turn.answer.model = json_text_or(values, "model", "");
    turn.stream.form = OPENAI_FORM_RESPONSE;
    turn.stream.model = turn.answer.model;
    turn.stream.asked = values;
    if (run_turn(request, reply, &turn, err) < 0)
        return -1;
    if (turn.is_answered)
        return 0;
    answer = openai_response(&turn.answer, values);
    return reply_json(reply, 200, answer);
}

const struct route openai_routes[] = {
    {HTTP_GET, "/v1/models", ORIGIN_BOTH, ACCESS_BEARER, SANDBOX_REFUSED, 0, models},
    {HTTP_POST, "/v1/chat/completions", ORIGIN_BOTH, ACCESS_BEARER, SANDBOX_REFUSED,
     BODY_LARGE_BYTES, chat},
    {HTTP_POST, "/v1/responses", ORIGIN_BOTH, ACCESS_BEARER, SANDBOX_REFUSED, BODY_LARGE_BYTES,
     response},
    {.handle = NULL},
};
