#include "client/http_call.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#define HEADERS_MAX_BYTES ((size_t)(64 * 1024))

enum {
    STATUS_LEAST = 100,
    STATUS_SWITCHING = 101,
    STATUS_LEAST_FINAL = 200,
    STATUS_MOST = 599,
    INTERIM_MAX = 16,
};

/* --- life --- */

void http_call_destroy(struct http_call *call)
{
    if (call->easy != NULL)
        curl_easy_cleanup(call->easy);
    http_headers_free(call->headers);
    secret_done(&call->proof_key);
    proof_free(call->proof);
    fd_close(&call->proof_fd);
    mem_free(call->request_body);
    explicit_bzero(call->head.text, call->head.len); /* it may contain a key */
    strbuf_done(&call->head);
    strbuf_done(&call->reply_headers);
    strbuf_done(&call->body);
    strbuf_done(&call->sending);
    strbuf_done(&call->reading);
    condition_done(&call->changed);
    lock_done(&call->lock);
    mem_free(call);
}

void http_headers_free(struct curl_slist *headers)
{
    for (struct curl_slist *item = headers; item != NULL; item = item->next)
        explicit_bzero(item->data, strlen(item->data));
    curl_slist_free_all(headers);
}

/* --- the request --- */

bool http_text_is_clean(const char *text)
{
    for (; *text != '\0'; text++) {
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
            return false;
    }
    return true;
}

bool http_header_is_clean(const char *name, const char *value)
{
    return name[0] != '\0' && strchr(name, ':') == NULL && http_text_is_clean(name) &&
           http_text_is_clean(value);
}

/* --- the proof --- */

enum proof_state http_call_prove(struct http_call *call, int fd)
{
    struct error why = ERROR_INIT;
    enum proof_state state = proof_step(call->proof, fd, &why);

    if (state == PROOF_HOLDS)
        proof_free(TAKE_PTR(call->proof));
    if (state == PROOF_LOST || state == PROOF_FAILS)
        (void)snprintf(call->why, sizeof(call->why), "%s", why.message);
    if (state == PROOF_FAILS) {
        lock_take(&call->lock);
        call->is_unproven = true;
        lock_release(&call->lock);
    }
    return state;
}

/* --- the answer --- */

static bool is_status_line(const char *line, size_t len)
{
    return len > 5 && memcmp(line, "HTTP/", 5) == 0;
}

/*
 * A reply has a status from 200 to 599, after a few interim ones. A 101 would mean an upgrade,
 * which no call requests: the bytes after it would not be HTTP. RFC 9110, section 15.
 */
static bool is_status_allowed(struct http_call *call, long status)
{
    if (status >= STATUS_LEAST_FINAL)
        return status <= STATUS_MOST;
    call->n_interim++;
    return status >= STATUS_LEAST && status != STATUS_SWITCHING && call->n_interim <= INTERIM_MAX;
}

/* The line's end, and the white space before it, which is not part of a value (RFC 9110, 5.5). */
static bool is_line_end(char c)
{
    return c == '\r' || c == '\n' || c == ' ' || c == '\t';
}

bool http_call_take_line(struct http_call *call, long status, const char *line, size_t len)
{
    size_t n = len;
    bool fits = false;

    call->active_ms = clock_monotonic_ms();
    if (call->n_received > 0)
        return true;
    while (n > 0 && is_line_end(line[n - 1]))
        n--;
    if (is_status_line(line, len) && !is_status_allowed(call, status)) {
        call->refused_status = status;
        return false;
    }
    lock_take(&call->lock);
    call->status = status;
    if (is_status_line(line, len))
        strbuf_reset(&call->reply_headers);
    fits = call->reply_headers.len + n < HEADERS_MAX_BYTES;
    if (fits) {
        strbuf_append_bytes(&call->reply_headers, line, n);
        strbuf_append_char(&call->reply_headers, '\0');
    }
    lock_release(&call->lock);
    call->is_too_large = call->is_too_large || !fits;
    return fits;
}

static enum http_take take_bytes_locked(struct http_call *call, const char *bytes, size_t len)
    REQUIRES(call -> lock);

static enum http_take take_bytes_locked(struct http_call *call, const char *bytes, size_t len)
{
    if (call->is_over && !call->is_draining)
        return HTTP_TAKE_NEVER;
    if (!call->is_draining && call->is_stream && call->body.len > HTTP_WINDOW_BYTES) {
        call->is_receiving_paused = true;
        return HTTP_TAKE_LATER;
    }
    if (!call->is_draining)
        strbuf_append_bytes(&call->body, bytes, len);
    call->n_received += len;
    return HTTP_TAKE_ALL;
}

