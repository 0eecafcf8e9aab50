#include "unit/gateway/bash/played_sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "client/runtime_api.h"
#include "gateway/core/error_frame.h"

enum { MS_PER_S = 1000, NS_PER_MS = 1000000, BEGIN_MS = 1000000 };

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as in the header */
struct played_sandbox played = {.page = STRBUF_INIT};

/* POSIX.1-2017, clock_gettime(): both clocks stand still. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = played.now_ms / MS_PER_S,
                             .tv_nsec = played.now_ms % MS_PER_S * NS_PER_MS};
    return 0;
}

void ticker_advance(struct ticker *ticker, int64_t in_ms)
{
    (void)ticker;
    played.tick_in_ms = in_ms;
}

/* --- requests --- */

static struct http_call *note(struct played_request request)
{
    assert_true(played.n_requests < PLAYED_REQUESTS);
    played.requests[played.n_requests++] = request;
    return (struct http_call *)(void *)&played;
}

static int begin(struct async_call *call, struct played_request request, struct error *err)
{
    if (played.is_unable)
        return error_set(err, ERROR_UNAVAILABLE, "no descriptor is free");
    request.call = call;
    assert_null(call->call);
    call->call = note(request);
    return 0;
}

int bash_request_newest(const struct bash_target *target, struct async_call *call,
                        struct error *err)
{
    assert_non_null(target->endpoint->url);
    return begin(call, (struct played_request){.kind = PLAYED_NEWEST}, err);
}

int bash_request_after(const struct bash_target *target, struct async_call *call, int64_t after_us,
                       int64_t wait_ms, struct error *err)
{
    assert_non_null(target->endpoint->url);
    return begin(
        call,
        (struct played_request){.kind = PLAYED_AFTER, .after_us = after_us, .wait_ms = wait_ms},
        err);
}

int bash_request_start(const struct bash_target *target, struct async_call *call, const char *body,
                       struct error *err)
{
    struct played_request request = {.kind = PLAYED_POST};

    assert_non_null(target->endpoint->url);
    (void)snprintf(request.text, sizeof(request.text), "%s", body);
    return begin(call, request, err);
}

int runtime_api_begin_find(const struct runtime_api *api, const char *session_id,
                           int64_t timeout_ms, struct http_call **call_out, struct error *err)
{
    struct played_request request = {.kind = PLAYED_FIND, .wait_ms = timeout_ms};

    assert_string_equal(api->url, "http://runtime");
    assert_string_equal(api->socket, "/run/runtime");
    assert_int_equal(api->done_fd, 7);
    if (played.is_unable)
        return error_set(err, ERROR_UNAVAILABLE, "no descriptor is free");
    (void)snprintf(request.text, sizeof(request.text), "%s", session_id);
    *call_out = note(request);
    return 0;
}

int runtime_api_begin_start(const struct runtime_api *api, const struct sandbox_start *start,
                            struct http_call **call_out, struct error *err)
{
    struct played_request request = {
        .kind = PLAYED_START, .wait_ms = start->wait_ms, .is_doubted = start->is_doubted};

    assert_string_equal(api->url, "http://runtime");
    assert_string_equal(start->image, "image:1");
    assert_null(start->conversation_id);
    if (played.is_unable)
        return error_set(err, ERROR_UNAVAILABLE, "no descriptor is free");
    (void)snprintf(request.text, sizeof(request.text), "%s of %s", start->session_id,
                   start->owner_id);
    *call_out = note(request);
    return 0;
}

void async_call_adopt(struct async_call *call, struct async_http *http, struct http_call *started)
{
    assert_int_equal(http->done_fd, 7);
    assert_null(call->call);
    call->call = started;
    played.requests[played.n_requests - 1].call = call;
}

bool async_call_is_busy(const struct async_call *call)
{
    return call->call != NULL;
}

void async_call_drop(struct async_call *call)
{
    played.n_dropped += call->call != NULL;
    call->call = NULL;
}

/* --- answers --- */

