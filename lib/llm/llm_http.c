#include "llm/llm_http.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/codec/event_stream.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "client/sse.h"
#include "llm/format.h"
#include "llm/json_repair.h"
#include "llm/llm_call.h"
#include "llm/llm_error.h"
#include "llm/llm_headers.h"
#include "llm/response_builder.h"
#include "llm/route.h"

enum { STATUS_OK = 200, STATUS_REDIRECT = 300 };
/* A thread that has waited so long releases its stack. */
enum { LONG_WAIT_MS = 250 };

#define ANSWER_MAX_BYTES ((size_t)(16 * 1024 * 1024))
#define STREAM_EVENT_MAX_BYTES ((size_t)(4 * 1024 * 1024))

enum answer_kind {
    ANSWER_WHOLE,
    ANSWER_EVENTS, /* server-sent events */
    ANSWER_FRAMES, /* messages of base/codec/event_stream.h */
};

/* State of reading an answer. */
struct answer_reader {
    const struct llm_format *format;
    struct response_builder *builder;
    const struct llm_listener *listener; /* NULL: none */
    struct crash_points *crash;
    struct sse sse;
    struct event_stream frames;
    struct strbuf whole; /* of an answer that is not streamed */
    enum answer_kind kind;
    bool is_done;        /* the end of the stream was read */
    bool releases_stack; /* the request's */
};

static void answer_reader_done(struct answer_reader *reader)
{
    sse_done(&reader->sse);
    event_stream_done(&reader->frames);
    strbuf_done(&reader->whole);
}

/* --- sending --- */

static void add_extra_headers(json_t *extra, struct llm_headers *headers)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (extra, name, value) {
        if (json_is_string(value))
            llm_headers_add(headers, name, json_string_value(value));
    }
}

static void set_headers(const struct llm_request *request, const struct llm_route *route,
                        struct llm_headers *headers)
{
    llm_format_of(route->format)->add_headers(request, route, headers);
    if (request->conversation_id != NULL)
        llm_headers_add(headers, "x-litellm-session-id", request->conversation_id);
    add_extra_headers(json_object_get(request->spec, "extra_headers"), headers);
}

/* What is sent. */
struct outgoing {
    struct llm_call *call;
    const struct llm_request *request;
    const struct llm_route *route;
    struct llm_plan plan;
    bool keeps_body; /* until the answer: then the transport can send it again */
};

static int send_request(const struct outgoing *outgoing, struct http_call **http_out,
                        struct error *err)
{
    CLEANUP(llm_headers_done) struct llm_headers headers = LLM_HEADERS_INIT;
    const struct llm_options *options = &outgoing->call->llm->options;
    const struct llm_request *request = outgoing->request;
    const struct llm_route *route = outgoing->route;
    const struct llm_plan *plan = &outgoing->plan;
    const struct llm_format *format = llm_format_of(route->format);
    CLEANUP(mem_freep) char *body = format->request_body(options->catalogue, request, route, plan);
    struct http_request http = {
        .method = "POST",
        .url = route->url,
        .direct = request->direct,
        .headers = headers.items,
        .body = outgoing->keeps_body ? body : NULL,
        .body_len = strlen(body),
        .timeout_ms = plan->timeout_ms,
        .idle_timeout_ms = plan->is_stream ? plan->idle_timeout_ms : 0,
        .max_reply_bytes = ANSWER_MAX_BYTES,
        .address_of = request->address_of,
        .stream = plan->is_stream,
    };

    set_headers(request, route, &headers);
    if (format->sign != NULL)
        format->sign(request, route, body, &headers);
    if (!outgoing->keeps_body)
        http.given_body = TAKE_PTR(body);
    return http_start(options->http, &http, http_out, err);
}

/* --- reading --- */

static int parse_answer(const char *text, size_t len, json_t **json_out,
                        struct llm_error *llm_error, enum llm_cause cause)
{
    struct error why = ERROR_INIT;

    if (json_parse_lenient(text, len, json_out, &why) < 0)
        return llm_error_set(llm_error, cause, "The model's answer is not JSON: %s", why.message);
    return 0;
}

static void emit_piece(const struct answer_reader *reader, const struct llm_piece *piece)
{
    if (reader->listener != NULL && piece->len > 0)
        reader->listener->piece(reader->listener->owner, piece);
}

