/*
 * deft-fcgi as a process, with a database: its options, its settings, and the sockets that it
 * serves.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <cmocka.h>

#include "auth/wrong_keys.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/test_server.h"
#include "process_run.h"
#include "support/fastcgi_client.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/program.h"

/* --- options --- */

static void options_are_described(void **state)
{
    static const char *const named[] = {
        "Usage: deft-fcgi ", "--new-key NAME ",  "--new-runtime-key NAME\n",
        "--list-keys ",      "--revoke-key ID ", "--new-link ",
        "--hash-key ",
    };
    RUN(help, "--help", NULL);
    RUN(version, "--version", NULL);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        assert_run(&help, 0, named[i], "");
    assert_int_equal(version.status, 0);
    assert_true(text_starts_with(version.out.text, "deft-fcgi "));
}

static void options_need_their_argument(void **state)
{
    static const char *const wrong[][2] = {
        {"--new-key", NULL},    {"--new-runtime-key", NULL},
        {"--revoke-key", NULL}, {"--new-link", "x"},
        {"--list-keys", "x"},   {"--hash-key", "x"},
        {"--nope", NULL},       {"name", NULL},
        {"--new", "x"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        RUN(refused, wrong[i][0], wrong[i][1]);
        char words[100];

        (void)snprintf(words, sizeof(words), "deft-fcgi: unknown option %s; see --help\n",
                       wrong[i][0]);
        assert_run(&refused, EX_USAGE, "", words);
        assert_int_equal(refused.out.len, 0);
    }
}

/* --- settings --- */

/* The line of a setting ends with this, in brackets. */
static void assert_described(const char *text, const char *name, const char *facts)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    const char *at = text_starts_with(text, name) ? text : NULL;

    strbuf_appendf(&line, "\n%s ", name);
    if (at == NULL)
        at = strstr(text, line.text);
    if (at == NULL)
        fail_msg("no %s in %s", name, text);
    strbuf_reset(&line);
    strbuf_append_bytes(&line, at + 1, strcspn(at + 1, "\n"));
    if (!text_ends_with(line.text, facts))
        fail_msg("expected '%s' at the end of %s", facts, line.text);
}

