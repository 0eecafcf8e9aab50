#include "gateway/bash_ask.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/runtime_api.h"
#include "gateway/errand.h"

enum {
    ANSWER_MS = 30000,
    PAGE_EVENTS = 8,
    REPLY_MAX_BYTES = 64 << 20, /* for events of 2 MiB in their longest JSON encoding */
    STATUS_OK = 200,
};

/* A request below /api/bash/. */
struct question {
    const char *path;
    const char *body; /* NULL: a GET */
    int64_t timeout_ms;
};

static int ask(const struct bash_asker *asker, struct errand *errand,
               const struct question *question, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct http_request request = {.method = question->body != NULL ? "POST" : "GET",
                                   .body = question->body,
                                   .timeout_ms = question->timeout_ms,
                                   .max_reply_bytes = REPLY_MAX_BYTES};

    if (question->body != NULL)
        request.body_len = strlen(question->body);
    strbuf_appendf(&path, "/api/bash/%s", question->path);
    request.url = path.text;
    return errand_begin(errand, asker->errands, asker->endpoint, &request, err);
}

int bash_ask_newest(const struct bash_asker *asker, struct errand *errand, struct error *err)
{
    const struct question question = {"bash_events/search?sort_order=TIMESTAMP_DESC&limit=1", NULL,
                                      ANSWER_MS};

    return ask(asker, errand, &question, err);
}

int bash_ask_after(const struct bash_asker *asker, struct errand *errand, int64_t after_us,
                   int64_t wait_ms, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct question question = {.timeout_ms = wait_ms + ANSWER_MS};
    char stamp[CLOCK_TEXT_BYTES];

    clock_format_z(after_us + 1, stamp);
    strbuf_appendf(
        &path, "bash_events/search?sort_order=TIMESTAMP&limit=%d&timestamp__gte=%s&wait_ms=%lld",
        PAGE_EVENTS, stamp, (long long)wait_ms);
    question.path = path.text;
    return ask(asker, errand, &question, err);
}

int bash_ask_start(const struct bash_asker *asker, struct errand *errand, const char *body,
                   struct error *err)
{
    const struct question question = {"start_bash_command", body, ANSWER_MS};

    return ask(asker, errand, &question, err);
}

int bash_read_page(const struct http_call *call, const struct error *failure, json_t **page_out,
                   struct error *err)
{
    json_auto_t *page = NULL;
    size_t len = 0;
    const char *body = http_body(call, &len);

    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    if (http_status(call) != STATUS_OK)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox answers %ld", http_status(call));
    if (json_parse(body, len, &page, err) < 0 || !json_is_array(json_object_get(page, "items")))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox answers nonsense");
    *page_out = TAKE_PTR(page);
    return 0;
}

int bash_read_taken(const struct http_call *call, const struct error *failure, struct error *err)
{
    json_auto_t *reply = NULL;
    struct error ignored = ERROR_INIT;
    size_t len = 0;
    const char *body = http_body(call, &len);
    long status = http_status(call);

    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    if (status == STATUS_OK)
        return 0;
    if (json_parse(body, len, &reply, &ignored) < 0)
        reply = json_object();
    return error_set(err, status == 400 || status == 422 ? ERROR_INVALID : ERROR_UNAVAILABLE, "%s",
                     json_text_or(reply, "detail", "the sandbox refuses the command"));
}