/* Passes the text added to a response on to the listener. */
static void emit_added(const struct answer_reader *reader, size_t reasoning_len, size_t text_len)
{
    const struct response_builder *builder = reader->builder;

    emit_piece(reader, &(struct llm_piece){.is_reasoning = true,
                                           .text = builder->reasoning.text + reasoning_len,
                                           .len = builder->reasoning.len - reasoning_len,
                                           .response_id = builder->response_id.text});
    emit_piece(reader, &(struct llm_piece){.text = builder->text.text + text_len,
                                           .len = builder->text.len - text_len,
                                           .response_id = builder->response_id.text});
}

static int take_piece(struct answer_reader *reader, const json_t *json, struct llm_error *llm_error)
{
    size_t text_len = reader->builder->text.len;
    size_t reasoning_len = reader->builder->reasoning.len;

    if (reader->format->read_event(reader->builder, json, &reader->is_done, llm_error) < 0)
        return -1;
    emit_added(reader, reasoning_len, text_len);
    return 0;
}

static int take_event(struct answer_reader *reader, const struct sse_event *event,
                      struct llm_error *llm_error)
{
    json_auto_t *json = NULL;

    if (event->len == 0)
        return 0;
    if (text_equal(event->data, reader->format->end_of_stream)) {
        reader->is_done = true;
        return 0;
    }
    /* A malformed piece is a connection fault rather than the model's: it can be retried. */
    if (parse_answer(event->data, event->len, &json, llm_error, LLM_CAUSE_CONNECTION) < 0)
        return -1;
    return take_piece(reader, json, llm_error);
}

static int take_events(struct answer_reader *reader, const char *bytes, size_t len,
                       struct llm_error *llm_error)
{
    struct sse_input input = {bytes, len};
    struct sse_event event = {NULL, NULL, 0};
    struct error why = ERROR_INIT;

    while (!reader->is_done) {
        if (sse_next(&reader->sse, &input, &event, &why) < 0)
            return llm_error_from_transport(llm_error, &why);
        if (event.data == NULL)
            return 0;
        if (take_event(reader, &event, llm_error) < 0)
            return -1;
    }
    return 0;
}

/*
 * The message as an object with one member, which is named after the event's type, or "error", with
 * its type, for an exception: services may define new ones.
 */
static int read_message(const struct event_stream_message *message, json_t **json_out,
                        struct llm_error *llm_error)
{
    json_auto_t *payload = NULL;
    bool is_error = text_equal(message->kind, "error");
    bool is_exception = text_equal(message->kind, "exception");

    if (!is_error && message->payload_len > 0 &&
        parse_answer(message->payload, message->payload_len, &payload, llm_error,
                     LLM_CAUSE_CONNECTION) < 0)
        return -1;
    if (!json_is_object(payload)) {
        json_decref(payload);
        payload = json_object();
    }
    if (is_error)
        json_put_text(payload, "message", message->words);
    if (is_error || is_exception)
        json_put_text(payload, "type", message->type);
    *json_out = json_object();
    json_put(*json_out, is_error || is_exception ? "error" : message->type, json_incref(payload));
    return 0;
}

static int take_frames(struct answer_reader *reader, const char *bytes, size_t len,
                       struct llm_error *llm_error)
{
    struct event_stream_input input = {bytes, len};
    struct event_stream_message message = {.payload = NULL};
    struct error why = ERROR_INIT;

    while (!reader->is_done) {
        json_auto_t *json = NULL;

        if (event_stream_next(&reader->frames, &input, &message, &why) < 0)
            return why.code == ERROR_INVALID
                       ? llm_error_set(llm_error, LLM_CAUSE_CONNECTION,
                                       "Connection error: the model's answer is damaged: %s",
                                       why.message)
                       : llm_error_from_transport(llm_error, &why);
        if (message.payload == NULL)
            return 0;
        if (read_message(&message, &json, llm_error) < 0 || take_piece(reader, json, llm_error) < 0)
            return -1;
    }
    return 0;
}

static int take_stream(struct answer_reader *reader, const char *bytes, size_t len,
                       struct llm_error *llm_error)
{
    return reader->kind == ANSWER_FRAMES ? take_frames(reader, bytes, len, llm_error)
                                         : take_events(reader, bytes, len, llm_error);
}

