#include "llm/chat.h"

#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "client/sse.h"
#include "llm/call.h"
#include "llm/draft.h"
#include "llm/json_repair.h"
#include "llm/route.h"
#include "llm/trouble.h"

enum { HEADERS_MAX = 24, STATUS_OK = 200, STATUS_REDIRECT = 300 };

#define ANSWER_MAX_BYTES ((size_t)(16 * 1024 * 1024))
#define STREAM_EVENT_MAX_BYTES ((size_t)(4 * 1024 * 1024))
#define ANSWER_MAX_EVENTS 1000000

/* State of reading an answer. */
struct reading {
    struct draft *draft;
    const struct llm_listener *listener; /* NULL: none */
    struct crash_points *crash;
    struct sse sse;
    struct strbuf whole; /* of an answer that is not streamed */
    bool is_stream;
    bool is_done; /* the stream's end marker was read */
};

static void reading_done(struct reading *reading)
{
    sse_done(&reading->sse);
    strbuf_done(&reading->whole);
}

/* --- sending --- */

static size_t add_extra_headers(json_t *extra, struct http_header *headers, size_t n)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (extra, name, value) {
        if (json_is_string(value) && n < HEADERS_MAX - 1)
            headers[n++] = (struct http_header){name, json_string_value(value)};
    }
    return n;
}

static void set_headers(const struct llm_request *request, const struct route *route,
                        struct strbuf *authorization, struct http_header *headers)
{
    size_t n = 0;

    if (request->api_key != NULL && secret_is_set(request->api_key)) {
        strbuf_appendf(authorization, "Bearer %s", secret_reveal(request->api_key));
        headers[n++] = (struct http_header){"Authorization", authorization->text};
    }
    if (request->conversation_id != NULL)
        headers[n++] = (struct http_header){"x-litellm-session-id", request->conversation_id};
    if (text_equal(route->provider->prefix, "openrouter")) {
        headers[n++] = (struct http_header){"HTTP-Referer",
                                            json_text_or(request->spec, "openrouter_site_url", "")};
        headers[n++] =
            (struct http_header){"X-Title", json_text_or(request->spec, "openrouter_app_name", "")};
    }
    n = add_extra_headers(json_object_get(request->spec, "extra_headers"), headers, n);
    headers[n] = (struct http_header){NULL, NULL};
}

static int send_request(struct llm_call *call, const struct llm_request *request,
                        const struct route *route, const struct llm_plan *plan,
                        struct http_call **http_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf authorization = STRBUF_INIT;
    CLEANUP(mem_freep) char *body = chat_request_body(request, route, plan);
    struct http_header headers[HEADERS_MAX];
    struct http_request http = {
        .method = "POST",
        .url = route->url,
        .lane = request->lane,
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
        .timeout_ms = plan->timeout_ms,
        .idle_timeout_ms = plan->is_stream ? plan->idle_timeout_ms : 0,
        .max_reply_bytes = ANSWER_MAX_BYTES,
        .address_of = request->address_of,
        .stream = plan->is_stream,
    };
    int rc = 0;

    set_headers(request, route, &authorization, headers);
    rc = http_start(call->llm->options.http, &http, http_out, err);
    explicit_bzero(authorization.text, authorization.len);
    return rc;
}

/* --- reading --- */

static int parse_answer(const char *text, size_t len, json_t **json_out,
                        struct llm_trouble *trouble, enum llm_cause cause)
{
    struct error why = ERROR_INIT;

    if (json_parse_lenient(text, len, json_out, &why) < 0)
        return trouble_set(trouble, cause, "The model's answer is no JSON: %s", why.message);
    return 0;
}

/* Passes what a piece added to the draft on to the listener. */
static void tell(const struct reading *reading, const struct strbuf *text, size_t len_before,
                 bool is_reasoning)
{
    struct llm_piece piece = {.is_reasoning = is_reasoning,
                              .text = text->text + len_before,
                              .len = text->len - len_before,
                              .response_id = reading->draft->response_id.text};

    if (reading->listener != NULL && piece.len > 0)
        reading->listener->piece(reading->listener->owner, &piece);
}

static int take_piece(struct reading *reading, const json_t *json, struct llm_trouble *trouble)
{
    size_t text_len = reading->draft->text.len;
    size_t reasoning_len = reading->draft->reasoning.len;

    if (draft_take(reading->draft, json, trouble) < 0)
        return -1;
    tell(reading, &reading->draft->reasoning, reasoning_len, true);
    tell(reading, &reading->draft->text, text_len, false);
    return 0;
}

static int take_event(struct reading *reading, const struct sse_event *event,
                      struct llm_trouble *trouble)
{
    json_auto_t *json = NULL;

    if (event->len == 0)
        return 0;
    if (text_equal(event->data, "[DONE]")) {
        reading->is_done = true;
        return 0;
    }
    /* A malformed piece is a connection fault rather than the model's: it can be retried. */
    if (parse_answer(event->data, event->len, &json, trouble, LLM_CAUSE_CONNECTION) < 0)
        return -1;
    return take_piece(reading, json, trouble);
}

static int take_stream(struct reading *reading, const char *bytes, size_t len,
                       struct llm_trouble *trouble)
{
    struct sse_input input = {bytes, len};
    struct sse_event event = {NULL, NULL, 0};
    struct error why = ERROR_INIT;

