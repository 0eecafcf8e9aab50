/*
 * The client of the Runtime API: what it asks for, and what it makes of each answer. The test plays
 * the service.
 */
#include "client/runtime_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/http_call.h"
#include "client/test_server.h"
#include "support/json_path.h"

enum { REPLY_MAX_BYTES = 1 << 20, SLACK_MS = 30000, WAIT_MS = 1000, FIND_MS = 60000 };

#define OK "200 OK"
#define RUNTIME_ID "0123456789abcdef"
#define RUNNING                                                                                    \
    "\"status\":\"running\",\"url\":\"http://10.1.2.3:8000\",\"session_api_key\":\"the key\","     \
    "\"call_key\":\"the call key\""

/* A service that answers every request alike, and a client of it. */
struct service {
    struct strbuf bytes;
    struct test_reply reply;
    struct test_server *server;
    struct strbuf url;
    struct secret key;
    struct http *http;
    struct runtime_api api;
    struct error err;
};

static void start_at(struct service *service, const char *status, const char *body,
                     const char *unix_path)
{
    *service = (struct service){.bytes = STRBUF_INIT, .url = STRBUF_INIT, .key = SECRET_INIT};
    service->err = (struct error)ERROR_INIT;
    strbuf_appendf(&service->bytes, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status,
                   strlen(body), body);
    service->reply.bytes = service->bytes.text;
    service->server = test_server_start(&service->reply, 1, unix_path);
    strbuf_append(&service->url,
                  unix_path == NULL ? test_server_url(service->server, "/api") : "http://service");
    secret_set(&service->key, "the service's key");
    assert_int_equal(http_open(&service->http, &service->err), 0);
    service->api = (struct runtime_api){
        .http = service->http, .url = service->url.text, .socket = unix_path, .key = &service->key};
}

static void start(struct service *service, const char *status, const char *body)
{
    start_at(service, status, body, NULL);
}

static void stop(struct service *service)
{
    http_free(service->http);
    if (service->server != NULL)
        test_server_stop(service->server);
    strbuf_done(&service->bytes);
    strbuf_done(&service->url);
    secret_done(&service->key);
}

static void assert_starts(const char *text, const char *start_of_text)
{
    if (strncmp(text, start_of_text, strlen(start_of_text)) != 0)
        fail_msg("'%s' does not start with '%s'", text, start_of_text);
}

/* The body of the only request, which has this first line. */
static const char *heard(struct service *service, const char *line)
{
    const char *request = test_server_request(service->server, 0);
    const char *end = strstr(request, "\r\n\r\n");

    assert_int_equal(test_server_n_requests(service->server), 1);
    assert_starts(request, line);
    assert_non_null(strstr(request, "\r\nX-API-Key: the service's key\r\n"));
    assert_non_null(end);
    return end + 4;
}

static const struct sandbox_start plain_start = {
    .session_id = "c-1", .owner_id = "an owner", .image = "an image", .wait_ms = WAIT_MS};

static void start_says_which_sandbox_and_how(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *container = json_build(&err, "{s:s, s:f}", "memory", "512m", "cpus", 1.5);
    const struct sandbox_start whole = {.session_id = "c-1",
                                        .owner_id = "an owner",
                                        .conversation_id = "a conversation",
                                        .image = "an image",
                                        .wait_ms = WAIT_MS,
                                        .container = container,
                                        .is_doubted = true,
                                        .keeps_image = true};
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct service service;

    (void)state;
    start(&service, OK, "{" RUNNING "}");
    assert_int_equal(runtime_api_start(&service.api, &whole, &endpoint, &service.err), 0);
    assert_json_at(heard(&service, "POST /api/start HTTP/1.1\r\n"), "",
                   "{\"image\":\"an image\",\"command\":[\"deft-action\"],"
                   "\"working_dir\":\"/workspace\",\"environment\":{},\"session_id\":\"c-1\","
                   "\"owner_id\":\"an owner\",\"conversation_id\":\"a conversation\","
                   "\"wait_ms\":1000,\"is_doubted\":true,\"keeps_image\":true,"
                   "\"memory_bytes\":536870912,\"nano_cpus\":1500000000}");
    stop(&service);
}

