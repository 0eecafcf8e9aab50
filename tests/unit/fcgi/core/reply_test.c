#include "fcgi/core/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "fcgi/core/request.h"
#include "support/json_path.h"
#include "web/reply_output.h"

/* A client that reads so many pieces, then is gone. */
struct client {
    struct strbuf sent;
    int n_reads;
};

static int take(void *stream, const char *bytes, int len)
{
    struct client *client = stream;

    if (client->n_reads-- <= 0)
        return -1;
    strbuf_append_bytes(&client->sent, bytes, (size_t)len);
    return 0;
}

#define REPLY_TO(reply, n)                                                                         \
    struct client client = {STRBUF_INIT, n};                                                       \
    const struct reply_output output = {.write = take, .stream = &client};                         \
    CLEANUP(reply_done) struct reply reply = REPLY_INIT;                                           \
    (reply).output = &output

#define COMMON                                                                                     \
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer"   \
    "\r\n"
#define STRICT                                                                                     \
    "Content-Security-Policy: default-src 'none'; object-src 'none'; base-uri 'none'; "            \
    "form-action 'none'; frame-ancestors 'none'\r\n"

static void reply_is_sent_whole(void **state)
{
    REPLY_TO(reply, 9);

    (void)state;
    assert_int_equal(reply_text(&reply, 201, "h\xc3\xa9"), 0);
    reply_header(&reply, "X-One", "a\r\nb\x7f\tc\xc3\xa9");
    reply_send(&reply);
    assert_string_equal(client.sent.text,
                        "Status: 201 Created\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Length: 3\r\n" COMMON STRICT
                        "X-One: abc\xc3\xa9\r\n\r\nh\xc3\xa9");
    assert_int_equal(reply.n_bytes, 3);
    assert_false(reply.is_broken);
    strbuf_done(&client.sent);
}

static void empty_reply_has_no_type(void **state)
{
    REPLY_TO(reply, 9);

    (void)state;
    assert_int_equal(reply_text(&reply, 200, "old"), 0);
    assert_int_equal(reply_empty(&reply, 204), 0);
    reply_send(&reply);
    assert_string_equal(client.sent.text, "Status: 204 No Content\r\n" COMMON STRICT "\r\n");
    strbuf_done(&client.sent);
}

static void bodies_replace_each_other(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *json = json_loads("{\"a\":1}", 0, NULL);
    REPLY_TO(reply, 9);

    (void)state;
    assert_int_equal(reply_text(&reply, 200, "old"), 0);
    assert_int_equal(reply_json(&reply, 202, json), 0);
    assert_string_equal(reply.body.text, "{\"a\":1}");
    assert_int_equal(reply.status, 202);
    assert_string_equal(reply.content_type, "application/json");
    assert_int_equal(reply_text(&reply, 200, "new"), 0);
    assert_string_equal(reply.body.text, "new");
    strbuf_append(&text, "[1]");
    assert_int_equal(reply_json_text(&reply, 203, &text), 0);
    assert_string_equal(reply.body.text, "[1]");
    assert_int_equal(reply.status, 203);
    assert_string_equal(reply.content_type, "application/json");
    assert_int_equal(text.len, 0);
    assert_int_equal(reply_success(&reply), 0);
    assert_string_equal(reply.body.text, "{\"success\":true}");
    assert_int_equal(reply.status, 200);
    strbuf_done(&client.sent);
}