    while (!reading->is_done) {
        if (sse_next(&reading->sse, &input, &event, &why) < 0)
            return trouble_from_transport(trouble, &why);
        if (event.data == NULL)
            return 0;
        if (take_event(reading, &event, trouble) < 0)
            return -1;
    }
    return 0;
}

static bool is_stream_type(const struct http_call *http)
{
    const char *type = http_reply_header(http, "Content-Type");

    return http_status(http) < STATUS_REDIRECT && type != NULL &&
           strncasecmp(type, "text/event-stream", strlen("text/event-stream")) == 0;
}

/* Reads the whole answer: stream pieces as they arrive, anything else into one buffer. */
static int read_bytes(struct http_call *http, struct reading *reading, struct llm_trouble *trouble)
{
    struct error why = ERROR_INIT;
    const char *bytes = NULL;
    size_t len = 0;
    bool is_first = true;

    while (!reading->is_done) {
        if (http_call_read(http, &bytes, &len, &why) < 0)
            return trouble_from_transport(trouble, &why);
        if (is_first)
            reading->is_stream = is_stream_type(http);
        is_first = false;
        if (len == 0)
            return 0;
        if (!reading->is_stream)
            strbuf_append_bytes(&reading->whole, bytes, len);
        else if (take_stream(reading, bytes, len, trouble) < 0)
            return -1;
        else if (!reading->is_done)
            crash_point(reading->crash, CRASH_LLM_HALF);
    }
    return 0;
}

/* Some servers stream under another content type. */
static bool looks_like_stream(const struct strbuf *whole)
{
    return text_starts_with(whole->text, "data:") || text_starts_with(whole->text, ": ") ||
           text_starts_with(whole->text, "event:");
}

static int take_whole(struct http_call *http, struct reading *reading, struct llm_trouble *trouble)
{
    json_auto_t *json = NULL;
    const char *type = http_reply_header(http, "Content-Type");
    const struct strbuf *whole = &reading->whole;

    if (looks_like_stream(whole)) {
        reading->is_stream = true;
        return take_stream(reading, whole->text, whole->len, trouble);
    }
    if (whole->len == 0)
        return trouble_set(trouble, LLM_CAUSE_NO_RESPONSE, "The model's answer is empty.");
    if (type != NULL && strncasecmp(type, "text/html", strlen("text/html")) == 0)
        return trouble_set(trouble, LLM_CAUSE_API,
                           "The model's server answered with a web page: is the base URL right?");
    if (parse_answer(whole->text, whole->len, &json, trouble, LLM_CAUSE_CONNECTION) < 0)
        return -1;
    return draft_take(reading->draft, json, trouble);
}

/* A stream that ends without its end marker was cut off, whatever was received. */
static int check_end(const struct reading *reading, struct llm_trouble *trouble)
{
    if (!reading->is_stream || reading->is_done || reading->draft->finish_reason.len > 0)
        return 0;
    return trouble_set(trouble, LLM_CAUSE_CONNECTION,
                       "Connection error: the model's answer broke off in the middle.");
}

static void take_cost(const struct http_call *http, struct draft *draft)
{
    const char *text = http_reply_header(http, "x-litellm-response-cost");
    char *end = NULL;
    double cost = 0;

    if (text == NULL || text[0] == '\0')
        return;
    cost = strtod(text, &end);
    if (*end == '\0' && cost >= 0 && cost < 1e6)
        draft->usage.cost = cost;
}

static int read_answer(struct http_call *http, const struct llm_call *call,
                       const struct llm_request *request, struct draft *draft,
                       struct llm_trouble *trouble)
{
    CLEANUP(reading_done) struct reading reading = {.draft = draft,
                                                    .listener = request->listener,
                                                    .crash = call->llm->options.crash,
                                                    .sse = SSE_INIT(STREAM_EVENT_MAX_BYTES),
                                                    .whole = STRBUF_INIT};
    long status = 0;

    if (read_bytes(http, &reading, trouble) < 0)
        return -1;
    status = http_status(http);
    if (status < STATUS_OK || status >= STATUS_REDIRECT) {
        trouble_from_answer(trouble, status, reading.whole.text, reading.whole.len);
        trouble->retry_after_ms = http_retry_after_ms(http);
        return -1;
    }
    if (!reading.is_stream && take_whole(http, &reading, trouble) < 0)
        return -1;
    take_cost(http, draft);
    return check_end(&reading, trouble);
}

int chat_attempt(struct llm_call *call, const struct llm_request *request,
                 const struct route *route, const struct llm_plan *plan, struct draft *draft,
                 struct llm_trouble *trouble)
{
    CLEANUP(http_call_freep) struct http_call *http = NULL;
    struct error why = ERROR_INIT;
    int rc = 0;

    if (send_request(call, request, route, plan, &http, &why) < 0)
        return trouble_from_transport(trouble, &why);
    llm_call_watch(call, http);
    rc = read_answer(http, call, request, draft, trouble);
    llm_call_watch(call, NULL);
    /* The end of a stream is often already in flight: keep the connection for reuse. */
    if (rc == 0)
        http_call_drain(TAKE_PTR(http));
    return rc;
}
