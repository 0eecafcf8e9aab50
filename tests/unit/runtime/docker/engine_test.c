/*
 * Calls to the engine: what is sent, and which error a response becomes.
 */
#include "runtime/docker/engine.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "client/http.h"
#include "unit/runtime/docker/docker_fixture.h"

static int call(struct docker_fixture *fixture, const char *method, const char *path,
                json_t **reply_out)
{
    fixture->err = (struct error)ERROR_INIT;
    return engine_call(&fixture->docker->engine,
                       &(struct engine_request){.method = method, .path = path}, reply_out,
                       &fixture->err);
}

static void statuses_are_errors(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum error_code code;
        const char *message;
    } cases[] = {
        {200, "{}", ERROR_NONE, ""},
        {204, NULL, ERROR_NONE, ""},
        {304, NULL, ERROR_NONE, ""},
        {399, "{}", ERROR_NONE, ""},
        {400, "{\"message\":\"a\"}", ERROR_INVALID, "the container engine replied 400: a"},
        {403, "{\"message\":\"b\"}", ERROR_INVALID, "the container engine replied 403: b"},
        {404, "{\"message\":\"c\"}", ERROR_NOT_FOUND, "the container engine replied 404: c"},
        {409, "{\"message\":\"d\"}", ERROR_CONFLICT, "the container engine replied 409: d"},
        {401, "{}", ERROR_INTERNAL, "the container engine replied 401: nothing"},
        {500, "no JSON", ERROR_INTERNAL, "the container engine replied 500: nothing"},
        {503, NULL, ERROR_INTERNAL, "the container engine replied 503: nothing"},
    };
    struct docker_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_set(fixture->engine, "GET /x", cases[i].status, cases[i].body);
        assert_int_equal(call(fixture, "GET", "/x", NULL), cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(fixture->err.code, cases[i].code);
        if (cases[i].code != ERROR_NONE)
            assert_string_equal(fixture->err.message, cases[i].message);
    }
}

static void reply_is_json_or_nothing(void **state)
{
    struct docker_fixture *fixture = *state;
    json_auto_t *reply = NULL;
    json_t *none = (json_t *)fixture;

    fake_engine_set(fixture->engine, "GET /object", 200, "{\"a\":3}");
    fake_engine_set(fixture->engine, "GET /empty", 200, NULL);
    fake_engine_set(fixture->engine, "GET /text", 200, "OK");
    assert_int_equal(call(fixture, "GET", "/object", &reply), 0);
    assert_int_equal(json_int_or(reply, "a", 0), 3);
    assert_int_equal(call(fixture, "GET", "/empty", &none), 0);
    assert_null(none);
    assert_int_equal(call(fixture, "GET", "/text", NULL), 0);
    assert_int_equal(call(fixture, "GET", "/text", &none), -1);
    assert_int_equal(fixture->err.code, ERROR_INVALID);
    assert_int_equal(strncmp(fixture->err.message, "container engine's answer to /text: ", 36), 0);
}

static void body_is_sent(void **state)
{
    struct docker_fixture *fixture = *state;
    json_auto_t *body = json_object();
    struct engine_request request = {.method = "POST", .path = "/x?y=1", .body = body};

    json_put_text(body, "a", "b");
    fake_engine_set(fixture->engine, "POST /x", 200, "{}");
    assert_int_equal(engine_call(&fixture->docker->engine, &request, NULL, &fixture->err), 0);
    assert_string_equal(fake_engine_body(fixture->engine, "POST /x", NULL), "{\"a\":\"b\"}");
    assert_asked(fixture, "POST /x?y=1;");
}

static void version_is_in_the_path(void **state)
{
    struct docker_fixture *fixture = *state;

    fixture->docker->engine.version = "1.40";
    assert_int_equal(call(fixture, "GET", "/info", NULL), -1);
    assert_asked(fixture, "GET /v1.40/info;");
}

