#include "client/http.h"

#include <assert.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/direct_connections.h"
#include "client/http_call.h"
#include "client/transport.h"

/* A larger reading buffer is freed before the next wait. */
enum { READING_KEEP_BYTES = 16 * 1024, RETRY_AFTER_MAX_S = 30 * 24 * 3600 };

static_assert(HTTP_WAIT_MAX <= DIRECT_WAIT_MAX, "one poll is for all calls of a wait");

#define REPLY_DEFAULT_BYTES ((size_t)(8 * 1024 * 1024))

int http_open(struct http **http_out, struct error *err)
{
    return http_open_trusting(NULL, http_out, err);
}

int http_open_trusting(const char *ca_file, struct http **http_out, struct error *err)
{
    struct http *http = NULL;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_set(err, ERROR_INTERNAL, "libcurl cannot be set up");
    http = NEW(struct http);
    lock_init(&http->lock);
    if (ca_file != NULL)
        http->ca_file = mem_dup_text(ca_file);
    if (transport_start(http, err) < 0) {
        lock_done(&http->lock);
        mem_free(http->ca_file);
        mem_free(http);
        curl_global_cleanup();
        return -1;
    }
    *http_out = http;
    return 0;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    transport_stop(http);
    lock_done(&http->lock);
    mem_free(http->ca_file);
    mem_free(http);
    curl_global_cleanup();
}

void http_cancel_all(struct http *http)
{
    transport_cancel_all(http);
}

void http_trust_users(struct http *http)
{
    http->are_users_trusted = true;
}

bool http_reaches_private(const struct http *http, enum address_owner owner)
{
    return address_filter_allows_private(owner, http->are_users_trusted);
}

static struct http_call *http_call_new(struct http *http, const struct http_request *request)
{
    struct http_call *call = NEW(struct http_call);

    call->http = http;
    call->idle_timeout_ms = request->idle_timeout_ms;
    call->max_reply_bytes =
        request->max_reply_bytes > 0 ? request->max_reply_bytes : REPLY_DEFAULT_BYTES;
    call->allow_private = http_reaches_private(http, request->address_of);
    call->is_stream = request->stream;
    call->is_unix = request->unix_socket != NULL;
    call->sends_stream = request->send_stream;
    call->done_fd = request->done_fd;
    call->proof_fd = -1;
    if (request->proof_key != NULL && secret_is_set(request->proof_key))
        secret_set(&call->proof_key, secret_reveal(request->proof_key));
    call->active_ms = clock_monotonic_ms();
    call->deadline_ms =
        request->timeout_ms > 0 ? call->active_ms + request->timeout_ms : HTTP_NEVER;
    call->is_body_given = request->given_body != NULL && request->body_len > 0;
    if (request->given_body != NULL)
        call->request_body = request->given_body;
    else if (request->body != NULL)
        call->request_body = mem_dup_bytes(request->body, request->body_len);
    if (call->request_body != NULL)
        call->request_body_len = request->body_len;
    call->error = (struct error)ERROR_INIT;
    call->reply_headers = (struct strbuf)STRBUF_INIT;
    call->body = (struct strbuf)STRBUF_INIT;
    call->sending = (struct strbuf)STRBUF_INIT;
    call->head = (struct strbuf)STRBUF_INIT;
    call->reading = (struct strbuf)STRBUF_INIT;
    lock_init(&call->lock);
    condition_init(&call->changed);
    return call;
}

static void start_direct(struct http_call *call, const struct http_request *request,
                         const struct direct_target *target)
{
    call->direct = request->direct;
    direct_request_append_head(request, target, &call->head);
    direct_call_begin(call, &target->address);
}

static int start_in_transport(struct http_call *call, const struct http_request *request,
                              struct error *err)
{
    /* Such a call, too, wakes http_wait_any(). */
    if (request->direct != NULL && call->done_fd == 0 && !request->stream)
        call->done_fd = direct_connections_wake_fd(request->direct);
    call->easy = curl_easy_init();
    if (call->easy == NULL || call->done_fd < 0)
        return error_set(err, ERROR_INTERNAL, "libcurl cannot be set up");
    if (http_setup(call, request, err) < 0)
        return -1;
    if (secret_is_set(&call->proof_key) && transport_prepare_proof(call, request->url, err) < 0)
        return -1;
    /* The call is not shared yet, so no lock. */
    call->is_held = true;
    transport_command(call, TRANSPORT_BEGIN);
    return 0;
}

int http_start(struct http *http, const struct http_request *request, struct http_call **call_out,
               struct error *err)
{
    struct direct_target target = {.path = NULL};
    struct http_call *call = NULL;
    int rc = 0;

