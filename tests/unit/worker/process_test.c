/*
 * deft-worker as a process, with a database: its options, its settings, and the runs that it
 * takes.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/test_server.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "support/pg.h"
#include "support/program.h"
#include "support/sql.h"
#include "worker/run_fixture.h"
#include "worker/stub_sandbox.h"

#ifndef DEFT_WORKER /* for tools that read this file alone */
#define DEFT_WORKER "./deft-worker"
#endif

#define HELLO "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"
/* The model does not answer while a test runs. */
#define SLOW "{\"turns\": [{\"steps\": [{\"text\": \"late\", \"delay_ms\": 600000}]}]}"

enum { KILLED_STATUS = 137 };

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static int set_up(void **state)
{
    const struct run_fixture *fixture = NULL;

    if (run_fixture_set_up(state) != 0)
        return -1;
    fixture = *state;
    set("DEFT_DATABASE_URL", test_database_url());
    set("DEFT_SECRET_KEY", secret_reveal(&fixture->context.settings.secret_key));
    set("DEFT_CATALOGUE_DIR", DEFT_TOP_SRCDIR "/catalogue");
    set("DEFT_SCRIPTED_DIR", fixture->scripts);
    set("DEFT_RUNTIME_URL", stub_url(fixture->stub));
    set("DEFT_RUNTIME_API_KEY", "runtime-key");
    /* After a failure the end of the process frees everything. */
    set("LSAN_OPTIONS", "detect_leaks=0");
    return 0;
}

/* --- options and settings: runs that end by themselves --- */

struct run {
    int status;
    struct strbuf out;
    struct strbuf err;
};

static void run_done(struct run *run)
{
    strbuf_done(&run->out);
    strbuf_done(&run->err);
}

static struct run run_with(const char *option)
{
    struct run run = {.out = STRBUF_INIT, .err = STRBUF_INIT};
    char path[] = DEFT_WORKER;
    char word[40] = "";
    char *arguments[] = {path, option != NULL ? word : NULL, NULL};

    (void)snprintf(word, sizeof(word), "%s", option != NULL ? option : "");
    run.status = program_run(arguments, &run.out, &run.err);
    return run;
}

static void options_are_answered(void **state)
{
    CLEANUP(run_done) struct run help = run_with("--help");
    CLEANUP(run_done) struct run version = run_with("--version");
    CLEANUP(run_done) struct run unknown = run_with("--nope");

    (void)state;
    assert_int_equal(help.status, 0);
    assert_true(text_starts_with(help.out.text, "Usage: deft-worker "));
    assert_int_equal(version.status, 0);
    assert_true(text_starts_with(version.out.text, "deft-worker "));
    assert_int_equal(unknown.status, EX_USAGE);
    assert_string_equal(unknown.err.text, "deft-worker: unknown option --nope; see --help\n");
    assert_int_equal(unknown.out.len, 0);
}