static void engine_that_is_away_is_unavailable(void **state)
{
    struct docker_fixture *fixture = *state;
    struct engine_request slow = {.method = "GET", .path = "/slow", .timeout_ms = 50};

    fake_engine_add(fixture->engine,
                    &(struct engine_reply){.request = "GET /slow", .is_held = true});
    assert_int_equal(engine_call(&fixture->docker->engine, &slow, NULL, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_TIMEOUT);
    fixture->docker->engine.socket = "/nonexistent/socket";
    assert_int_equal(call(fixture, "GET", "/x", NULL), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_int_equal(strncmp(fixture->err.message, "container engine: ", 18), 0);
}

static void archives_are_sent_as_they_are(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    size_t len = 0;

    strbuf_append_bytes(&archive, "a\0b", 3);
    assert_int_equal(
        engine_put_archive(&fixture->docker->engine, "/containers/x", &archive, &fixture->err), 0);
    assert_memory_equal(fake_engine_body(fixture->engine, "PUT /containers/x", &len), "a\0b", 3);
    assert_int_equal(len, 3);
    fake_engine_set(fixture->engine, "PUT /containers/", 409, NULL);
    assert_int_equal(
        engine_put_archive(&fixture->docker->engine, "/containers/x", &archive, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_CONFLICT);
}

/* The engine has begun to answer with 200 by the time it fails. */
static void failure_of_a_load_is_in_its_stream(void **state)
{
    static const struct {
        const char *body;
        const char *message; /* NULL: it succeeds */
    } cases[] = {
        {NULL, NULL},
        {"{\"status\":\"Pulling\"}\r\n{\"status\":\"Done\"}\r\n", NULL},
        {"no JSON\n{\"status\":\"Done\"}", NULL},
        {"{\"status\":\"Pulling\"}\n{\"error\":\"denied\"}\n", "denied"},
        {"{\"status\":\"Pulling\"}\n{\"error\":\"no newline\"}", "no newline"},
        {"{\"error\":\"first\"}\n{\"error\":\"second\"}\n", "first"},
    };
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_set(fixture->engine, "POST /images/create", 200, cases[i].body);
        fixture->err = (struct error)ERROR_INIT;
        assert_int_equal(
            engine_load_image(&fixture->docker->engine, "/images/create", &archive, &fixture->err),
            cases[i].message == NULL ? 0 : -1);
        if (cases[i].message != NULL) {
            assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
            assert_string_equal(fixture->err.message, cases[i].message);
        }
        assert_string_equal(fake_engine_body(fixture->engine, "POST /images/create", NULL), "");
    }
    strbuf_append(&archive, "tar");
    fake_engine_set(fixture->engine, "POST /images/create", 200, NULL);
    assert_int_equal(
        engine_load_image(&fixture->docker->engine, "/images/create", &archive, &fixture->err), 0);
    assert_string_equal(fake_engine_body(fixture->engine, "POST /images/create", NULL), "tar");
    fake_engine_set(fixture->engine, "POST /images/create", 404, NULL);
    assert_int_equal(
        engine_load_image(&fixture->docker->engine, "/images/create", &archive, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
}

static void stream_ends_when_its_time_is_up(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(http_call_freep) struct http_call *held = NULL;
    const char *bytes = NULL;
    size_t len = 0;

    fake_engine_set(fixture->engine, "GET /events", 200, "one");
    assert_int_equal(engine_stream(&fixture->docker->engine, "/events", 0, &call, &fixture->err),
                     0);
    assert_int_equal(http_call_read(call, &bytes, &len, &fixture->err), 0);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "one", 3);
    assert_int_equal(http_call_read(call, &bytes, &len, &fixture->err), 0);
    assert_int_equal(len, 0);
    fake_engine_add(fixture->engine,
                    &(struct engine_reply){.request = "GET /events", .is_held = true});
    assert_int_equal(engine_stream(&fixture->docker->engine, "/events", 50, &held, &fixture->err),
                     0);
    assert_int_equal(http_call_read(held, &bytes, &len, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_TIMEOUT);
    assert_asked(fixture, "GET /events;GET /events;");
}

/* An engine that shuts down answers on connections that it has, and does half of what it is asked.
 */
static void each_call_has_a_connection_of_its_own(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "GET /x", 200, "{}");
    for (int i = 0; i < 3; i++)
        assert_int_equal(call(fixture, "GET", "/x", NULL), 0);
    assert_int_equal(fake_engine_n_connections(fixture->engine), 3);
}

static void label_filter_is_encoded(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    (void)state;
    strbuf_append(&path, "/x?");
    engine_append_label_filter(&path, "deft.instance", "inst");
    assert_string_equal(path.text, "/x?" FILTER_OURS);
}

int docker_engine_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(statuses_are_errors),
        DOCKER_TEST(reply_is_json_or_nothing),
        DOCKER_TEST(body_is_sent),
        DOCKER_TEST(version_is_in_the_path),
        DOCKER_TEST(engine_that_is_away_is_unavailable),
        DOCKER_TEST(archives_are_sent_as_they_are),
        DOCKER_TEST(failure_of_a_load_is_in_its_stream),
        DOCKER_TEST(stream_ends_when_its_time_is_up),
        DOCKER_TEST(each_call_has_a_connection_of_its_own),
        DOCKER_TEST(label_filter_is_encoded),
    };

    return cmocka_run_group_tests_name("runtime/docker/engine", tests, NULL, NULL);
}
