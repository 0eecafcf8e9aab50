#include "client/mcp.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/cancel.h"
#include "client/http.h"
#include "client/mcp_refusal.h"
#include "client/sse.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_progress.h"

enum {
    MAX_REPLY_BYTES = 4 * 1024 * 1024,
    STREAM_MAX_BYTES = 1024 * 1024 * 1024, /* of a stream, all its messages together */
    OWN_HEADERS = 5,
    STATUS_ERROR = 400,
    STATUS_LAST = 299,
    STATUS_NOT_FOUND = 404,
    STATUS_SERVER_ERROR = 500,
    QUESTIONS_MAX = 1000, /* of the server, during one call: one in 3.6 s of the longest */
    /* Before a reply's stream is resumed, unless the server asks for more or less. */
    RESUME_MS = 1000,
    RESUME_MIN_MS = 100,
    RESUMES_IN_VAIN_MAX = 5, /* one after the other, without a new event */
};

struct mcp {
    struct mcp_options options;
    int64_t deadline_ms;
    int64_t last_ms;                        /* until which progress renews the deadline */
    const struct mcp_progress_watch *watch; /* of the running request; NULL: none */
    json_int_t token;                       /* its reports have it */
    char *session;            /* streamable HTTP: session id from the server, or NULL */
    char *version;            /* of the protocol, as the server chose it; NULL: not known */
    char *endpoint;           /* URL for messages */
    struct http_call *stream; /* HTTP+SSE: source of the replies */
    struct sse events;
    struct sse_input input; /* received but unread part of the stream */
    bool has_changed_tools;
    size_t n_questions;
    struct cancel own_cancel;
    struct cancel *cancel;
};

void mcp_free(struct mcp *mcp)
{
    if (mcp == NULL)
        return;
    http_call_free(mcp->stream);
    sse_done(&mcp->events);
    mem_free(mcp->session);
    mem_free(mcp->version);
    mem_free(mcp->endpoint);
    cancel_done(&mcp->own_cancel);
    mem_free(mcp);
}

void mcp_set_timeout(struct mcp *mcp, int64_t timeout_ms)
{
    mcp->deadline_ms = clock_monotonic_ms() + timeout_ms;
    mcp->last_ms = mcp->deadline_ms;
}

void mcp_set_version(struct mcp *mcp, const char *version)
{
    mem_free(mcp->version);
    mcp->version = mem_dup_text(version);
}

const char *mcp_session_name(const struct mcp *mcp)
{
    return mcp->session;
}

const char *mcp_version(const struct mcp *mcp)
{
    return mcp->version;
}

void mcp_set_session(struct mcp *mcp, const char *name)
{
    mem_free(mcp->session);
    mcp->session = name != NULL ? mem_dup_text(name) : NULL;
}

bool mcp_is_connected(const struct mcp *mcp)
{
    return !mcp->options.uses_sse || (mcp->stream != NULL && !http_is_over_within(mcp->stream, 0));
}

void mcp_set_options(struct mcp *mcp, const struct mcp_options *options)
{
    mcp->options = *options;
    mcp->cancel = options->cancel != NULL ? options->cancel : &mcp->own_cancel;
}

void mcp_cancel(struct mcp *mcp)
{
    cancel_set(mcp->cancel);
}

void mcp_resume(struct mcp *mcp, int64_t timeout_ms)
{
    cancel_reset(mcp->cancel);
    mcp_set_timeout(mcp, timeout_ms);
}

bool mcp_take_tools_changed(struct mcp *mcp)
{
    bool has_changed = mcp->has_changed_tools;

    mcp->has_changed_tools = false;
    return has_changed;
}

void mcp_freep(struct mcp **mcp)
{
    mcp_free(*mcp);
    *mcp = NULL;
}

/* A request to the server. */
struct to_server {
    const char *method;
    const char *url;
    const char *body;        /* NULL: none */
    const char *after_event; /* the id of the event from which a stream goes on; NULL: none */
};

static int start_call(struct mcp *mcp, const struct to_server *what, struct http_call **call_out,
                      struct error *err)
{
    struct http_header headers[MCP_MAX_HEADERS + OWN_HEADERS] = {
        {"Accept", text_equal(what->method, "GET") ? "text/event-stream"
                                                   : "application/json, text/event-stream"}};
    size_t n = 1;
    int64_t now_ms = clock_monotonic_ms();
    bool is_stream = mcp->options.uses_sse && what->body == NULL;