static void settings_have_their_defaults(void **state)
{
    static const char *const rows[][2] = {
        {"DEFT_FCGI_SOCKET", "(text, required)"},
        {"DEFT_FCGI_THREADS", "(count, default 32)"},
        {"DEFT_FCGI_SANDBOX_SOCKET", "(text)"},
        {"DEFT_FCGI_SANDBOX_THREADS", "(count, default 64)"},
        {"DEFT_FCGI_STREAM_SOCKET", "(text)"},
        {"DEFT_FCGI_STREAM_THREADS", "(count, default 64)"},
        {"DEFT_FCGI_PROBE_SOCKET", "(text)"},
        {"DEFT_DATABASE_URL",
         "(secret, required; or DEFT_DATABASE_URL_FILE, a file that holds it)"},
        {"DEFT_SECRET_KEY", "(secret, required; or DEFT_SECRET_KEY_FILE, a file that holds it)"},
        {"DEFT_RUNTIME_URL", "(text, default http://localhost)"},
        {"DEFT_RUNTIME_SOCKET", "(text)"},
        {"DEFT_RUNTIME_API_KEY", "(secret; or DEFT_RUNTIME_API_KEY_FILE, a file that holds it)"},
        {"DEFT_SANDBOX_IMAGE", "(text, default deft-sandbox:1)"},
        {"DEFT_SANDBOX_BROWSER", "(0 or 1, default 0)"},
        {"DEFT_SANDBOX_MAX_MEMORY_BYTES", "(bytes, default 68719476736)"},
        {"DEFT_SANDBOX_MAX_NANO_CPUS", "(count, default 64000000000)"},
        {"OH_SANDBOX_MAX_NUM_SANDBOXES", "(count, default 5)"},
        {"OH_SANDBOX_STARTUP_GRACE_SECONDS", "(count, default 15)"},
        {"DEFT_CONVERSATION_RUNTIME", "(text, default local)"},
        {"DEFT_RUN_SLOTS", "(count, default 10)"},
        {"DEFT_RUN_QUEUE", "(count, default 100)"},
        {"DEFT_BUDGET_PER_USER_CENTS", "(count, default 0)"},
        {"DEFT_BUDGET_PER_DAY_CENTS", "(count, default 0)"},
        {"DEFT_ANSWER_WAIT_MS", "(milliseconds, default 1800000)"},
        {"LLM_MODEL", "(text)"},
        {"LLM_BASE_URL", "(text)"},
        {"LLM_API_KEY", "(secret; or LLM_API_KEY_FILE, a file that holds it)"},
        {"DEFT_SCRIPTED_DIR", "(text)"},
        {"DEFT_CATALOGUE_DIR", "/catalogue)"},
        {"DEFT_CATALOGUE_OVERRIDES", "(text)"},
        {"DEFT_MODELS_FILE", "/models.json)"},
        {"DEFT_CA_FILE", "(text)"},
        {"DEFT_MODE", "(text)"},
        {"DEFT_LLM_ALLOW_PRIVATE", "(0 or 1, default 0)"},
        {"DEFT_APP_URL", "(text, default http://localhost:3000)"},
        {"DEFT_AGENT_URL", "(text, default http://localhost:8000)"},
        {"DEFT_SESSION_COOKIE", "(text, default deft_session)"},
        {"DEFT_CORS_ORIGINS", "(text)"},
        {"OH_DEFERRED_INIT", "(0 or 1, default 0)"},
        {"OH_SECRET_KEY", "(secret; or OH_SECRET_KEY_FILE, a file that holds it)"},
        {"LOG_LEVEL", "(text, default info)"},
        {"DEFT_CRASH_AT", "(text)"},
    };
    RUN(described, "--help-config", NULL);
    size_t n_lines = 0;

    (void)state;
    assert_int_equal(described.status, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_described(described.out.text, rows[i][0], rows[i][1]);
    for (size_t i = 0; i < described.out.len; i++)
        n_lines += described.out.text[i] == '\n' ? 1 : 0;
    assert_int_equal(n_lines, ARRAY_SIZE(rows));
}

/* With a setting for one run; NULL: the run ends well. */
static void assert_setting(const char *name, const char *value, const char *complaint)
{
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    const char *old = getenv(name);

    strbuf_append(&before, old != NULL ? old : "");
    process_set(name, value);
    {
        RUN(once, "--hash-key", NULL);

        if (complaint == NULL ? once.status != 0 : once.status != EX_CONFIG)
            fail_msg("%s=%s: %d %s", name, value, once.status, once.err.text);
        assert_non_null(strstr(once.err.text, complaint != NULL ? complaint : ""));
    }
    process_set(name, before.text);
}

static void settings_are_checked(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        const char *complaint;
    } rows[] = {
        {"DEFT_FCGI_THREADS", "0", "deft-fcgi: DEFT_FCGI_THREADS must be from 1 to 512\n"},
        {"DEFT_FCGI_THREADS", "1", NULL},
        {"DEFT_FCGI_THREADS", "512", NULL},
        {"DEFT_FCGI_THREADS", "513", "DEFT_FCGI_THREADS must be from 1 to 512\n"},
        {"DEFT_FCGI_SANDBOX_THREADS", "0", "DEFT_FCGI_SANDBOX_THREADS must be from 1 to 512\n"},
        {"DEFT_FCGI_STREAM_THREADS", "513", "DEFT_FCGI_STREAM_THREADS must be from 1 to 512\n"},
        {"OH_SANDBOX_MAX_NUM_SANDBOXES", "0", "OH_SANDBOX_MAX_NUM_SANDBOXES must be at least 1\n"},
        {"OH_SANDBOX_MAX_NUM_SANDBOXES", "1", NULL},
        {"DEFT_CONVERSATION_RUNTIME", "docker", NULL},
        {"DEFT_CONVERSATION_RUNTIME", "podman",
         "DEFT_CONVERSATION_RUNTIME must be local or docker\n"},
        {"OH_DEFERRED_INIT", "1", "OH_DEFERRED_INIT needs OH_SECRET_KEY\n"},
        {"OH_SECRET_KEY", "alone", NULL},
        {"DEFT_SECRET_KEY", "0011", "deft-fcgi: DEFT_SECRET_KEY: "},
        {"DEFT_CRASH_AT", "nowhere:1", "DEFT_CRASH_AT: no such point\n"},
        {"LOG_LEVEL", "loud", "LOG_LEVEL"},
        {"DEFT_FCGI_SOCKET", "", "DEFT_FCGI_SOCKET"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_setting(rows[i].name, rows[i].value, rows[i].complaint);
    process_set("OH_SECRET_KEY", "key");
    assert_setting("OH_DEFERRED_INIT", "1", NULL);
    assert_int_equal(unsetenv("OH_SECRET_KEY"), 0);
}

static void what_cannot_be_opened_is_named(void **state)
{
    static const char *const rows[][2] = {
        {"DEFT_CATALOGUE_DIR", "/nonexistent/catalogue"},
        {"DEFT_CATALOGUE_OVERRIDES", "/nonexistent/overrides"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
        const char *old = getenv(rows[i][0]);

        strbuf_append(&before, old != NULL ? old : "");
        process_set(rows[i][0], rows[i][1]);
        {
            RUN(failed, NULL, NULL);

            assert_int_not_equal(failed.status, 0);
            assert_non_null(strstr(failed.err.text, rows[i][1]));
        }
        process_set(rows[i][0], before.text);
    }
}

/* --- serving --- */

static struct program serve(void)
{
    char path[] = DEFT_FCGI;
    struct program program = program_start((char *[]){path, NULL});

    assert_true(program_await(&program, "process.started"));
    return program;
}

static void stop(struct program *program)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;

    assert_int_equal(kill(program->pid, SIGTERM), 0);
    assert_int_equal(program_wait(program, &out, &err), 0);
    assert_non_null(strstr(out.len > 0 ? out.text : err.text, "process.ended"));
}

/* Reads the answer's body; its status is that. */
static void read_answer(int fd, int status, struct strbuf *body_out)
{
    CLEANUP(strbuf_done) struct strbuf output = STRBUF_INIT;
    char expected[30];
    const char *end = NULL;

    fastcgi_read_output(fd, &output);
    (void)snprintf(expected, sizeof(expected), "Status: %d", status);
    end = strstr(output.text, "\r\n\r\n");
    if (!text_starts_with(output.text, expected) || end == NULL)
        fail_msg("%s", output.text);
    strbuf_reset(body_out);
    strbuf_append(body_out, end + 4);
}

/* The answer's body; its status is that. credential: "NAME=value". */
static void ask(size_t i, const char *uri, const char *credential, int status,
                struct strbuf *body_out)
{
    char path[80];
    char param[80];
    int fd = -1;

    process_socket_path(i, path);
    (void)snprintf(param, sizeof(param), "REQUEST_URI=%s", uri);
    fd = fastcgi_begin(
        path, (const char *[]){"REQUEST_METHOD=GET", "DEFT_ORIGIN=agent", param, credential, NULL});
    fastcgi_send_body(fd, "", 0);
    read_answer(fd, status, body_out);
}

static void post(const char *uri, const char *credential, const char *body, struct strbuf *body_out)
{
    char path[80];
    char param[80];
    char length[40];
    int fd = -1;

    process_socket_path(0, path);
    (void)snprintf(param, sizeof(param), "REQUEST_URI=%s", uri);
    (void)snprintf(length, sizeof(length), "CONTENT_LENGTH=%zu", strlen(body));
    fd = fastcgi_begin(path, (const char *[]){"REQUEST_METHOD=POST", "DEFT_ORIGIN=agent",
                                              "CONTENT_TYPE=application/json", param, length,
                                              credential, NULL});
    fastcgi_send_body(fd, body, strlen(body));
    fastcgi_send_body(fd, "", 0);
    read_answer(fd, 200, body_out);
}

static void each_socket_answers_until_the_process_ends(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct program program = serve();
    char path[80];
    struct stat facts;

    (void)state;
    for (size_t i = 0; i < PROCESS_N_SOCKETS; i++) {
        process_socket_path(i, path);
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0660);
        ask(i, "/health", "A=", 200, &body);
        assert_json_at(body.text, "", "{\"status\":\"ok\"}");
        ask(i, "/ready", "A=", 200, &body);
    }
    {
        RUN(second, NULL, NULL);

        assert_int_equal(second.status, EXIT_FAILURE);
        process_socket_path(0, path);
        assert_non_null(strstr(second.err.text, path));
    }
    stop(&program);
    for (size_t i = 0; i < PROCESS_N_SOCKETS; i++) {
        process_socket_path(i, path);
        assert_int_equal(access(path, F_OK), -1);
    }
}

static void sockets_without_a_path_are_none(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct program program;
    char path[80];

    (void)state;
    for (size_t i = 1; i < PROCESS_N_SOCKETS; i++)
        process_set(process_socket_setting(i), "");
    program = serve();
    ask(0, "/health", "A=", 200, &body);
    for (size_t i = 0; i < PROCESS_N_SOCKETS; i++) {
        process_socket_path(i, path);
        assert_int_equal(access(path, F_OK), i == 0 ? 0 : -1);
    }
    stop(&program);
    for (size_t i = 1; i < PROCESS_N_SOCKETS; i++) {
        process_socket_path(i, path);
        process_set(process_socket_setting(i), path);
    }
}

static void new_key_opens_the_api(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char credential[120];
    struct program program;
    RUN(key, "--new-key", "laptop");

    (void)state;
    (void)snprintf(credential, sizeof(credential), "HTTP_X_SESSION_API_KEY=%.*s",
                   (int)strcspn(key.out.text, "\n"), key.out.text);
    process_set("DEFT_CONVERSATION_RUNTIME", "docker");
    program = serve();
    ask(0, "/api/conversations/count", credential, 200, &body);
    assert_string_equal(body.text, "0");
    ask(0, "/api/conversations/count", "HTTP_X_SESSION_API_KEY=wrong", 401, &body);
    ask(0, "/server_info", "A=", 200, &body);
    assert_json_at(body.text, "conversation_runtime", "\"docker\"");
    stop(&program);
    process_set("DEFT_CONVERSATION_RUNTIME", "local");
    program = serve();
    ask(0, "/server_info", "A=", 200, &body);
    assert_json_at(body.text, "conversation_runtime", "\"local\"");
    stop(&program);
}

static void models_are_called_as_configured(void **state)
{
    static const char path[] = "/api/profiles/test/validate";
    static const char hello[] = "{\"llm\":{\"model\":\"scripted/hello\"}}";
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char credential[120];
    struct program program;
    RUN(key, "--new-key", "laptop");

    (void)state;
    (void)snprintf(credential, sizeof(credential), "HTTP_X_SESSION_API_KEY=%.*s",
                   (int)strcspn(key.out.text, "\n"), key.out.text);
    process_set("DEFT_SCRIPTED_DIR", DEFT_TOP_SRCDIR "/scripted");
    program = serve();
    post(path, credential, hello, &body);
    assert_json_at(body.text, "valid", "true");
    stop(&program);
    process_set("DEFT_SCRIPTED_DIR", "");
    program = serve();
    post(path, credential, hello, &body);
    assert_json_at(body.text, "valid", "false");
    stop(&program);
}

/* Addresses that users give may be private only where no other user is. */
static void mode_decides_on_private_models(void **state)
{
    static const struct test_reply refusal[] = {
        {.bytes = "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"}};
    static const char *const modes[] = {"", "local"};
    char credential[120];
    RUN(key, "--new-key", "laptop");

    (void)state;
    (void)snprintf(credential, sizeof(credential), "HTTP_X_SESSION_API_KEY=%.*s",
                   (int)strcspn(key.out.text, "\n"), key.out.text);
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        struct test_server *model = test_server_start(refusal, 1, NULL);
        CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        struct program program;

        strbuf_appendf(&asked,
                       "{\"llm\":{\"model\":\"openai/x\",\"api_key\":\"k\",\"base_url\":\"%s\"}}",
                       test_server_url(model, "/v1"));
        process_set("DEFT_MODE", modes[i]);
        program = serve();
        post("/api/profiles/test/validate", credential, asked.text, &body);
        stop(&program);
        assert_json_at(body.text, "valid", "false");
        assert_int_equal(test_server_n_requests(model) > 0, i == 1);
        test_server_stop(model);
    }
    assert_int_equal(unsetenv("DEFT_MODE"), 0);
}