/* The line of a setting begins with its name and ends with its kind and default. */
static void assert_described(const char *text, const char *name, const char *facts)
{
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    const char *at = NULL;

    strbuf_appendf(&lines, "\n%s", text);
    strbuf_appendf(&line, "\n%s ", name);
    at = strstr(lines.text, line.text);
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
        {"DEFT_DATABASE_URL",
         "(secret, required; or DEFT_DATABASE_URL_FILE, a file that holds it)"},
        {"DEFT_SECRET_KEY", "(secret, required; or DEFT_SECRET_KEY_FILE, a file that holds it)"},
        {"DEFT_WORKER_CONVERSATIONS", "(count, default 100)"},
        {"DEFT_RUN_SLOTS", "(count, default 10)"},
        {"DEFT_RUN_QUEUE", "(count, default 100)"},
        {"DEFT_WORKER_STACK_BYTES", "(bytes, default 131072)"},
        {"DEFT_WORKER_CONNECTIONS", "(count, default 8)"},
        {"DEFT_MODE", "(text)"},
        {"LOG_LEVEL", "(text, default info)"},
        {"DEFT_RUNTIME_URL", "(text, default http://localhost)"},
        {"DEFT_RUNTIME_SOCKET", "(text)"},
        {"DEFT_RUNTIME_API_KEY", "(secret; or DEFT_RUNTIME_API_KEY_FILE, a file that holds it)"},
        {"DEFT_SANDBOX_IMAGE", "(text, default deft-sandbox:1)"},
        {"DEFT_SANDBOX_START_MS", "(milliseconds, default 120000)"},
        {"DEFT_SANDBOX_CHECK_MS", "(milliseconds, default 10000)"},
        {"DEFT_TOOL_TIMEOUT_MS", "(milliseconds, default 1800000)"},
        {"LLM_MODEL", "(text, default scripted/hello)"},
        {"LLM_BASE_URL", "(text)"},
        {"LLM_API_KEY", "(secret; or LLM_API_KEY_FILE, a file that holds it)"},
        {"DEFT_LLM_ALLOW_PRIVATE", "(0 or 1, default 0)"},
        {"DEFT_BUDGET_PER_USER_CENTS", "(count, default 0)"},
        {"DEFT_BUDGET_PER_DAY_CENTS", "(count, default 0)"},
        {"DEFT_BUDGET_UNPRICED", "(0 or 1, default 0)"},
        {"DEFT_MODEL_OUTAGE_MS", "(milliseconds, default 600000)"},
        {"DEFT_CA_FILE", "(text)"},
        {"DEFT_CATALOGUE_DIR", "/catalogue)"},
        {"DEFT_CATALOGUE_OVERRIDES", "(text)"},
        {"DEFT_SCRIPTED_DIR", "(text)"},
        {"OH_SESSION_API_KEYS_0", "(secret; or OH_SESSION_API_KEYS_0_FILE, a file that holds it)"},
        {"DEFT_WEBHOOKS_ALLOW_PRIVATE", "(0 or 1, default 0)"},
        {"DEFT_WEBHOOKS_TIMEOUT_MS", "(milliseconds, default 30000)"},
        {"OH_DEFERRED_INIT", "(0 or 1, default 0)"},
        {"DEFT_CRASH_AT", "(text)"},
    };
    static const char *const of_receivers[][2] = {
        {"BASE_URL", "(text)"},
        {"HEADERS", "a file that holds it)"},
        {"EVENT_BUFFER_SIZE", "(text, default 5)"},
        {"FLUSH_DELAY", "(text, default 30)"},
        {"NUM_RETRIES", "(text, default 3)"},
        {"RETRY_DELAY", "(text, default 5)"},
        {"MAX_QUEUE_SIZE", "(text, default 1000)"},
        {"MAX_BATCH_BYTES", "(text, default 5242880)"},
        {"MAX_QUEUE_BYTES", "(text, default 52428800)"},
    };
    CLEANUP(run_done) struct run described = run_with("--help-config");
    size_t n_lines = 0;

    (void)state;
    assert_int_equal(described.status, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_described(described.out.text, rows[i][0], rows[i][1]);
    for (size_t i = 0; i < 4 * ARRAY_SIZE(of_receivers); i++) {
        char name[60];

        (void)snprintf(name, sizeof(name), "OH_WEBHOOKS_%zu_%s", i / ARRAY_SIZE(of_receivers),
                       of_receivers[i % ARRAY_SIZE(of_receivers)][0]);
        assert_described(described.out.text, name, of_receivers[i % ARRAY_SIZE(of_receivers)][1]);
    }
    for (size_t i = 0; i < described.out.len; i++)
        n_lines += described.out.text[i] == '\n' ? 1 : 0;
    assert_int_equal(n_lines, ARRAY_SIZE(rows) + 4 * ARRAY_SIZE(of_receivers));
}