enum http_take http_call_take_bytes(struct http_call *call, const char *bytes, size_t len)
{
    enum http_take taken = HTTP_TAKE_NEVER;

    call->active_ms = clock_monotonic_ms();
    if (len > call->max_reply_bytes - call->n_received) {
        call->is_too_large = true;
        return HTTP_TAKE_NEVER;
    }
    lock_take(&call->lock);
    taken = take_bytes_locked(call, bytes, len);
    if (call->is_stream)
        condition_wake_all(&call->changed);
    lock_release(&call->lock);
    return taken;
}

/* --- time --- */

int64_t http_call_expiry_ms(const struct http_call *call)
{
    int64_t due_ms = call->deadline_ms;

    if (call->idle_timeout_ms > 0 && call->active_ms + call->idle_timeout_ms < due_ms)
        due_ms = call->active_ms + call->idle_timeout_ms;
    if (call->proof != NULL && proof_until_ms(call->proof) < due_ms)
        due_ms = proof_until_ms(call->proof);
    return due_ms;
}

/* Bytes sent are only noticed here. A call with a slow reader does not count as idle. */
static void notice_activity(struct http_call *call, int64_t now_ms)
{
    curl_off_t n_moved = 0;
    bool is_waiting_for_us = false;

    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &n_moved);
    lock_take(&call->lock);
    is_waiting_for_us = call->is_receiving_paused || call->is_sending_paused;
    lock_release(&call->lock);
    if (n_moved != call->n_moved || is_waiting_for_us)
        call->active_ms = now_ms;
    call->n_moved = n_moved;
}

bool http_call_is_overdue(struct http_call *call, int64_t now_ms)
{
    if (http_call_expiry_ms(call) > now_ms)
        return false;
    notice_activity(call, now_ms);
    return http_call_expiry_ms(call) <= now_ms;
}

/* --- the end --- */

/* Errors for libcurl results; any other result is a connection failure. */
static const struct {
    CURLcode result;
    enum error_code code;
} meanings[] = {
    {CURLE_OPERATION_TIMEDOUT, ERROR_TIMEOUT},     {CURLE_URL_MALFORMAT, ERROR_INVALID},
    {CURLE_LOGIN_DENIED, ERROR_INVALID},           {CURLE_ABORTED_BY_CALLBACK, ERROR_CANCELLED},
    {CURLE_BAD_FUNCTION_ARGUMENT, ERROR_INTERNAL}, {CURLE_FAILED_INIT, ERROR_INTERNAL},
};

static void explain(struct http_call *call, CURLcode result, struct error *why)
{
    enum error_code code = ERROR_UNAVAILABLE;

    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
        if (meanings[i].result == result)
            code = meanings[i].code;
    }
    if (call->is_refused)
        error_set(why, ERROR_FORBIDDEN,
                  "the host's address is private or link-local, which is not allowed");
    else if (call->is_too_large)
        error_set(why, ERROR_TOO_LARGE, "the response is longer than %zu bytes",
                  call->max_reply_bytes);
    else if (call->is_late && call->proof != NULL)
        error_set(why, ERROR_UNAVAILABLE, "the sandbox's server did not authenticate in time");
    else if (call->is_late)
        error_set(why, ERROR_TIMEOUT, "no response in time");
    else if (call->refused_status > 0)
        error_set(why, ERROR_UNAVAILABLE, "the response has status %ld, which cannot be forwarded",
                  call->refused_status);
    else
        error_set(why, code, "%s", call->why[0] != '\0' ? call->why : curl_easy_strerror(result));
}

void http_call_signal_locked(struct http_call *call)
{
    const uint64_t one = 1;
    ssize_t n = 0;

    if (call->done_fd > 0)
        n = write(call->done_fd, &one, sizeof(one));
    (void)n; /* a full counter also signals */
}

void http_call_publish(struct http_call *call, CURLcode result)
{
    struct error why = ERROR_INIT;

    if (result != CURLE_OK || call->is_late)
        explain(call, result, &why);
    lock_take(&call->lock);
    if (!call->is_over) {
        call->error = why;
        call->is_unreached = result == CURLE_COULDNT_CONNECT || call->proof != NULL;
    }
    call->is_over = true;
    condition_wake_all(&call->changed);
    http_call_signal_locked(call);
    lock_release(&call->lock);
}