    if (cancel_enter(mcp->cancel, NULL, err) < 0)
        return -1;
    if (mcp->deadline_ms <= now_ms)
        return error_set(err, ERROR_TIMEOUT, "The server took too long");
    if (mcp->session != NULL)
        headers[n++] = (struct http_header){"Mcp-Session-Id", mcp->session};
    if (mcp->version != NULL)
        headers[n++] = (struct http_header){"MCP-Protocol-Version", mcp->version};
    if (what->after_event != NULL)
        headers[n++] = (struct http_header){"Last-Event-ID", what->after_event};
    for (size_t i = 0; i < MCP_MAX_HEADERS && mcp->options.headers[i].name != NULL; i++)
        headers[n++] = mcp->options.headers[i];
    headers[n] = (struct http_header){NULL, NULL};
    return http_start(
        mcp->options.http,
        &(struct http_request){.method = what->method,
                               .url = what->url,
                               .headers = headers,
                               .body = what->body,
                               .body_len = what->body != NULL ? strlen(what->body) : 0,
                               .timeout_ms = is_stream ? 0 : mcp->last_ms - now_ms,
                               .max_reply_bytes = STREAM_MAX_BYTES,
                               .address_of = mcp->options.address_of,
                               .stream = true},
        call_out, err);
}

static int check_status(const struct mcp *mcp, const struct http_call *call, struct error *err)
{
    long status = http_status(call);
    bool is_in_session = mcp->session != NULL || (mcp->stream != NULL && call != mcp->stream);

    if (status <= STATUS_LAST)
        return 0;
    if (status == STATUS_NOT_FOUND && is_in_session)
        return error_set(err, ERROR_STALE, "The server does not know the session any more");
    if (status < STATUS_ERROR)
        return error_set(err, ERROR_INVALID, "The server redirects to another address (HTTP %ld)",
                         status);
    return mcp_refusal_set(call, err);
}

static bool is_event_stream(const struct http_call *call)
{
    const char *type = http_reply_header(call, "Content-Type");

    return type != NULL && strncasecmp(type, "text/event-stream", strlen("text/event-stream")) == 0;
}

/* A reply that is a stream of events, and what was read of it. */
struct event_source {
    struct http_call *call;
    struct sse *events;
    struct sse_input *input;
};

/* Reads what comes next, within the time for all calls. */
static int read_bytes(const struct mcp *mcp, struct http_call *call, struct sse_input *input,
                      struct error *err)
{
    if (http_call_read_until(call, mcp->deadline_ms, &input->bytes, &input->len, err) == 0)
        return 0;
    return err->code == ERROR_TIMEOUT ? error_set(err, ERROR_TIMEOUT, "The server took too long")
                                      : -1;
}

/* The next event of a stream; data NULL at its end. */
static int next_event(const struct mcp *mcp, const struct event_source *source,
                      struct sse_event *event, struct error *err)
{
    do {
        if (sse_next(source->events, source->input, event, err) < 0)
            return -1;
        if (event->data != NULL)
            return 0;
        if (read_bytes(mcp, source->call, source->input, err) < 0)
            return -1;
    } while (source->input->len > 0);
    return 0;
}

static int post(struct mcp *mcp, const json_t *message, json_int_t id, json_t **reply_out,
                struct error *err);

/* Answers a question of the server. */
static int answer_server(struct mcp *mcp, const json_t *answer, struct error *err)
{
    json_t *none = NULL;

    if (++mcp->n_questions > QUESTIONS_MAX)
        return error_set(err, ERROR_INVALID, "The server asks the client too much");
    return post(mcp, answer, -1, &none, err);
}

/*
 * The server has the request that it is to reply to: a refusal of another message does not mean
 * that it has ignored that one.
 */
static int refused_meanwhile(struct error *err)
{
    if (err->code == ERROR_STALE || err->code == ERROR_UNAUTHENTICATED)
        err->code = ERROR_INVALID;
    return -1;
}

static void renew_deadline(struct mcp *mcp)
{
    int64_t renewed_ms = clock_monotonic_ms() + mcp->watch->silence_ms;

    mcp->deadline_ms = renewed_ms < mcp->last_ms ? renewed_ms : mcp->last_ms;
}