/* With a setting for one run, which ends with that status and these words. */
static void assert_refused(const char *name, const char *value, int status, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    const char *old = getenv(name);

    strbuf_append(&before, old != NULL ? old : "");
    set(name, value);
    {
        CLEANUP(run_done) struct run run = run_with(NULL);

        if (run.status != status ||
            (strstr(run.err.text, words) == NULL && strstr(run.out.text, words) == NULL))
            fail_msg("%s=%s: %d %s%s", name, value, run.status, run.out.text, run.err.text);
    }
    if (old != NULL)
        set(name, before.text);
    else
        assert_int_equal(unsetenv(name), 0);
}

static void settings_are_checked(void **state)
{
    static const char least[] = "must be at least 1\n";
    static const struct {
        const char *name;
        const char *value;
        const char *words;
    } rows[] = {
        {"DEFT_WORKER_CONVERSATIONS", "0", least},
        {"DEFT_WORKER_CONNECTIONS", "0", least},
        {"DEFT_RUN_SLOTS", "0", least},
        {"DEFT_SANDBOX_CHECK_MS", "0", least},
        {"DEFT_SECRET_KEY", "0011", "deft-worker: DEFT_SECRET_KEY: "},
        {"DEFT_DATABASE_URL", "", "DEFT_DATABASE_URL"},
        {"OH_WEBHOOKS_3_HEADERS", "[]", "OH_WEBHOOKS_3_"},
        {"OH_WEBHOOKS_0_FLUSH_DELAY", "soon", "OH_WEBHOOKS_0_"},
        {"DEFT_CRASH_AT", "nowhere:1", "DEFT_CRASH_AT: no such point\n"},
        {"LOG_LEVEL", "loud", "LOG_LEVEL"},
    };

    (void)state;
    set("OH_WEBHOOKS_0_BASE_URL", "https://one.example");
    set("OH_WEBHOOKS_3_BASE_URL", "https://four.example");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_refused(rows[i].name, rows[i].value, EX_CONFIG, rows[i].words);
    assert_int_equal(unsetenv("OH_WEBHOOKS_0_BASE_URL"), 0);
    assert_int_equal(unsetenv("OH_WEBHOOKS_3_BASE_URL"), 0);
}