static void start_leaves_out_what_was_not_asked_for(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *nothing = json_build(&err, "{s:s, s:f}", "memory", "much", "cpus", 0.0);
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    const json_t *const containers[] = {NULL, nothing};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
        struct sandbox_start plain = plain_start;
        struct service service;

        plain.container = containers[i];
        start(&service, OK, "{" RUNNING "}");
        assert_int_equal(runtime_api_start(&service.api, &plain, &endpoint, &service.err), 0);
        assert_json_at(heard(&service, "POST /api/start HTTP/1.1\r\n"), "",
                       "{\"image\":\"an image\",\"command\":[\"deft-action\"],"
                       "\"working_dir\":\"/workspace\",\"environment\":{},\"session_id\":\"c-1\","
                       "\"owner_id\":\"an owner\",\"wait_ms\":1000}");
        stop(&service);
    }
}

static void endpoint_is_the_one_of_the_answer(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct service service;

    (void)state;
    start(&service, OK,
          "{" RUNNING ",\"proof_key\":\"the proof key\",\"runtime_id\":\"" RUNTIME_ID "\"}");
    assert_int_equal(runtime_api_start(&service.api, &plain_start, &endpoint, &service.err), 0);
    assert_string_equal(endpoint.runtime_id, RUNTIME_ID);
    assert_string_equal(endpoint.url, "http://10.1.2.3:8000");
    assert_string_equal(secret_reveal(&endpoint.session_key), "the key");
    assert_string_equal(secret_reveal(&endpoint.call_key), "the call key");
    assert_string_equal(secret_reveal(&endpoint.proof_key), "the proof key");
    stop(&service);
    /* Nothing of the earlier answer stays. */
    start(&service, OK, "{" RUNNING ",\"proof_key\":null}");
    assert_int_equal(runtime_api_start(&service.api, &plain_start, &endpoint, &service.err), 0);
    assert_string_equal(endpoint.runtime_id, "");
    assert_false(secret_is_set(&endpoint.proof_key));
    stop(&service);
}

/* Answers without a sandbox that can be called. */
static const struct {
    const char *status;
    const char *body;
    enum error_code code;
    const char *message;
} failures[] = {
    {OK, "{\"status\":\"starting\"}", ERROR_TIMEOUT, "the sandbox is still starting"},
    {OK, "{\"status\":\"error\",\"status_detail\":\"no such image\"}", ERROR_UNAVAILABLE,
     "the sandbox did not start: no such image"},
    {OK, "{\"status\":\"paused\"}", ERROR_UNAVAILABLE, "the sandbox did not start: paused"},
    {OK, "no JSON", ERROR_UNAVAILABLE, "the sandbox did not start: "},
    {OK, "{\"status\":\"running\",\"session_api_key\":\"k\",\"call_key\":\"c\"}", ERROR_UNAVAILABLE,
     "the sandbox service returned no address"},
    {OK, "{\"status\":\"running\",\"url\":\"http://a\",\"call_key\":\"c\"}", ERROR_UNAVAILABLE,
     "the sandbox service returned no address"},
    {OK, "{\"status\":\"running\",\"url\":\"http://a\",\"session_api_key\":\"k\"}",
     ERROR_UNAVAILABLE, "the sandbox service returned no address"},
    {OK, "{" RUNNING ",\"runtime_id\":\"" RUNTIME_ID "0\"}", ERROR_UNAVAILABLE,
     "the sandbox service returned no address"},
    {"300 Choices", "{" RUNNING "}", ERROR_UNAVAILABLE,
     "the sandbox service answered 300: no reason given"},
    {"404 Not Found", "{\"detail\":\"no such session\"}", ERROR_NOT_FOUND,
     "the sandbox service answered 404: no such session"},
    {"429 Too Many Requests", "{\"detail\":\"the host is full\"}", ERROR_RATE_LIMITED,
     "the sandbox service answered 429: the host is full"},
    {"409 Conflict", "{\"detail\":\"it is being deleted\"}", ERROR_UNAVAILABLE,
     "the sandbox service answered 409: it is being deleted"},
    {"500 Internal Server Error", "<html>", ERROR_UNAVAILABLE,
     "the sandbox service answered 500: no reason given"},
};

