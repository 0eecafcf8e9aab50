/*
 * Events of a conversation: search, count, one, many; sending a user's message.
 */
#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/seen_calls.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/conversation/waiting_calls.h"

static const char *const sort_orders[] = {"TIMESTAMP", "TIMESTAMP_DESC", NULL};
static const char *const sources[] = {"agent", "user", "environment", "hook", NULL};
enum { N_SOURCES = 4 };

/* A filter and the texts it borrows. */
struct event_search {
    struct event_filter filter;
    char since[CLOCK_TEXT_BYTES];
    char before[CLOCK_TEXT_BYTES];
    bool is_empty; /* no event can match */
    struct strbuf path;
};

static void event_search_done(struct event_search *search)
{
    strbuf_done(&search->path);
}

/* Reads an ISO time of the query as the naive text that events contain. */
static int read_time(const struct request *request, const char *name,
                     char text_out[CLOCK_TEXT_BYTES], const char **filter_out, struct error *err)
{
    static const struct validation_error problem = {
        "datetime_from_date_parsing", "Input should be a valid datetime or date", NULL};
    const char *text = request_query(request, name);
    struct error why = ERROR_INIT;
    json_auto_t *input = NULL;
    int64_t utc_us = 0;

    if (text == NULL)
        return 0;
    if (clock_parse(text, &utc_us, &why) < 0) {
        input = json_text_of(text);
        return request_problem(request, REQUEST_JSON_PATH("query", name), &problem, input, err);
    }
    clock_format_naive(utc_us, text_out);
    *filter_out = text_out;
    return 0;
}

static int read_filter(const struct request *request, struct event_search *search,
                       struct error *err)
{
    const char *kind = request_query(request, "kind");
    size_t source = N_SOURCES;

    if (request_query_choice(request, "source", sources, &source, err) < 0 ||
        read_time(request, "timestamp__gte", search->since, &search->filter.since, err) < 0 ||
        read_time(request, "timestamp__lt", search->before, &search->filter.before, err) < 0)
        return -1;
    search->filter.source = sources[source];
    search->filter.body = request_query(request, "body");
    if (kind != NULL) {
        search->filter.kind = event_kind_from_filter(kind);
        search->is_empty = search->filter.kind == NULL;
    }
    return 0;
}