static void what_cannot_be_opened_ends_the_process(void **state)
{
    static const char *const rows[][2] = {
        {"DEFT_CATALOGUE_DIR", "/nonexistent/catalogue"},
        {"DEFT_CATALOGUE_OVERRIDES", "/nonexistent/overrides"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_refused(rows[i][0], rows[i][1], EXIT_FAILURE, rows[i][1]);
}

/* --- runs --- */

static struct program serve(void)
{
    char path[] = DEFT_WORKER;
    struct program program = program_start((char *[]){path, NULL});

    assert_true(program_await(&program, "worker.started"));
    return program;
}

static void stop(struct program *program, int signal)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    const char *log = NULL;

    assert_int_equal(kill(program->pid, signal), 0);
    assert_int_equal(program_wait(program, &out, &err), 0);
    log = out.len > 0 ? out.text : err.text;
    assert_non_null(strstr(log, "worker.draining"));
    assert_non_null(strstr(log, "worker.stopped"));
    assert_null(strstr(log, "worker.failed"));
}

static void row_of(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

/* One waits already, one comes later. Each limit is at its least. */
static void runs_are_taken_and_ended(void **state)
{
    static const char *const limits[] = {"DEFT_WORKER_CONVERSATIONS", "DEFT_WORKER_CONNECTIONS",
                                         "DEFT_RUN_SLOTS", "DEFT_SANDBOX_CHECK_MS"};
    struct run_fixture *fixture = *state;
    struct uuid first = run_new_conversation(fixture, HELLO, "{}");
    struct uuid second;
    struct program program;

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        set(limits[i], "1");
    program = serve();
    assert_true(program_await(&program, "run.ended"));
    second = run_new_conversation(fixture, HELLO, "{}");
    assert_true(program_await(&program, "run.ended"));
    stop(&program, SIGTERM);
    assert_row(fixture, &first, "finished/-/-");
    assert_row(fixture, &second, "finished/-/-");
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        assert_int_equal(unsetenv(limits[i]), 0);
}

static void request_to_stop_reaches_a_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    struct program program = serve();
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_true(program_await(&program, "run.claimed"));
    if (conversation_store_request_stop(fixture->context.db, &id, "interrupt", &n_asked, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(program_await(&program, "run.ended"));
    stop(&program, SIGINT);
    assert_row(fixture, &id, "paused/-/-");
}

static void run_under_way_is_handed_over_at_the_end(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    struct program program = serve();

    assert_true(program_await(&program, "run.claimed"));
    stop(&program, SIGTERM);
    assert_row(fixture, &id, "running/wanted/-");
    row_of(&id, "wanted_at = NULL");
}

static void process_ends_at_its_crash_point(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, HELLO, "{}");

    assert_refused("DEFT_CRASH_AT", "claim_committed:1", KILLED_STATUS, "run.claimed");
    assert_row(fixture, &id, "running/wanted/leased");
    row_of(&id, "wanted_at = NULL, lease_owner = NULL, lease_expires_at = NULL");
}

static void webhooks_are_sent(void **state)
{
    static const struct test_reply fine[] = {{.bytes = NULL}};
    struct test_server *receiver = test_server_start(fine, 1, NULL);
    struct run_fixture *fixture = *state;
    struct uuid id;
    struct program program;

    set("OH_WEBHOOKS_0_BASE_URL", test_server_url(receiver, ""));
    set("OH_WEBHOOKS_0_EVENT_BUFFER_SIZE", "1");
    set("DEFT_WEBHOOKS_ALLOW_PRIVATE", "1");
    set("OH_SESSION_API_KEYS_0", "key-of-the-receiver");
    program = serve();
    id = run_new_conversation(fixture, HELLO, "{}");
    assert_true(test_server_wait(receiver, 1));
    assert_true(text_starts_with(test_server_request(receiver, 0), "POST /"));
    assert_non_null(strstr(test_server_request(receiver, 0), "key-of-the-receiver"));
    stop(&program, SIGTERM);
    row_of(&id, "wanted_at = NULL");
    assert_int_equal(unsetenv("OH_WEBHOOKS_0_BASE_URL"), 0);
    assert_int_equal(unsetenv("OH_WEBHOOKS_0_EVENT_BUFFER_SIZE"), 0);
    assert_int_equal(unsetenv("DEFT_WEBHOOKS_ALLOW_PRIVATE"), 0);
    assert_int_equal(unsetenv("OH_SESSION_API_KEYS_0"), 0);
    test_server_stop(receiver);
}

/* Addresses that users give may be private only where no other user is. */
static void mode_decides_on_private_models(void **state)
{
    static const struct test_reply refusal[] = {
        {.bytes = "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"}};
    static const char *const modes[] = {"", "local"};
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        struct test_server *model = test_server_start(refusal, 1, NULL);
        CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
        struct program program;
        struct uuid id;

        strbuf_appendf(&more,
                       "{\"agent\": {\"llm\": {\"model\": \"openai/x\", \"api_key\": \"k\","
                       " \"base_url\": \"%s\"}}}",
                       test_server_url(model, "/v1"));
        id = run_new_conversation(fixture, HELLO, more.text);
        set("DEFT_MODE", modes[i]);
        program = serve();
        assert_true(program_await(&program, "run.ended"));
        stop(&program, SIGTERM);
        assert_row(fixture, &id, "error/-/-");
        assert_int_equal(test_server_n_requests(model) > 0, i == 1);
        test_server_stop(model);
    }
    assert_int_equal(unsetenv("DEFT_MODE"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_answered),
        cmocka_unit_test(settings_have_their_defaults),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(what_cannot_be_opened_ends_the_process),
        cmocka_unit_test(runs_are_taken_and_ended),
        cmocka_unit_test(request_to_stop_reaches_a_run),
        cmocka_unit_test(run_under_way_is_handed_over_at_the_end),
        cmocka_unit_test(process_ends_at_its_crash_point),
        cmocka_unit_test(webhooks_are_sent),
        cmocka_unit_test(mode_decides_on_private_models),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, set_up, run_fixture_tear_down);
}