    if (request->address_of == ADDRESS_UNSTATED) {
        mem_free(request->given_body);
        return error_set(err, ERROR_INTERNAL, "the call does not say who chose its address");
    }
    call = http_call_new(http, request);
    if (request->direct != NULL && direct_request_is_possible(request, &target))
        start_direct(call, request, &target);
    else
        rc = start_in_transport(call, request, err);
    if (rc < 0) {
        http_call_destroy(call);
        return -1;
    }
    *call_out = call;
    return 0;
}

static int result_locked(const struct http_call *call, struct error *err) REQUIRES(call -> lock)
{
    if (call->error.code == ERROR_NONE)
        return 0;
    *err = call->error;
    return -1;
}

static bool wait_until_locked(struct http_call *call, int64_t until_ms) REQUIRES(call -> lock);

/*
 * Waits until the call may have changed; a direct call is driven by it. Returns false at until_ms,
 * which may be HTTP_NEVER.
 */
static bool wait_until_locked(struct http_call *call, int64_t until_ms)
{
    if (call->direct != NULL) {
        lock_release(&call->lock);
        direct_call_wait(call, until_ms);
        lock_take(&call->lock);
        return clock_monotonic_ms() < until_ms;
    }
    if (until_ms != HTTP_NEVER)
        return condition_wait_until(&call->changed, &call->lock, until_ms);
    condition_wait(&call->changed, &call->lock);
    return true;
}

static void wait_locked(struct http_call *call) REQUIRES(call -> lock);

static void wait_locked(struct http_call *call)
{
    (void)wait_until_locked(call, HTTP_NEVER);
}

int http_wait(struct http_call *call, struct error *err)
{
    int rc = 0;

    lock_take(&call->lock);
    while (!call->is_over)
        wait_locked(call);
    rc = result_locked(call, err);
    lock_release(&call->lock);
    return rc;
}

bool http_is_over_within(struct http_call *call, int64_t ms)
{
    int64_t deadline_ms = clock_monotonic_ms() + ms;
    bool in_time = true;
    bool is_over = false;

    lock_take(&call->lock);
    while (!call->is_over && in_time)
        in_time = wait_until_locked(call, deadline_ms);
    is_over = call->is_over;
    lock_release(&call->lock);
    return is_over;
}

static size_t find_over(struct http_call *const *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_over = false;

        lock_take(&calls[i]->lock);
        is_over = calls[i]->is_over;
        lock_release(&calls[i]->lock);
        if (is_over)
            return i;
    }
    return n;
}

int http_wake_fd(struct direct_connections *direct)
{
    return direct_connections_wake_fd(direct);
}

size_t http_wait_any(struct direct_connections *direct, struct http_call *const *calls, size_t n,
                     int64_t ms)
{
    int64_t until_ms = clock_monotonic_ms() + ms;
    bool has_waited = false;

    assert(n <= HTTP_WAIT_MAX);
    for (;;) {
        size_t i = find_over(calls, n);

        if (i < n || (has_waited && clock_monotonic_ms() >= until_ms))
            return i;
        /* A wake-up may come from a call that the transport drives, too. */
        if (direct_calls_wait(direct, calls, n, until_ms))
            return find_over(calls, n);
        has_waited = true;
    }
}

/* Swaps received bytes into call->reading; -1 if the call is over with an error, or at until_ms. */
static int take_bytes(struct http_call *call, int64_t until_ms, bool *was_paused_out,
                      struct error *err)
{
    struct strbuf spare = call->reading;
    bool in_time = true;
    int rc = 0;

    lock_take(&call->lock);
    while (call->body.len == 0 && !call->is_over && in_time)
        in_time = wait_until_locked(call, until_ms);
    *was_paused_out = call->is_receiving_paused;
    call->is_receiving_paused = false;
    if (call->body.len > 0 && call->error.code != ERROR_CANCELLED) {
        call->reading = call->body;
        call->body = spare;
    } else if (!call->is_over) {
        rc = error_set(err, ERROR_TIMEOUT, "nothing came in time");
    } else {
        rc = result_locked(call, err);
    }
    lock_release(&call->lock);
    return rc;
}

int http_call_read_until(struct http_call *call, int64_t until_ms, const char **bytes_out,
                         size_t *len_out, struct error *err)
{
    bool was_paused = false;

    if (call->reading.size > READING_KEEP_BYTES)
        strbuf_done(&call->reading);
    strbuf_reset(&call->reading);
    if (take_bytes(call, until_ms, &was_paused, err) < 0)
        return -1;
    if (was_paused)
        transport_command(call, TRANSPORT_RESUME);
    *bytes_out = call->reading.text;
    *len_out = call->reading.len;
    return 0;
}

int http_call_read(struct http_call *call, const char **bytes_out, size_t *len_out,
                   struct error *err)
{
    return http_call_read_until(call, HTTP_NEVER, bytes_out, len_out, err);
}

/* Appends to the bytes to send; *was_paused_out if the transport is waiting for them. */
static int give_bytes(struct http_call *call, const void *bytes, size_t len, bool *was_paused_out,
                      struct error *err)
{
    int rc = 0;