/* Checks that the conversation is the caller's, without reading its row. */
static int check_for(const struct request *request, struct event_search *search, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct uuid id = UUID_INIT;

    if (agent_conversation_id(request, &id, err) < 0)
        return -1;
    if (conversation_store_check(request->context->db, &scope, &id, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, &id, err);
    search->filter.conversation_id = id;
    return 0;
}

static int answer_empty_page(struct reply *reply)
{
    json_auto_t *json = json_object();

    json_put(json, "items", json_array());
    json_put(json, "next_page_id", json_null());
    return reply_json(reply, 200, json);
}

/* on_path: only the events that the next run reads, not those of branches that were left. */
static int read_path(const struct request *request, struct event_search *search, struct error *err)
{
    bool on_path = false;

    if (request_query_bool(request, "on_path", &on_path, err) < 0)
        return -1;
    if (!on_path)
        return 0;
    if (branch_store_find_path(request->context->db, &search->filter.conversation_id, &search->path,
                               err) < 0)
        return -1;
    search->filter.path = search->path.text;
    return 0;
}

/* GET -> 200 {"items":[Event],"next_page_id"} | 404 | 422 */
static int events_search(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    CLEANUP(event_search_done) struct event_search search = {.filter = {.limit = PAGE_MAX_ITEMS},
                                                             .path = STRBUF_INIT};
    const struct conversation_scope scope = principal_scope(&request->principal);
    size_t order = 0;

    if (request_query_limit(request, &search.filter.limit, err) < 0 ||
        request_query_choice(request, "sort_order", sort_orders, &order, err) < 0 ||
        read_filter(request, &search, err) < 0)
        return -1;
    if (search.is_empty)
        return check_for(request, &search, err) < 0 ? -1 : answer_empty_page(reply);
    if (agent_conversation_id(request, &search.filter.conversation_id, err) < 0 ||
        read_path(request, &search, err) < 0)
        return -1;
    search.filter.descending = order == 1;
    search.filter.page_id = request_query(request, "page_id");
    if (event_store_search(request->context->db, &scope, &search.filter, &json, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, &search.filter.conversation_id, err);
    return reply_json_text(reply, 200, &json);
}

/* GET -> 200 number | 404 | 422 */
static int events_count(const struct request *request, struct reply *reply, struct error *err)
{
    struct event_search search = {.filter = {.limit = 1}};
    json_auto_t *json = NULL;
    int64_t n = 0;

    if (read_filter(request, &search, err) < 0 || check_for(request, &search, err) < 0)
        return -1;
    if (!search.is_empty && event_store_count(request->context->db, &search.filter, &n, err) < 0)
        return -1;
    json = json_integer((json_int_t)n);
    return reply_json(reply, 200, json);
}

/* GET -> 200 Event with its null members | 404 */
static int event_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *event = NULL;
    struct event_search search = {.filter = {.limit = 1}};

    if (check_for(request, &search, err) < 0)
        return -1;
    if (event_store_get(request->context->db, &search.filter.conversation_id,
                        request_path_text(request, "event_id"), &text, err) < 0)
        return agent_unknown(UNKNOWN_PLAIN, &search.filter.conversation_id, err);
    if (json_parse_own(text.text, text.len, &event, err) < 0)
        return -1;
    event_fill_nulls(event);
    return reply_json(reply, 200, event);
}

static int read_event_ids(const struct request *request, const json_t *list, const char **ids,
                          struct error *err)
{
    static const struct validation_error not_text = {"string_type",
                                                     "Input should be a valid string", NULL};
    json_t *id = NULL;
    size_t i = 0;

    json_array_foreach (list, i, id) {
        const struct json_path body = {NULL, "body", 0};
        const struct json_path path = {&body, NULL, (json_int_t)i};

        if (!json_is_string(id))
            return request_problem(request, &path, &not_text, id, err);
        ids[i] = json_string_value(id);
    }
    return 0;
}

/* GET with a body ["id", …] -> 200 [Event | null] | 404 | 422 */
static int events_batch(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    const struct json_path body = {NULL, "body", 0};
    struct event_search search = {.filter = {.limit = 1}};
    const char *ids[PAGE_MAX_ITEMS];
    json_auto_t *list = NULL;

    if (check_for(request, &search, err) < 0 || request_json(request, &list, err) < 0)
        return -1;
    if (!json_is_array(list) || json_array_size(list) > PAGE_MAX_ITEMS)
        return request_problem(
            request, &body,
            &(struct validation_error){"list_type",
                                       "Input should be a list of at most 100 event ids", NULL},
            list, err);
    if (read_event_ids(request, list, ids, err) < 0 ||
        event_store_get_many(request->context->db, &search.filter.conversation_id, ids,
                             json_array_size(list), &json, err) < 0)
        return -1;
    return reply_json_text(reply, 200, &json);
}

static int check_role(const struct request *request, const json_t *body, struct error *err)
{
    json_t *role = json_object_get(body, "role");
    json_t *ctx = NULL;

    if (role == NULL || (json_is_string(role) && text_equal(json_string_value(role), "user")))
        return 0;
    ctx = json_object();
    json_put_text(ctx, "expected", "'user'");
    return request_problem(
        request, REQUEST_JSON_PATH("body", "role"),
        &(struct validation_error){"literal_error", "Input should be 'user'", ctx}, role, err);
}

/* The content as a list of parts; a new reference, or NULL with the problems noted. */
static json_t *read_content(const struct request *request, json_t *body, struct error *err)
{
    json_t *input = json_object_get(body, "content");
    json_t *content = NULL;

    if (input == NULL)
        return json_array();
    content = content_read_at(input, REQUEST_JSON_PATH("body", "content"), request->problems);
    if (json_array_size(request->problems) == 0)
        return content;
    json_decref(content);
    error_ignore(request_problems_noted(err), "a NULL result reports the failure");
    return NULL;
}

/* The run limit is reached: the message is stored, only the run must be requested again. */
static int refuse_run(struct error *err)
{
    return error_set(err, ERROR_RATE_LIMITED,
                     "Conversation run limit reached. The message is stored; request the run again "
                     "later.");
}

/* *run_io: MESSAGE_ONLY when the run limit is reached; *is_full_out then says so. */
static int look_for_room(const struct request *request, const struct uuid *id,
                         enum message_run *run_io, bool *is_full_out, struct error *err)
{
    if (*run_io == MESSAGE_ONLY || agent_check_room(request, id, err) == 0)
        return 0;
    if (err->code != ERROR_RATE_LIMITED)
        return -1;
    *run_io = MESSAGE_ONLY;
    *is_full_out = true;
    return 0;
}

static int read_message(const struct request *request, json_t *body, struct user_message *message,
                        struct seen_calls *seen, struct error *err)
{
    static const struct text_rule sender = {.max_chars = SENDER_MAX_CHARS};
    bool runs = false;

    if (check_role(request, body, err) < 0 ||
        request_member_text(request, body, "sender", &sender, &message->sender, err) < 0 ||
        request_member_bool(request, body, "run", &runs, err) < 0 ||
        seen_calls_read(request, body, seen, err) < 0)
        return -1;
    message->run = runs ? MESSAGE_AND_RUN : MESSAGE_ONLY;
    message->seen = seen;
    return 0;
}

/*
 * POST {"content":[…], "run": bool, "sender"?: text, "action_ids"?: […]} -> 200 | 404
 * | 409, and nothing is stored | 413 | 422 | 429, and the message is stored
 */
static int event_send(const struct request *request, struct reply *reply, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    json_auto_t *body = NULL;
    json_auto_t *content = NULL;
    struct uuid id = UUID_INIT;
    struct user_message message = {.catalogue = request->context->catalogue, .run = MESSAGE_ONLY};
    struct seen_calls seen = SEEN_CALLS_UNSAID;
    bool is_full = false;

    if (agent_conversation_id(request, &id, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        read_message(request, body, &message, &seen, err) < 0)
        return -1;
    content = read_content(request, body, err);
    if (content == NULL || look_for_room(request, &id, &message.run, &is_full, err) < 0)
        return -1;
    message.content = content;
    if (conversation_post_message(request->context->db, &scope, &id, &message, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, &id, err);
    return is_full ? refuse_run(err) : reply_success(reply);
}

#define EVENTS "/api/conversations/{conversation_id}/events"

const struct route event_routes[] = {
    {HTTP_GET, EVENTS "/search", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, events_search},
    {HTTP_GET, EVENTS "/count", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, events_count},
    {HTTP_GET, EVENTS "/{event_id}", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, event_get},
    {HTTP_GET, EVENTS, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, BODY_SMALL_BYTES, events_batch},
    {HTTP_POST, EVENTS, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, BODY_LARGE_BYTES, event_send},
    {.handle = NULL},
};