static void take_progress(struct mcp *mcp, const struct mcp_progress *progress)
{
    renew_deadline(mcp);
    mcp->watch->progressed(mcp->watch->owner, progress);
}

/* Takes a message of the server that is not a reply. */
static int take_message(struct mcp *mcp, const json_t *message, struct error *err)
{
    json_auto_t *answer = mcp_answer(message);
    struct mcp_progress progress = {.message = ""};

    if (text_equal(json_text_or(message, "method", ""), "notifications/tools/list_changed"))
        mcp->has_changed_tools = true;
    if (mcp->watch != NULL && mcp_progress_of(message, mcp->token, &progress))
        take_progress(mcp, &progress);
    if (answer == NULL)
        return 0;
    return answer_server(mcp, answer, err) < 0 ? refused_meanwhile(err) : 0;
}

/*
 * Reads the server's next message; the call is the current one again if that was a question. An
 * event without data only gives the client an id from which it can resume.
 */
static int next_message(struct mcp *mcp, const struct event_source *source, json_t **message_out,
                        struct error *err)
{
    struct sse_event event = {NULL, NULL, 0};

    do {
        if (next_event(mcp, source, &event, err) < 0)
            return -1;
        if (event.data == NULL)
            return error_set(err, ERROR_UNAVAILABLE, "The server ended the stream without a reply");
    } while (!text_equal(event.name, "message") || event.len == 0);
    if (json_parse(event.data, event.len, message_out, err) < 0)
        return error_wrap(err, "The server's event is not JSON");
    if (json_object_get(*message_out, "method") == NULL)
        return 0;
    return take_message(mcp, *message_out, err) < 0 ? -1
                                                    : cancel_enter(mcp->cancel, source->call, err);
}

/* Reads until the reply with that id arrives. */
static int find_reply(struct mcp *mcp, const struct event_source *source, json_int_t id,
                      json_t **reply_out, struct error *err)
{
    for (;;) {
        json_auto_t *message = NULL;

        if (next_message(mcp, source, &message, err) < 0)
            return -1;
        if (json_object_get(message, "method") == NULL && json_int_or(message, "id", -1) == id) {
            *reply_out = json_incref(message);
            return 0;
        }
    }
}

/* input: the first part of the reply. */
static int read_whole(const struct mcp *mcp, struct http_call *call, struct sse_input *input,
                      json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    while (input->len > 0) {
        if (text.len + input->len > MAX_REPLY_BYTES)
            return error_set(err, ERROR_TOO_LARGE, "The server's reply is longer than %d bytes",
                             MAX_REPLY_BYTES);
        strbuf_append_bytes(&text, input->bytes, input->len);
        if (read_bytes(mcp, call, input, err) < 0)
            return -1;
    }
    if (json_parse(text.text, text.len, reply_out, err) < 0)
        return error_wrap(err, "The server's reply is not JSON");
    return 0;
}

static void keep_session(struct mcp *mcp, const struct http_call *call)
{
    const char *session = http_reply_header(call, "Mcp-Session-Id");

    if (session != NULL && mcp->session == NULL)
        mcp->session = mem_dup_text(session);
}

/* --- a reply's stream that the server or the network has ended --- */

/* Reads the stream of a call that resumes it. */
static int read_resumed(struct mcp *mcp, struct http_call *call, struct sse *events, json_int_t id,
                        json_t **reply_out, struct error *err)
{
    struct sse_input input = {NULL, 0};

    if (cancel_enter(mcp->cancel, call, err) < 0 || read_bytes(mcp, call, &input, err) < 0)
        return -1;
    if (check_status(mcp, call, err) < 0) {
        /* A server that is out of order is asked again. */
        err->code = http_status(call) >= STATUS_SERVER_ERROR ? ERROR_UNAVAILABLE : err->code;
        return -1;
    }
    if (!is_event_stream(call))
        return error_set(err, ERROR_INVALID, "The server did not resume the stream of its reply");
    return find_reply(mcp, &(struct event_source){call, events, &input}, id, reply_out, err);
}

static int64_t time_to_resume_ms(const struct sse *events)
{
    if (events->retry_ms < 0)
        return RESUME_MS;
    return events->retry_ms < RESUME_MIN_MS ? RESUME_MIN_MS : events->retry_ms;
}

