/*
 * What the server tells of itself, and its editor and ports.
 */
#include "sandbox/server_status.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/tools_tests.h"

static void server_is_alive_and_ready(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, "GET /alive", "", NULL, 200, "", "{\"status\":\"ok\"}");
    assert_answers(bench, "GET /health", "", NULL, 200, "", "{\"status\":\"ok\"}");
    assert_answers(bench, "GET /ready", "", NULL, 200, "", "{\"status\":\"ready\"}");
}

static double number_at(const json_t *body, const char *first, const char *second,
                        const char *third)
{
    const json_t *value = json_object_get(body, first);

    value = second != NULL ? json_object_get(value, second) : value;
    value = third != NULL ? json_object_get(value, third) : value;
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void server_tells_what_it_uses(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *body = NULL;
    double rss = 0;
    double total = 0;

    bench->server.started_ms = clock_monotonic_ms() - 100000;
    bench->server.last_action_ms = clock_monotonic_ms() - 50000;
    reply = bench_ask(bench, "GET /server_info", "", NULL);
    body = json_loads(reply.body.text, 0, NULL);
    assert_true(number_at(body, "uptime", NULL, NULL) >= 100);
    assert_true(number_at(body, "uptime", NULL, NULL) < 1000);
    assert_true(number_at(body, "idle_time", NULL, NULL) >= 50);
    assert_true(number_at(body, "idle_time", NULL, NULL) < 1000);
    assert_reply(reply, 200, "title", "\"deft-action\"");
    assert_true(json_is_string(json_object_get(body, "version")));
    assert_reply(reply, 200, "runtime_idle_timeout_seconds", NULL);
    rss = number_at(body, "resources", "memory", "rss");
    assert_true(rss > 1000000 && rss < 1e10);
    assert_true(number_at(body, "resources", "memory", "vms") >= rss);
    assert_true(number_at(body, "resources", "memory", "percent") > 0);
    assert_true(number_at(body, "resources", "memory", "percent") < 50);
    total = number_at(body, "resources", "disk", "total");
    assert_true(total > 1e6);
    assert_true(number_at(body, "resources", "disk", "used") > 0);
    assert_true(number_at(body, "resources", "disk", "used") < total);
    assert_true(number_at(body, "resources", "disk", "free") < total);
    assert_true(number_at(body, "resources", "disk", "percent") > 0);
    assert_true(number_at(body, "resources", "disk", "percent") <= 100);
    assert_true(number_at(body, "resources", "io", "read_bytes") >= 0);
    assert_true(number_at(body, "resources", "io", "write_bytes") >= 0);
    assert_true(number_at(body, "resources", "cpu_percent", NULL) >= 0);
    assert_true(number_at(body, "resources", "cpu_percent", NULL) < 100);
}

static void idle_limit_is_told_with_its_cap(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    mem_free((char *)(uintptr_t)bench->config.idle_timeout);
    bench->config.idle_timeout = mem_dup_text("100");
    reply = bench_ask(bench, "GET /server_info", "", NULL);
    assert_reply(reply, 200, "runtime_idle_timeout_seconds", "100.0");
    assert_reply(reply, 200, "max_foreground_terminal_timeout_seconds", "90.0");
}

static void image_without_editor_has_none(void **state)
{
    struct action_bench *bench = *state;

    assert_int_equal(setenv("PATH", bench->folder, 1), 0);
    assert_answers(bench, "POST /editor/status", "", "", 200, "", "{\"running\":false}");
    assert_answers(bench, "POST /editor/start", "", "", 200, "", "{}");
}

static void editor_of_the_image_is_found(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    secret_set(&bench->config.api_key, "key");
    bench_shell(bench,
                "mkdir -p bin root/bin; printf '#!/bin/sh\\necho first; echo why; echo\\n' > "
                "bin/code-server; chmod +x bin/code-server");
    assert_int_equal(setenv("PATH", bench_text(bench, "%s/bin:/bin", bench->workspace), 1), 0);
    reply = bench_ask(bench, "POST /editor/start", "X-Session-API-Key: key\r\n", "");
    assert_reply(reply, 503, "detail", "\"the editor ended: why\"");
    assert_answers(bench, "POST /editor/status", "X-Session-API-Key: key\r\n", "", 200, "program",
                   "\"code-server\"");
    bench_shell(bench, "cp bin/code-server root/bin/openvscode-server");
    assert_int_equal(setenv("OPENVSCODE_SERVER_ROOT", bench_path(bench, "root"), 1), 0);
    assert_answers(bench, "POST /editor/status", "X-Session-API-Key: key\r\n", "", 200, "program",
                   "\"openvscode-server\"");
    assert_int_equal(unsetenv("OPENVSCODE_SERVER_ROOT"), 0);
}

int server_status_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(server_is_alive_and_ready),       BENCH_TEST(server_tells_what_it_uses),
        BENCH_TEST(idle_limit_is_told_with_its_cap), BENCH_TEST(image_without_editor_has_none),
        BENCH_TEST(editor_of_the_image_is_found),
    };

    return cmocka_run_group_tests_name("sandbox/server_status", tests, NULL, NULL);
}