static void answer_without_an_endpoint_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
        struct service service;

        endpoint.url = mem_dup_text("as before");
        start(&service, failures[i].status, failures[i].body);
        assert_int_equal(runtime_api_start(&service.api, &plain_start, &endpoint, &service.err),
                         -1);
        assert_string_equal(service.err.message, failures[i].message);
        assert_int_equal(service.err.code, failures[i].code);
        assert_string_equal(endpoint.url, "as before");
        stop(&service);
    }
}

/* All statuses from 200 to 299 are alike. */
static void any_status_of_success_is_one(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct service service;

    (void)state;
    start(&service, "299 Fine", "{" RUNNING "}");
    assert_int_equal(runtime_api_start(&service.api, &plain_start, &endpoint, &service.err), 0);
    stop(&service);
}

static void session_is_found_by_its_name(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct service service;

    (void)state;
    start(&service, OK, "{" RUNNING "}");
    assert_int_equal(runtime_api_find(&service.api, "c/1 ?", FIND_MS, &endpoint, &service.err), 0);
    assert_string_equal(heard(&service, "GET /api/sessions/c%2F1%20%3F HTTP/1.1\r\n"), "");
    assert_string_equal(endpoint.url, "http://10.1.2.3:8000");
    stop(&service);
}

static void resume_waits_until_the_runtime_answers(void **state)
{
    struct service service;

    (void)state;
    start(&service, OK, "{" RUNNING "}");
    assert_int_equal(runtime_api_resume(&service.api, RUNTIME_ID, WAIT_MS, &service.err), 0);
    assert_json_at(heard(&service, "POST /api/resume HTTP/1.1\r\n"), "",
                   "{\"runtime_id\":\"" RUNTIME_ID "\",\"wait_ms\":1000}");
    stop(&service);
    start(&service, OK, "{\"status\":\"starting\"}");
    assert_int_equal(runtime_api_resume(&service.api, RUNTIME_ID, WAIT_MS, &service.err), -1);
    assert_int_equal(service.err.code, ERROR_TIMEOUT);
    stop(&service);
    start(&service, "404 Not Found", "{" RUNNING "}");
    assert_int_equal(runtime_api_resume(&service.api, RUNTIME_ID, WAIT_MS, &service.err), -1);
    assert_int_equal(service.err.code, ERROR_NOT_FOUND);
    stop(&service);
}