/* Waits, and asks for the events after the newest one. events: what came so far, and comes. */
static int resume_once(struct mcp *mcp, struct sse *events, json_int_t id, json_t **reply_out,
                       struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(mem_freep) char *after = mem_dup_text(events->last_id.text);
    int64_t left_ms = mcp->deadline_ms - clock_monotonic_ms();
    int64_t wait_ms = time_to_resume_ms(events);
    int rc = -1;

    if (wait_ms >= left_ms)
        return error_set(err, ERROR_TIMEOUT, "The server ended the stream, and took too long");
    sse_restart(events);
    if (cancel_wait(mcp->cancel, wait_ms, err) < 0 ||
        start_call(mcp, &(struct to_server){"GET", mcp->options.url, NULL, after}, &call, err) < 0)
        return -1;
    rc = read_resumed(mcp, call, events, id, reply_out, err);
    cancel_leave(mcp->cancel);
    return rc;
}

/*
 * Resumes the stream until the reply comes. Source: Model Context Protocol, "Resumability and
 * Redelivery", revision 2025-11-25.
 */
static int resume(struct mcp *mcp, struct sse *events, json_int_t id, json_t **reply_out,
                  struct error *err)
{
    int rc = -1;

    for (int n_in_vain = 0; rc < 0 && n_in_vain < RESUMES_IN_VAIN_MAX; n_in_vain++) {
        CLEANUP(mem_freep) char *before = mem_dup_text(events->last_id.text);

        rc = resume_once(mcp, events, id, reply_out, err);
        if (rc < 0 && err->code != ERROR_UNAVAILABLE)
            return refused_meanwhile(err);
        if (!text_equal(before, events->last_id.text))
            n_in_vain = -1;
    }
    return rc;
}

static int read_events(struct mcp *mcp, struct http_call *call, struct sse_input *input,
                       json_int_t id, json_t **reply_out, struct error *err)
{
    CLEANUP(sse_done) struct sse events = SSE_INIT(MAX_REPLY_BYTES);
    int rc = find_reply(mcp, &(struct event_source){call, &events, input}, id, reply_out, err);

    if (rc == 0 || err->code != ERROR_UNAVAILABLE || events.last_id.len == 0)
        return rc;
    return resume(mcp, &events, id, reply_out, err);
}

static int read_reply(struct mcp *mcp, struct http_call *call, json_int_t id, json_t **reply_out,
                      struct error *err)
{
    struct sse_input input = {NULL, 0};

    if (cancel_enter(mcp->cancel, call, err) < 0 || read_bytes(mcp, call, &input, err) < 0 ||
        check_status(mcp, call, err) < 0)
        return -1;
    keep_session(mcp, call);
    if (id < 0)
        return 0;
    if (is_event_stream(call))
        return read_events(mcp, call, &input, id, reply_out, err);
    return read_whole(mcp, call, &input, reply_out, err);
}

/* Posts a message; id < 0: a notification, whose reply is ignored. */
static int post(struct mcp *mcp, const json_t *message, json_int_t id, json_t **reply_out,
                struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(mem_freep) char *body = json_to_text(message);
    int rc = -1;

    if (start_call(mcp, &(struct to_server){"POST", mcp->endpoint, body, NULL}, &call, err) < 0)
        return -1;
    rc = read_reply(mcp, call, id, reply_out, err);
    cancel_leave(mcp->cancel);
    return rc;
}

/* Length of "https://host:1" in "https://host:1/a?b". */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");

    return host != NULL ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
}

/* Takes the URL for messages from the server: a path, or a URL of the same origin. */
static int take_endpoint(struct mcp *mcp, const char *named, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    size_t origin = origin_length(mcp->options.url);

    if (named[0] == '/' && named[1] != '/') {
        strbuf_append_bytes(&url, mcp->options.url, origin);
        strbuf_append(&url, named);
    } else if (origin > 0 && origin_length(named) == origin &&
               strncasecmp(named, mcp->options.url, origin) == 0) {
        strbuf_append(&url, named);
    } else {
        return error_set(err, ERROR_INVALID, "The server named an endpoint of another origin");
    }
    mem_free(mcp->endpoint);
    mcp->endpoint = strbuf_take(&url);
    return 0;
}