/* Each address has a number of guesses, over all sockets. */
static void wrong_keys_are_counted(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct program program = serve();

    (void)state;
    for (size_t i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
        ask(i % 2, "/api/conversations/count", "HTTP_X_SESSION_API_KEY=wrong", 401, &body);
    ask(0, "/api/conversations/count", "HTTP_X_SESSION_API_KEY=wrong", 429, &body);
    stop(&program);
}

/* A request that waits for another service is answered before the process ends. */
static void requests_under_way_are_answered_at_the_end(void **state)
{
    static const struct test_reply silence[] = {{.bytes = "", .ending = TEST_HOLD}};
    struct test_server *service = test_server_start(silence, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf output = STRBUF_INIT;
    char credential[120];
    char path[80];
    struct program program;
    int fd = -1;
    RUN(key, "--new-key", "laptop");

    (void)state;
    (void)snprintf(credential, sizeof(credential), "HTTP_X_SESSION_API_KEY=%.*s",
                   (int)strcspn(key.out.text, "\n"), key.out.text);
    process_set("DEFT_RUNTIME_URL", test_server_url(service, ""));
    program = serve();
    process_socket_path(0, path);
    fd = fastcgi_begin(path, (const char *[]){"REQUEST_METHOD=GET", "DEFT_ORIGIN=agent",
                                              "REQUEST_URI=/api/bash/bash_events/search",
                                              credential, NULL});
    fastcgi_send_body(fd, "", 0);
    assert_true(test_server_wait(service, 1));
    stop(&program);
    fastcgi_read_output(fd, &output);
    assert_true(text_starts_with(output.text, "Status: "));
    assert_int_equal(unsetenv("DEFT_RUNTIME_URL"), 0);
    test_server_stop(service);
}

static void deferred_start_refuses_requests(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct program program;

    (void)state;
    process_set("OH_DEFERRED_INIT", "1");
    process_set("OH_SECRET_KEY", "key-of-the-operator");
    program = serve();
    ask(0, "/api/init", "A=", 200, &body);
    assert_json_at(body.text, "state", "\"dormant\"");
    ask(0, "/api/conversations/count", "A=", 503, &body);
    stop(&program);
    assert_int_equal(unsetenv("OH_DEFERRED_INIT"), 0);
    assert_int_equal(unsetenv("OH_SECRET_KEY"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_described),
        cmocka_unit_test(options_need_their_argument),
        cmocka_unit_test(settings_have_their_defaults),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(what_cannot_be_opened_is_named),
        cmocka_unit_test(each_socket_answers_until_the_process_ends),
        cmocka_unit_test(sockets_without_a_path_are_none),
        cmocka_unit_test(new_key_opens_the_api),
        cmocka_unit_test(models_are_called_as_configured),
        cmocka_unit_test(mode_decides_on_private_models),
        cmocka_unit_test(wrong_keys_are_counted),
        cmocka_unit_test(requests_under_way_are_answered_at_the_end),
        cmocka_unit_test(deferred_start_refuses_requests),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, process_set_up, process_tear_down);
}