static void created_sandbox_is_known_by_its_id(void **state)
{
    static const struct {
        const char *status;
        const char *body;
        const char *id;
        enum error_code code;
    } cases[] = {
        {OK, "{\"status\":\"starting\",\"runtime_id\":\"" RUNTIME_ID "\"}", RUNTIME_ID, ERROR_NONE},
        {OK, "{\"status\":\"starting\",\"runtime_id\":\"1\"}", "1", ERROR_NONE},
        {OK, "{\"status\":\"starting\",\"runtime_id\":\"" RUNTIME_ID "0\"}", "before",
         ERROR_UNAVAILABLE},
        {OK, "{\"status\":\"running\",\"runtime_id\":\"\"}", "before", ERROR_UNAVAILABLE},
        {OK, "{\"status\":\"running\"}", "before", ERROR_UNAVAILABLE},
        {"429 Too Many Requests", "{\"runtime_id\":\"1\"}", "before", ERROR_RATE_LIMITED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char id[RUNTIME_ID_MAX_BYTES] = "before";
        struct service service;
        int rc = 0;

        start(&service, cases[i].status, cases[i].body);
        rc = runtime_api_create(&service.api, &plain_start, id, &service.err);
        assert_int_equal(rc, cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(service.err.code, cases[i].code);
        assert_string_equal(id, cases[i].id);
        assert_json_at(heard(&service, "POST /api/start HTTP/1.1\r\n"), "session_id", "\"c-1\"");
        stop(&service);
    }
}

static void each_order_has_its_path_and_members(void **state)
{
    static const struct {
        enum runtime_order order;
        const char *line;
        const char *body;
    } orders[] = {
        {RUNTIME_ORDER_PAUSE, "POST /api/pause HTTP/1.1\r\n",
         "{\"runtime_id\":\"" RUNTIME_ID "\"}"},
        {RUNTIME_ORDER_RESUME, "POST /api/resume HTTP/1.1\r\n",
         "{\"runtime_id\":\"" RUNTIME_ID "\",\"wait_ms\":250}"},
        {RUNTIME_ORDER_STOP, "POST /api/stop HTTP/1.1\r\n", "{\"runtime_id\":\"" RUNTIME_ID "\"}"},
        {RUNTIME_ORDER_FORGET, "POST /api/stop HTTP/1.1\r\n",
         "{\"runtime_id\":\"" RUNTIME_ID "\",\"forget\":true}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct service service;

        start(&service, OK, "{}");
        assert_int_equal(runtime_api_order(&service.api, orders[i].order, RUNTIME_ID, &service.err),
                         0);
        assert_json_at(heard(&service, orders[i].line), "", orders[i].body);
        stop(&service);
        start(&service, "404 Not Found", "{\"detail\":\"no such runtime\"}");
        assert_int_equal(runtime_api_order(&service.api, orders[i].order, RUNTIME_ID, &service.err),
                         -1);
        assert_int_equal(service.err.code, ERROR_NOT_FOUND);
        stop(&service);
    }
}

static void refusals_come_as_the_service_lists_them(void **state)
{
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *reply = NULL;
    struct service service;

    (void)state;
    start(&service, OK, "{\"logged\":true,\"refusals\":[1]}");
    assert_int_equal(runtime_api_refusals(&service.api, "a/b", &reply, &service.err), 0);
    assert_string_equal(heard(&service, "GET /api/egress_refusals/a%2Fb HTTP/1.1\r\n"), "");
    text = json_to_text(reply);
    assert_json_at(text, "", "{\"logged\":true,\"refusals\":[1]}");
    stop(&service);
}

/* A reply of exactly so many bytes. */
static int ask_for_long_reply(size_t n_bytes, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *reply = NULL;
    struct service service;
    int rc = 0;

    strbuf_append(&body, "{}");
    while (body.len < n_bytes)
        strbuf_append_char(&body, ' ');
    start(&service, OK, body.text);
    rc = runtime_api_refusals(&service.api, RUNTIME_ID, &reply, &service.err);
    *err = service.err;
    stop(&service);
    return rc;
}

static void reply_of_more_than_a_mebibyte_is_refused(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(ask_for_long_reply(REPLY_MAX_BYTES, &err), 0);
    assert_int_equal(ask_for_long_reply(REPLY_MAX_BYTES + 1, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void service_on_a_socket_is_reached(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct service service;
    char path[64];

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/runtime_api_test.%ld", (long)getpid());
    start_at(&service, OK, "{" RUNNING "}", path);
    assert_int_equal(runtime_api_find(&service.api, "c-1", FIND_MS, &endpoint, &service.err), 0);
    (void)heard(&service, "GET /sessions/c-1 HTTP/1.1\r\n");
    stop(&service);
    (void)unlink(path);
}

static void missing_service_is_named_in_the_error(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    char id[RUNTIME_ID_MAX_BYTES] = "";
    json_auto_t *reply = NULL;
    struct service service;
    struct error errors[6] = {ERROR_INIT};

    (void)state;
    start(&service, OK, "{}");
    test_server_stop(TAKE_PTR(service.server));
    assert_int_equal(runtime_api_start(&service.api, &plain_start, &endpoint, &errors[0]), -1);
    assert_int_equal(runtime_api_find(&service.api, "c-1", FIND_MS, &endpoint, &errors[1]), -1);
    assert_int_equal(runtime_api_resume(&service.api, RUNTIME_ID, WAIT_MS, &errors[2]), -1);
    assert_int_equal(runtime_api_create(&service.api, &plain_start, id, &errors[3]), -1);
    assert_int_equal(runtime_api_order(&service.api, RUNTIME_ORDER_STOP, RUNTIME_ID, &errors[4]),
                     -1);
    assert_int_equal(runtime_api_refusals(&service.api, RUNTIME_ID, &reply, &errors[5]), -1);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        assert_int_equal(errors[i].code, ERROR_UNAVAILABLE);
        assert_starts(errors[i].message, "the sandbox service does not answer: ");
    }
    stop(&service);
}

/* The call ends so long after it began, at the latest. */
static void assert_ends_after(const struct http_call *call, int64_t began_ms, int64_t ms)
{
    assert_true(call->deadline_ms >= began_ms + ms);
    assert_true(call->deadline_ms <= clock_monotonic_ms() + ms);
}

/* The service may use up the wait that it was asked for. */
static void call_outlasts_the_wait_that_it_asks_for(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *starting = NULL;
    CLEANUP(http_call_freep) struct http_call *finding = NULL;
    int64_t began_ms = clock_monotonic_ms();
    CLEANUP(fd_close) int done_fd = eventfd(0, EFD_CLOEXEC);
    uint64_t n_done = 0;
    struct service service;

    (void)state;
    start(&service, OK, "{" RUNNING "}");
    service.api.done_fd = done_fd;
    assert_int_equal(runtime_api_begin_start(&service.api, &plain_start, &starting, &service.err),
                     0);
    assert_ends_after(starting, began_ms, WAIT_MS + SLACK_MS);
    assert_int_equal(http_wait(starting, &service.err), 0);
    assert_int_equal(runtime_api_read_start(starting, &endpoint, &service.err), 0);
    assert_string_equal(endpoint.url, "http://10.1.2.3:8000");
    assert_int_equal(runtime_api_begin_find(&service.api, "c-1", FIND_MS, &finding, &service.err),
                     0);
    assert_ends_after(finding, began_ms, FIND_MS);
    assert_int_equal(http_wait(finding, &service.err), 0);
    /* Both signaled their end. */
    assert_int_equal(read(done_fd, &n_done, sizeof(n_done)), (ssize_t)sizeof(n_done));
    assert_int_equal(n_done, 2);
    http_call_freep(&starting);
    http_call_freep(&finding);
    stop(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_says_which_sandbox_and_how),
        cmocka_unit_test(start_leaves_out_what_was_not_asked_for),
        cmocka_unit_test(endpoint_is_the_one_of_the_answer),
        cmocka_unit_test(answer_without_an_endpoint_says_why),
        cmocka_unit_test(any_status_of_success_is_one),
        cmocka_unit_test(session_is_found_by_its_name),
        cmocka_unit_test(resume_waits_until_the_runtime_answers),
        cmocka_unit_test(created_sandbox_is_known_by_its_id),
        cmocka_unit_test(each_order_has_its_path_and_members),
        cmocka_unit_test(refusals_come_as_the_service_lists_them),
        cmocka_unit_test(reply_of_more_than_a_mebibyte_is_refused),
        cmocka_unit_test(service_on_a_socket_is_reached),
        cmocka_unit_test(missing_service_is_named_in_the_error),
        cmocka_unit_test(call_outlasts_the_wait_that_it_asks_for),
    };

    return cmocka_run_group_tests_name("runtime_api", tests, NULL, NULL);
}