static void client_that_is_gone_gets_no_more(void **state)
{
    struct error err = ERROR_INIT;
    REPLY_TO(reply, 1);

    (void)state;
    assert_int_equal(reply_text(&reply, 200, "body"), 0);
    reply_send(&reply);
    assert_true(reply.is_broken);
    assert_int_equal(reply.n_bytes, 0);
    assert_null(strstr(client.sent.text, "body"));
    client.n_reads = 5;
    assert_int_equal(reply_stream_write(&reply, "more", 4, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(client.n_reads, 5);
    strbuf_done(&client.sent);
}

static void stream_has_no_length(void **state)
{
    struct error err = ERROR_INIT;
    REPLY_TO(reply, 9);

    (void)state;
    reply.content_policy = "sandbox";
    assert_int_equal(reply_stream_begin(&reply, 206, "a/b", &err), 0);
    assert_int_equal(reply_stream_write(&reply, "one", 3, &err), 0);
    assert_int_equal(reply_stream_write(&reply, "two!", 4, &err), 0);
    reply_send(&reply);
    assert_string_equal(client.sent.text,
                        "Status: 206 Partial Content\r\nContent-Type: a/b\r\n" COMMON
                        "Content-Security-Policy: sandbox\r\n\r\nonetwo!");
    assert_int_equal(reply.n_bytes, 7);
    strbuf_done(&client.sent);
}

static void stream_needs_a_final_status_and_a_client(void **state)
{
    static const int statuses[] = {101, 199, 600};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        REPLY_TO(reply, 9);

        assert_int_equal(reply_stream_begin(&reply, statuses[i], "a/b", &err), -1);
        assert_int_equal(err.code, ERROR_INTERNAL);
        assert_int_equal(client.sent.len, 0);
        strbuf_done(&client.sent);
    }
    {
        REPLY_TO(reply, 9);

        assert_int_equal(reply_stream_begin(&reply, 599, "a/b", &err), 0);
        strbuf_done(&client.sent);
    }
    {
        REPLY_TO(reply, 0);

        assert_int_equal(reply_stream_begin(&reply, 200, "a/b", &err), -1);
        assert_int_equal(err.code, ERROR_CANCELLED);
        strbuf_done(&client.sent);
    }
}

#define DETAIL "{\"detail\":\"why\"}"
#define EXCEPTION(text) "{\"detail\":\"Internal Server Error\",\"exception\":\"" text "\"}"

static void errors_have_a_status_and_a_body(void **state)
{
    static const struct {
        enum error_code code;
        int status;
        const char *body;
        const char *header; /* NULL: no Retry-After */
    } rows[] = {
        {ERROR_INVALID, 422, DETAIL, NULL},
        {ERROR_UNAUTHENTICATED, 401, "{\"detail\":\"Unauthorized\"}", NULL},
        {ERROR_FORBIDDEN, 403, DETAIL, NULL},
        {ERROR_NOT_FOUND, 404, DETAIL, NULL},
        {ERROR_CONFLICT, 409, DETAIL, NULL},
        {ERROR_STALE, 409, DETAIL, NULL},
        {ERROR_TOO_LARGE, 413, DETAIL, NULL},
        {ERROR_RATE_LIMITED, 429, DETAIL, "Retry-After: 5\r\n"},
        {ERROR_TIMEOUT, 504, EXCEPTION("504: Gateway Timeout"), NULL},
        {ERROR_CANCELLED, 503, EXCEPTION("503: Service Unavailable"), "Retry-After: 1\r\n"},
        {ERROR_UNAVAILABLE, 503, EXCEPTION("503: Service Unavailable"), "Retry-After: 1\r\n"},
        {ERROR_UNSUPPORTED, 501, EXCEPTION("501: why"), NULL},
        {ERROR_MEDIA_TYPE, 415, DETAIL, NULL},
        {ERROR_SLOW_CLIENT, 408, DETAIL, NULL},
    };
    struct request request = {.problems = json_array()};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error err = ERROR_INIT;
        REPLY_TO(reply, 9);

        error_ignore(error_set(&err, rows[i].code, "why"), "is replied");
        reply_error(&reply, &request, &err);
        assert_int_equal(reply.status, rows[i].status);
        assert_json_at(reply.body.text, "", rows[i].body);
        assert_string_equal(reply.headers.text, rows[i].header != NULL ? rows[i].header : "");
        strbuf_done(&client.sent);
    }
    json_decref(request.problems);
}

static void problems_take_the_place_of_words(void **state)
{
    struct error err = ERROR_INIT;
    struct request request = {.problems = json_loads("[{\"type\":\"x\"}]", 0, NULL)};
    REPLY_TO(reply, 9);

    (void)state;
    error_ignore(error_set(&err, ERROR_INVALID, "why"), "is replied");
    reply_error(&reply, &request, &err);
    assert_json_at(reply.body.text, "", "{\"detail\":[{\"type\":\"x\"}]}");
    error_ignore(error_set(&err, ERROR_CONFLICT, "why"), "is replied");
    reply_error(&reply, &request, &err);
    assert_json_at(reply.body.text, "", DETAIL);
    json_decref(request.problems);
    strbuf_done(&client.sent);
}

static void own_faults_have_an_id_and_no_words(void **state)
{
    struct error err = ERROR_INIT;
    struct request request = {.problems = json_array()};
    json_auto_t *body = NULL;
    REPLY_TO(reply, 9);

    (void)state;
    error_ignore(error_set(&err, ERROR_INTERNAL, "the secret cause"), "is replied");
    reply_error(&reply, &request, &err);
    assert_int_equal(reply.status, 500);
    body = json_loads(reply.body.text, 0, NULL);
    assert_int_equal(json_object_size(body), 3);
    assert_string_equal(json_text_or(body, "detail", ""), "Internal Server Error");
    assert_string_equal(json_text_or(body, "exception", ""), "500: Internal Server Error");
    assert_int_equal(strlen(json_text_or(body, "error_id", "")), 32);
    json_decref(request.problems);
    strbuf_done(&client.sent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_is_sent_whole),
        cmocka_unit_test(empty_reply_has_no_type),
        cmocka_unit_test(bodies_replace_each_other),
        cmocka_unit_test(client_that_is_gone_gets_no_more),
        cmocka_unit_test(stream_has_no_length),
        cmocka_unit_test(stream_needs_a_final_status_and_a_client),
        cmocka_unit_test(errors_have_a_status_and_a_body),
        cmocka_unit_test(problems_take_the_place_of_words),
        cmocka_unit_test(own_faults_have_an_id_and_no_words),
    };

    json_setup();
    log_setup("deft-fcgi-test", LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