static void close_stream(struct mcp *mcp)
{
    http_call_free(mcp->stream);
    mcp->stream = NULL;
    mcp->input = (struct sse_input){NULL, 0};
    sse_done(&mcp->events);
    mcp->events = (struct sse)SSE_INIT(MAX_REPLY_BYTES);
}

static int open_stream(struct mcp *mcp, struct error *err)
{
    struct sse_event event = {NULL, NULL, 0};
    struct event_source source = {NULL, &mcp->events, &mcp->input};

    if (start_call(mcp, &(struct to_server){"GET", mcp->options.url, NULL, NULL}, &mcp->stream,
                   err) < 0 ||
        cancel_enter(mcp->cancel, mcp->stream, err) < 0 ||
        read_bytes(mcp, mcp->stream, &mcp->input, err) < 0 ||
        check_status(mcp, mcp->stream, err) < 0)
        return -1;
    if (!is_event_stream(mcp->stream))
        return error_set(err, ERROR_INVALID, "The server did not reply with an event stream");
    source.call = mcp->stream;
    do {
        if (next_event(mcp, &source, &event, err) < 0)
            return -1;
        if (event.data == NULL)
            return error_set(err, ERROR_UNAVAILABLE, "The server ended the stream");
    } while (!text_equal(event.name, "endpoint"));
    return take_endpoint(mcp, event.data, err);
}

struct mcp *mcp_new(const struct mcp_options *options)
{
    struct mcp *mcp = NEW(struct mcp);

    cancel_init(&mcp->own_cancel);
    mcp_set_options(mcp, options);
    mcp_set_timeout(mcp, options->timeout_ms);
    mcp->events = (struct sse)SSE_INIT(MAX_REPLY_BYTES);
    mcp->endpoint = mem_dup_text(options->url);
    return mcp;
}

int mcp_connect(struct mcp *mcp, struct error *err)
{
    int rc = 0;

    if (!mcp->options.uses_sse)
        return 0;
    close_stream(mcp);
    rc = open_stream(mcp, err);
    cancel_leave(mcp->cancel);
    return rc;
}

int mcp_tell(struct mcp *mcp, const json_t *message, struct error *err)
{
    json_t *none = NULL;

    return post(mcp, message, -1, &none, err);
}

int mcp_end(struct mcp *mcp, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct sse_input ignored = {NULL, 0};
    int rc = -1;

    if (start_call(mcp, &(struct to_server){"DELETE", mcp->endpoint, NULL, NULL}, &call, err) < 0)
        return -1;
    if (cancel_enter(mcp->cancel, call, err) == 0 && read_bytes(mcp, call, &ignored, err) == 0)
        rc = check_status(mcp, call, err);
    cancel_leave(mcp->cancel);
    return rc;
}

static int read_stream(struct mcp *mcp, json_int_t id, json_t **reply_out, struct error *err)
{
    const struct event_source source = {mcp->stream, &mcp->events, &mcp->input};
    int rc = -1;

    if (cancel_enter(mcp->cancel, mcp->stream, err) < 0)
        return -1;
    rc = find_reply(mcp, &source, id, reply_out, err);
    cancel_leave(mcp->cancel);
    return rc;
}

int mcp_ask(struct mcp *mcp, const json_t *request, json_t **reply_out, struct error *err)
{
    json_int_t id = json_int_or(request, "id", -1);

    mcp->n_questions = 0;
    if (!mcp->options.uses_sse)
        return post(mcp, request, id, reply_out, err);
    if (mcp_tell(mcp, request, err) < 0)
        return -1;
    return read_stream(mcp, id, reply_out, err);
}

int mcp_ask_watching(struct mcp *mcp, const json_t *request, const struct mcp_progress_watch *watch,
                     json_t **reply_out, struct error *err)
{
    const json_t *meta = json_object_get(json_object_get(request, "params"), "_meta");
    int rc = -1;

    mcp_set_timeout(mcp, MCP_CALL_MAX_MS);
    mcp->watch = watch;
    mcp->token = json_int_or(meta, "progressToken", -1);
    renew_deadline(mcp);
    rc = mcp_ask(mcp, request, reply_out, err);
    mcp->watch = NULL;
    return rc;
}
