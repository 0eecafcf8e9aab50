/*
 * Checkpoints by the routes of a whole server: taking, setting back, copying to another sandbox.
 */
#include "sandbox/checkpoint/checkpoint_routes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/checkpoint/checkpoint_tests.h"
#include "unit/sandbox/terminal/terminal_calls.h"

#define POST(route) "POST /checkpoints/" route

static json_t *ask(struct action_bench *bench, const char *line, const char *body, int status)
{
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, line, CALLS_HEADERS, body);
    json_t *json = json_loads(reply.body.text, 0, NULL);

    if (reply.status != status || json == NULL)
        fail_msg("status %d: %s", reply.status, reply.body.text);
    return json;
}

static const char *working_dir(struct action_bench *bench, const char *more)
{
    return bench_text(bench, "{\"working_dir\":\"%s\"%s}", bench->workspace, more);
}

/* The id of a checkpoint that is taken now. */
static const char *take(struct action_bench *bench)
{
    json_auto_t *reply = ask(bench, POST("take"), working_dir(bench, ""), 200);

    assert_int_equal(strlen(json_text_or(reply, "id", "")), 64);
    return bench_text(bench, "%s", json_text_or(reply, "id", ""));
}

static json_t *set_back(struct action_bench *bench, const char *action, const char *id)
{
    return ask(
        bench, bench_text(bench, "PUT /actions/%s", action),
        bench_text(bench,
                   "{\"tool\":\"checkpoint\",\"args\":{\"id\":\"%s\"},\"working_dir\":\"%s\"}", id,
                   bench->workspace),
        200);
}

static json_int_t number_at(const json_t *reply, const char *name)
{
    return json_int_or(json_object_get(reply, "observation"), name, -1);
}

static void checkpoint_is_taken_and_told(void **state)
{
    struct action_bench *bench = *state;
    json_auto_t *reply = NULL;

    bench_write(bench, "d/file", "1");
    bench_shell(bench, "truncate -s 20000000 large");
    reply = ask(bench, POST("take"), working_dir(bench, ",\"timeout_ms\":20000"), 200);
    assert_int_equal(json_int_or(reply, "n_files", -1), 1);
    assert_int_equal(json_int_or(reply, "n_read", -1), 1);
    assert_int_equal(json_int_or(reply, "n_skipped", -1), 1);
    assert_int_equal(json_array_size(json_object_get(reply, "skipped")), 1);
}

static void that_there_is_none_is_an_answer(void **state)
{
    struct action_bench *bench = *state;
    json_auto_t *reply = NULL;

    bench_write(bench, "file", "1");
    reply = ask(bench, POST("take"),
                bench_text(bench, "{\"working_dir\":\"%s/file\"}", bench->workspace), 200);
    assert_true(json_is_null(json_object_get(reply, "id")));
    assert_non_null(strstr(json_text_or(reply, "reason", ""), "Not a directory"));
}