int runtime_api_read_start(const struct http_call *call, struct sandbox_endpoint *endpoint_out,
                           struct error *err)
{
    (void)call;
    (void)err;
    endpoint_out->url = mem_dup_text(played.url);
    (void)snprintf(endpoint_out->runtime_id, sizeof(endpoint_out->runtime_id), "%s",
                   played.runtime_id);
    secret_set(&endpoint_out->call_key, played.call_key);
    return 0;
}

int bash_request_read_page(const struct http_call *answer, const struct error *failure,
                           json_t **page_out, struct error *err)
{
    (void)answer;
    played.now_ms += played.parse_ms;
    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    return json_parse(played.page.text, played.page.len, page_out, err);
}

int bash_request_read_accepted(const struct http_call *answer, const struct error *failure,
                               struct error *err)
{
    (void)answer;
    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    return 0;
}

/* --- sockets --- */

void connection_wake(struct connection *connection)
{
    connection->is_waiting = true;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    connection->end = end;
}

void error_frame_send(struct connection *connection, const char *code, const char *detail)
{
    played.n_errors++;
    played.told = connection;
    (void)snprintf(played.code, sizeof(played.code), "%s", code);
    (void)snprintf(played.detail, sizeof(played.detail), "%s", detail);
}

/* --- the test's side --- */

void played_reset(struct played_feeds *parts)
{
    static const struct secret key = SECRET_INIT;

    strbuf_done(&played.page);
    played = (struct played_sandbox){.now_ms = BEGIN_MS,
                                     .page = STRBUF_INIT,
                                     .url = "http://10.1.2.3:8000",
                                     .runtime_id = "r-1",
                                     .call_key = "call-key"};
    *parts = (struct played_feeds){.http = {.done_fd = 7}};
    parts->principal = (struct principal){.kind = PRINCIPAL_USER_KEY};
    (void)snprintf(parts->principal.runtime_session, sizeof(parts->principal.runtime_session),
                   "s-1");
    (void)snprintf(parts->principal.user_id.text, sizeof(parts->principal.user_id.text), "u-1");
    parts->feeds = (struct bash_feeds){
        .http = &parts->http,
        .ticker = &parts->ticker,
        .max_readers = 2,
        .sandboxes = {
            .url = "http://runtime", .socket = "/run/runtime", .key = &key, .image = "image:1"}};
    played_page(1, 0);
}

void played_done(void)
{
    strbuf_done(&played.page);
}

void played_page(int64_t first_us, int n)
{
    json_auto_t *page = json_object();
    json_t *items = json_array();

    for (int i = 0; i < n; i++) {
        json_t *event = json_object();
        char stamp[CLOCK_TEXT_BYTES];

        clock_format_z(first_us + i, stamp);
        json_put_text(event, "timestamp", stamp);
        json_push(items, event);
    }
    json_put(page, "items", items);
    strbuf_reset(&played.page);
    json_append_text(&played.page, page);
}

struct played_request *played_last(enum played_kind kind)
{
    struct played_request *last = &played.requests[played.n_requests - 1];

    assert_true(played.n_requests > 0);
    assert_int_equal(last->kind, kind);
    return last;
}

void played_expect(size_t n_requests)
{
    assert_int_equal(played.n_requests, n_requests);
}

static const struct http_call *some_answer(struct async_call *call)
{
    assert_non_null(call->call);
    call->call = NULL;
    return (const struct http_call *)(const void *)&played;
}

void played_answer(struct async_call *call)
{
    call->done(call, some_answer(call), NULL);
}

void played_fail(struct async_call *call, enum error_code code, const char *message)
{
    struct error err = ERROR_INIT;

    error_ignore(error_set(&err, code, "%s", message), "it is the answer");
    call->done(call, some_answer(call), &err);
}

void played_expect_error(const struct connection *told, const char *code, const char *detail)
{
    assert_ptr_equal(played.told, told);
    assert_string_equal(played.code, code);
    assert_string_equal(played.detail, detail);
}