    lock_take(&call->lock);
    while (call->sending.len > HTTP_WINDOW_BYTES && !call->is_over)
        wait_locked(call);
    if (call->is_over)
        rc = result_locked(call, err);
    if (!call->is_over && len > 0)
        strbuf_append_bytes(&call->sending, bytes, len);
    if (!call->is_over && len == 0)
        call->is_sending_over = true;
    *was_paused_out = call->is_sending_paused;
    call->is_sending_paused = false;
    lock_release(&call->lock);
    return rc;
}

int http_call_write(struct http_call *call, const void *bytes, size_t len, struct error *err)
{
    bool was_paused = false;

    if (give_bytes(call, bytes, len, &was_paused, err) < 0)
        return -1;
    if (was_paused)
        transport_command(call, TRANSPORT_RESUME);
    return 0;
}

/* Ends the wait immediately; the transport closes the connection shortly after. */
void http_cancel(struct http_call *call)
{
    lock_take(&call->lock);
    if (!call->is_over) {
        error_set(&call->error, ERROR_CANCELLED, "the call was cancelled");
        call->is_over = true;
    }
    condition_wake_all(&call->changed);
    http_call_signal_locked(call);
    lock_release(&call->lock);
    if (call->direct != NULL)
        direct_connections_wake(call->direct);
    else
        transport_command(call, TRANSPORT_DROP);
}

void http_call_free(struct http_call *call)
{
    if (call == NULL)
        return;
    lock_take(&call->lock);
    call->is_over = true;
    call->done_fd = 0;
    lock_release(&call->lock);
    if (call->direct != NULL)
        direct_call_drop(call);
    else if (!transport_abandon(call, TRANSPORT_DROP))
        http_call_destroy(call);
}

void http_call_drain(struct http_call *call)
{
    lock_take(&call->lock);
    call->is_draining = true;
    call->done_fd = 0;
    lock_release(&call->lock);
    if (call->direct != NULL)
        direct_call_drain(call);
    else if (!transport_abandon(call, TRANSPORT_DRAIN))
        http_call_destroy(call);
}

void http_call_freep(struct http_call **call)
{
    http_call_free(*call);
    *call = NULL;
}

/* Locks, because a stream's caller may ask while bytes arrive. */
long http_status(const struct http_call *call)
{
    struct lock *lock = &((struct http_call *)(uintptr_t)call)->lock;
    long status = 0;

    lock_take(lock);
    status = call->status;
    lock_release(lock);
    return status;
}

bool http_is_unreached(struct http_call *call)
{
    bool is_unreached = false;

    lock_take(&call->lock);
    is_unreached = call->is_unreached;
    lock_release(&call->lock);
    return is_unreached;
}

bool http_has_lost_body(struct http_call *call)
{
    bool has_lost = false;

    lock_take(&call->lock);
    has_lost = call->has_lost_body;
    lock_release(&call->lock);
    return has_lost;
}

bool http_is_unproven(struct http_call *call)
{
    bool is_unproven = false;

    lock_take(&call->lock);
    is_unproven = call->is_unproven;
    lock_release(&call->lock);
    return is_unproven;
}

const char *http_body(const struct http_call *call, size_t *len_out)
{
    *len_out = call->body.len;
    return call->body.text;
}

/* The line's value if it is a header of that name; lines end in NUL here. */
static const char *header_value(const char *line, const char *name)
{
    size_t len = strlen(name);

    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    line += len + 1;
    return line + strspn(line, " \t");
}

const char *http_reply_header(const struct http_call *call, const char *name)
{
    struct lock *lock = &((struct http_call *)(uintptr_t)call)->lock;
    const char *value = NULL;
    const char *line = NULL;

    lock_take(lock);
    line = call->reply_headers.text;
    while (value == NULL && line < call->reply_headers.text + call->reply_headers.len) {
        value = header_value(line, name);
        line += strlen(line) + 1;
    }
    lock_release(lock);
    return value;
}

int64_t http_retry_after_ms(const struct http_call *call)
{
    const char *text = http_reply_header(call, "retry-after-ms");
    struct error ignored = ERROR_INIT;
    int64_t seconds = 0;
    int64_t wait_ms = 0;
    time_t date = 0;

    if (text != NULL &&
        text_parse_int(text, 0, (int64_t)RETRY_AFTER_MAX_S * 1000, &wait_ms, &ignored) == 0)
        return wait_ms;
    text = http_reply_header(call, "Retry-After");
    if (text == NULL)
        return -1;
    if (text_parse_int(text, 0, RETRY_AFTER_MAX_S, &seconds, &ignored) == 0)
        return seconds * 1000;
    date = curl_getdate(text, NULL);
    if (date < 0)
        return -1;
    seconds = (int64_t)date - clock_utc_us() / 1000000;
    return seconds > 0 ? seconds * 1000 : 0;
}