static void malformed_requests_are_refused(void **state)
{
    static const struct {
        const char *line;
        const char *body;
    } rows[] = {
        {POST("take"), "{\"working_dir\":\"x\"}"},
        {POST("take"), "{}"},
        {POST("take"), "x"},
        {POST("missing"), "{\"id\":\"x\"}"},
        {POST("missing"), "{}"},
        {POST("read"), "{}"},
        {POST("read"), "{\"ids\":[\"../x\"]}"},
        {POST("read"), "{\"ids\":[7]}"},
        {POST("write"), "{\"objects\":[{\"id\":\"x\",\"data\":\"\"}]}"},
        {POST("write"), "{\"objects\":[7]}"},
        {"PUT /actions/bad", "{\"tool\":\"checkpoint\",\"args\":{}}"},
        {"PUT /actions/bad", "{\"tool\":\"checkpoint\",\"args\":{\"id\":\"x\"}}"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        json_decref(ask(bench, rows[i].line, rows[i].body, 400));
}

static void action_sets_back_once_and_keeps_what_was_there(void **state)
{
    struct action_bench *bench = *state;
    json_auto_t *first = NULL;
    json_auto_t *again = NULL;
    json_auto_t *undone = NULL;
    const char *then = NULL;

    bench_write(bench, "file", "1");
    then = take(bench);
    bench_write(bench, "file", "2");
    bench_write(bench, "new", "3");
    first = set_back(bench, "a1", then);
    assert_file(bench, "file", "1");
    assert_false(bench_has(bench, "new"));
    assert_int_equal(number_at(first, "n_written"), 1);
    assert_int_equal(number_at(first, "n_removed"), 1);
    bench_write(bench, "file", "4");
    again = set_back(bench, "a1", then);
    assert_true(json_equal(first, again));
    assert_file(bench, "file", "4");
    undone =
        set_back(bench, "a2", json_text_or(json_object_get(first, "observation"), "before", ""));
    assert_file(bench, "file", "2");
    assert_file(bench, "new", "3");
    assert_int_equal(number_at(undone, "n_written"), 2);
}

/* Half a restore is worse than one that ends a little later. */
static void interrupt_does_not_end_a_restore(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int lock = -1;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    const char *then = NULL;
    int client = -1;

    bench_write(bench, "file", "1");
    then = take(bench);
    bench_write(bench, "file", "2");
    /* The restore waits for the store. */
    lock = open(bench_text(bench, "%s/checkpoints/lock", bench->config.journal_dir),
                O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    client = bench_send(bench, "PUT /actions/held", CALLS_HEADERS,
                        bench_text(bench,
                                   "{\"tool\":\"checkpoint\",\"args\":{\"id\":\"%s\"},"
                                   "\"working_dir\":\"%s\"}",
                                   then, bench->workspace));
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", CALLS_HEADERS,
                   "{}", 200, "success", "true");
    assert_answers(bench, "GET /actions/held", CALLS_HEADERS, NULL, 200, "state", "\"running\"");
    assert_int_equal(flock(lock, LOCK_UN), 0);
    reply = bench_receive(bench, client);
    assert_reply(reply, 200, "observation.is_error", "false");
    assert_file(bench, "file", "1");
}

static void unknown_checkpoint_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    json_auto_t *reply = NULL;
    const json_t *observation = NULL;

    bench_write(bench, "file", "1");
    reply =
        set_back(bench, "a1", "00000000000000000000000000000000000000000000000000000000000000ff");
    observation = json_object_get(reply, "observation");
    assert_true(json_is_true(json_object_get(observation, "is_error")));
    assert_non_null(
        strstr(json_text_or(json_array_get(json_object_get(observation, "content"), 0), "text", ""),
               "is missing"));
    assert_int_equal(strlen(json_text_or(observation, "before", "")), 64);
    assert_file(bench, "file", "1");
}

/* All objects of a checkpoint; one round may not bring them all. */
static json_t *read_all(struct action_bench *bench, const char *ids)
{
    return ask(bench, POST("read"), ids, 200);
}

static void objects_are_copied_to_another_store(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(mem_freep) char *stash = NULL;
    json_auto_t *kept = json_array();
    json_auto_t *reply = NULL;
    const char *id = NULL;
    size_t n_rounds = 0;

    bench_write(bench, "a", "1");
    bench_write(bench, "d/b", "2");
    bench_write(bench, "d/e/c", "2");
    id = take(bench);
    bench_shell(bench, bench_text(bench, "mv %s/checkpoints %s/holder; rm -r a d",
                                  bench->config.journal_dir, bench->config.journal_dir));
    for (n_rounds = 0; n_rounds < 10; n_rounds++) {
        json_auto_t *missing =
            ask(bench, POST("missing"), bench_text(bench, "{\"id\":\"%s\"}", id), 200);
        json_auto_t *objects = NULL;
        json_auto_t *written = NULL;
        CLEANUP(mem_freep) char *ids = json_to_text(missing);
        CLEANUP(mem_freep) char *text = NULL;

        if (json_array_size(json_object_get(missing, "ids")) == 0)
            break;
        /* The holder's store in the place of the other one. */
        bench_shell(bench, bench_text(bench, "cd %s; mv checkpoints mine; mv holder checkpoints",
                                      bench->config.journal_dir));
        objects = read_all(bench, ids);
        bench_shell(bench, bench_text(bench, "cd %s; mv checkpoints holder; mv mine checkpoints",
                                      bench->config.journal_dir));
        text = json_to_text(objects);
        written = ask(bench, POST("write"), text, 200);
        assert_int_equal(json_int_or(written, "n_written", -1),
                         json_array_size(json_object_get(objects, "objects")));
    }
    assert_int_equal(n_rounds, 3);
    json_decref(set_back(bench, "a1", id));
    assert_file(bench, "a", "1");
    assert_file(bench, "d/b", "2");
    assert_file(bench, "d/e/c", "2");
}

static void foreign_objects_are_checked(void **state)
{
    struct action_bench *bench = *state;

    json_decref(ask(bench, POST("write"),
                    "{\"objects\":[{\"id\":"
                    "\"00000000000000000000000000000000000000000000000000000000000000ff\","
                    "\"data\":\"AAAA\"}]}",
                    400));
}

static void large_objects_come_one_by_one(void **state)
{
    struct action_bench *bench = *state;
    json_auto_t *missing = json_object();
    json_auto_t *first = NULL;
    json_auto_t *listed = NULL;
    CLEANUP(mem_freep) char *ids = NULL;

    bench_shell(bench, "head -c 6000000 /dev/urandom > a; head -c 6000000 /dev/urandom > b");
    (void)take(bench);
    bench_shell(bench, bench_text(bench,
                                  "cd %s/checkpoints/current.git/objects; find . -type f -size +1M"
                                  " | tr -d './\\n' > %s/ids",
                                  bench->config.journal_dir, bench->workspace));
    {
        const char *both = bench_shell_line(bench, "cat ids");
        const char *body = bench_text(bench, "{\"ids\":[\"%.64s\",\"%.64s\"]}", both, both + 64);

        first = ask(bench, POST("read"), body, 200);
    }
    assert_int_equal(json_array_size(json_object_get(first, "objects")), 1);
}

int checkpoint_routes_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(checkpoint_is_taken_and_told),
        BENCH_TEST(that_there_is_none_is_an_answer),
        BENCH_TEST(malformed_requests_are_refused),
        BENCH_TEST(action_sets_back_once_and_keeps_what_was_there),
        BENCH_TEST(interrupt_does_not_end_a_restore),
        BENCH_TEST(unknown_checkpoint_is_an_error),
        BENCH_TEST(objects_are_copied_to_another_store),
        BENCH_TEST(foreign_objects_are_checked),
        BENCH_TEST(large_objects_come_one_by_one),
    };

    return cmocka_run_group_tests_name("checkpoint routes", tests, NULL, NULL);
}
