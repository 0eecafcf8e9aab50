#include "gateway/bash/bash_request.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "gateway/core/async_http.h"

enum {
    ANSWER_MS = 30000,
    PAGE_EVENTS = 4,
    REPLY_MAX_BYTES = 16 << 20, /* for an event of 2 MiB in its longest JSON encoding */
    STATUS_OK = 200,
};

/* A request below /api/bash/. */
struct bash_http_query {
    const char *path;
    const char *body; /* NULL: a GET */
    int64_t timeout_ms;
};

static int start_call(const struct bash_target *target, struct async_call *call,
                      const struct bash_http_query *query, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct http_request request = {.method = query->body != NULL ? "POST" : "GET",
                                   .body = query->body,
                                   .timeout_ms = query->timeout_ms,
                                   .max_reply_bytes = REPLY_MAX_BYTES};

    if (query->body != NULL)
        request.body_len = strlen(query->body);
    strbuf_appendf(&path, "/api/bash/%s", query->path);
    request.url = path.text;
    return async_call_begin(call, target->http, target->endpoint, &request, err);
}

int bash_request_newest(const struct bash_target *target, struct async_call *call,
                        struct error *err)
{
    const struct bash_http_query query = {"bash_events/search?sort_order=TIMESTAMP_DESC&limit=1",
                                          NULL, ANSWER_MS};

    return start_call(target, call, &query, err);
}

int bash_request_after(const struct bash_target *target, struct async_call *call, int64_t after_us,
                       int64_t wait_ms, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct bash_http_query query = {.timeout_ms = wait_ms + ANSWER_MS};
    char stamp[CLOCK_TEXT_BYTES];

    clock_format_z(after_us + 1, stamp);
    strbuf_appendf(
        &path, "bash_events/search?sort_order=TIMESTAMP&limit=%d&timestamp__gte=%s&wait_ms=%lld",
        PAGE_EVENTS, stamp, (long long)wait_ms);
    query.path = path.text;
    return start_call(target, call, &query, err);
}

int bash_request_start(const struct bash_target *target, struct async_call *call, const char *body,
                       struct error *err)
{
    const struct bash_http_query query = {"start_bash_command", body, ANSWER_MS};

    return start_call(target, call, &query, err);
}

int bash_request_read_page(const struct http_call *answer, const struct error *failure,
                           json_t **page_out, struct error *err)
{
    json_auto_t *page = NULL;
    size_t len = 0;
    const char *body = http_body(answer, &len);

    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    if (http_status(answer) != STATUS_OK)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox replied with status %ld",
                         http_status(answer));
    if (json_parse(body, len, &page, err) < 0 || !json_is_array(json_object_get(page, "items")))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's reply is not valid");
    *page_out = TAKE_PTR(page);
    return 0;
}

int bash_request_read_accepted(const struct http_call *answer, const struct error *failure,
                               struct error *err)
{
    json_auto_t *reply = NULL;
    struct error ignored = ERROR_INIT;
    size_t len = 0;
    const char *body = http_body(answer, &len);
    long status = http_status(answer);

    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    if (status == STATUS_OK)
        return 0;
    error_ignore(json_parse(body, len, &reply, &ignored), "the reply then has no detail");
    return error_set(err, status == 400 || status == 422 ? ERROR_INVALID : ERROR_UNAVAILABLE, "%s",
                     json_text_or(reply, "detail", "the sandbox refused the command"));
}