static const struct {
    const char *type;
    enum answer_kind kind;
} stream_types[] = {
    {"text/event-stream", ANSWER_EVENTS},
    {"application/vnd.amazon.eventstream", ANSWER_FRAMES},
};

static enum answer_kind kind_of(const struct http_call *http)
{
    const char *type = http_reply_header(http, "Content-Type");

    if (http_status(http) >= STATUS_REDIRECT || type == NULL)
        return ANSWER_WHOLE;
    for (size_t i = 0; i < ARRAY_SIZE(stream_types); i++) {
        if (strncasecmp(type, stream_types[i].type, strlen(stream_types[i].type)) == 0)
            return stream_types[i].kind;
    }
    return ANSWER_WHOLE;
}

static void take_id(const struct http_call *http, const struct answer_reader *reader)
{
    const char *header = reader->format->id_header;
    const char *id = header != NULL ? http_reply_header(http, header) : NULL;
    json_auto_t *text = json_text_of(id);

    response_builder_set_once(&reader->builder->response_id, text);
}

static void begin_reading(const struct http_call *http, struct answer_reader *reader)
{
    reader->kind = kind_of(http);
    take_id(http, reader);
}

/*
 * Waits for the first bytes. An answer that is not there soon may take minutes, in which the unused
 * pages of the stack are not kept. A quick answer does not pay for pages that are touched again.
 */
static int read_first(struct http_call *http, bool releases_stack, const char **bytes_out,
                      size_t *len_out, struct error *err)
{
    struct error late = ERROR_INIT;

    if (!releases_stack)
        return http_call_read(http, bytes_out, len_out, err);
    if (http_call_read_until(http, clock_monotonic_ms() + LONG_WAIT_MS, bytes_out, len_out,
                             &late) == 0)
        return 0;
    /* A call that is over has the same error again. */
    process_release_stack();
    return http_call_read(http, bytes_out, len_out, err);
}

/* Reads the whole answer: stream pieces as they arrive, anything else into one buffer. */
static int read_bytes(struct http_call *http, struct answer_reader *reader,
                      struct llm_error *llm_error)
{
    struct error why = ERROR_INIT;
    const char *bytes = NULL;
    size_t len = 0;
    bool is_first = true;

    while (!reader->is_done) {
        if ((is_first ? read_first(http, reader->releases_stack, &bytes, &len, &why)
                      : http_call_read(http, &bytes, &len, &why)) < 0)
            return llm_error_from_transport(llm_error, &why);
        if (is_first)
            begin_reading(http, reader);
        is_first = false;
        if (len == 0)
            return 0;
        if (reader->kind == ANSWER_WHOLE)
            strbuf_append_bytes(&reader->whole, bytes, len);
        else if (take_stream(reader, bytes, len, llm_error) < 0)
            return -1;
        else if (!reader->is_done)
            crash_point(reader->crash, CRASH_LLM_HALF);
    }
    return 0;
}

/* Some servers stream under another content type. */
static bool looks_like_stream(const struct strbuf *whole)
{
    return text_starts_with(whole->text, "data:") || text_starts_with(whole->text, ": ") ||
           text_starts_with(whole->text, "event:");
}

static int take_whole(struct http_call *http, struct answer_reader *reader,
                      struct llm_error *llm_error)
{
    json_auto_t *json = NULL;
    const char *type = http_reply_header(http, "Content-Type");
    const struct strbuf *whole = &reader->whole;

    if (looks_like_stream(whole)) {
        reader->kind = ANSWER_EVENTS;
        return take_stream(reader, whole->text, whole->len, llm_error);
    }
    if (whole->len == 0)
        return llm_error_set(llm_error, LLM_CAUSE_NO_RESPONSE, "The model's answer is empty.");
    if (type != NULL && strncasecmp(type, "text/html", strlen("text/html")) == 0)
        return llm_error_set(llm_error, LLM_CAUSE_API,
                             "The model's server answered with a web page: is the base URL right?");
    if (parse_answer(whole->text, whole->len, &json, llm_error, LLM_CAUSE_CONNECTION) < 0)
        return -1;
    return reader->format->read_answer(reader->builder, json, llm_error);
}

/* A stream that ends without its end marker was cut off, whatever was received. */
static int check_end(const struct answer_reader *reader, struct llm_error *llm_error)
{
    if (reader->kind == ANSWER_WHOLE || reader->is_done || reader->builder->finish_reason.len > 0)
        return 0;
    return llm_error_set(llm_error, LLM_CAUSE_CONNECTION,
                         "Connection error: the model's answer broke off in the middle.");
}

static void take_cost(const struct http_call *http, struct response_builder *builder)
{
    const char *text = http_reply_header(http, "x-litellm-response-cost");
    char *end = NULL;
    double cost = 0;

    if (text == NULL || text[0] == '\0')
        return;
    cost = strtod(text, &end);
    if (*end == '\0' && cost >= 0 && cost < 1e6)
        builder->usage.cost = cost;
}

static int read_refusal(const struct http_call *http, const struct answer_reader *reader,
                        struct llm_error *llm_error)
{
    const struct llm_format *format = reader->format;
    const struct strbuf *whole = &reader->whole;
    const char *type =
        format->error_header != NULL ? http_reply_header(http, format->error_header) : NULL;

    if (type != NULL)
        (void)llm_error_from_typed_answer(llm_error, http_status(http), type, whole->text,
                                          whole->len);
    else
        (void)format->read_error(llm_error, http_status(http), whole->text, whole->len);
    if (http_retry_after_ms(http) >= 0)
        llm_error->retry_after_ms = http_retry_after_ms(http);
    return -1;
}

static int read_answer(struct http_call *http, struct answer_reader *reader,
                       struct llm_error *llm_error)
{
    long status = 0;

    if (read_bytes(http, reader, llm_error) < 0)
        return -1;
    status = http_status(http);
    if (status < STATUS_OK || status >= STATUS_REDIRECT)
        return read_refusal(http, reader, llm_error);
    if (reader->kind == ANSWER_WHOLE && take_whole(http, reader, llm_error) < 0)
        return -1;
    take_cost(http, reader->builder);
    return check_end(reader, llm_error);
}

/* Sends the request and reads the answer; the caller frees the call, NULL if it was not started. */
static int ask(const struct outgoing *outgoing, struct answer_reader *reader,
               struct http_call **http_out, struct llm_error *llm_error)
{
    struct error why = ERROR_INIT;
    int rc = 0;

    if (send_request(outgoing, http_out, &why) < 0)
        return llm_error_from_transport(llm_error, &why);
    llm_call_watch(outgoing->call, *http_out);
    rc = read_answer(*http_out, reader, llm_error);
    llm_call_watch(outgoing->call, NULL);
    return rc;
}

/* The same request in what is left of its time, this time with a body that is kept. */
static void begin_again(struct outgoing *outgoing, int64_t began_ms)
{
    int64_t passed_ms = clock_monotonic_ms() - began_ms;
    int64_t left_ms = outgoing->plan.timeout_ms - passed_ms;

    outgoing->keeps_body = true;
    if (outgoing->plan.timeout_ms > 0)
        outgoing->plan.timeout_ms = left_ms > 0 ? left_ms : 1;
}

int llm_http_attempt(struct llm_call *call, const struct llm_request *request,
                     const struct llm_route *route, const struct llm_plan *plan,
                     struct response_builder *builder, struct llm_error *llm_error)
{
    CLEANUP(http_call_freep) struct http_call *http = NULL;
    CLEANUP(answer_reader_done) struct answer_reader reader = {
        .format = llm_format_of(route->format),
        .builder = builder,
        .listener = request->listener,
        .crash = call->llm->options.crash,
        .releases_stack = request->releases_stack,
        .sse = SSE_INIT(STREAM_EVENT_MAX_BYTES),
        .frames = EVENT_STREAM_INIT(STREAM_EVENT_MAX_BYTES),
        .whole = STRBUF_INIT};
    struct outgoing outgoing = {.call = call, .request = request, .route = route, .plan = *plan};
    int64_t began_ms = clock_monotonic_ms();
    int rc = ask(&outgoing, &reader, &http, llm_error);

    if (rc < 0 && http != NULL && http_has_lost_body(http)) {
        begin_again(&outgoing, began_ms);
        http_call_freep(&http);
        rc = ask(&outgoing, &reader, &http, llm_error);
    }
    if (rc < 0)
        llm_route_explain(route, llm_error);
    /* The end of a stream is often already in flight: keep the connection for reuse. */
    if (rc == 0)
        http_call_drain(TAKE_PTR(http));
    return rc;
}
