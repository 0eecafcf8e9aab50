/*
 * The search of bash events: its filters and pages, and waiting for what is not there yet.
 */
#include "sandbox/bash/bash_routes.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/bash/bash.h"
#include "sandbox/bash/bash_events.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/bash/bash_tests.h"

#define SEARCH "GET /api/bash/bash_events/search"

/* Puts a command "c1" and its outputs 0 "a" and 1 "b", and a command "c2", into the store. */
struct stored {
    char commands[2][UUID_HEX_BYTES];
    char output[UUID_HEX_BYTES]; /* "a" */
    char stamp[40];              /* of "b" */
};

static void store(struct action_bench *bench, const char *scope, struct stored *stored)
{
    struct bash_events *events = bash_events_of(bench->server.bash);
    static const char *const texts[] = {"a", "b"};

    for (size_t i = 0; i < 2; i++) {
        const struct bash_spec spec = {scope, i == 0 ? "c1" : "c2", "", 1};
        json_t *command = NULL;

        bash_events_add_command(events, &spec, stored->commands[i], &command);
        json_decref(command);
        for (size_t j = 0; i == 0 && j < 2; j++) {
            const struct bash_output output = {.scope = scope,
                                               .command_id = stored->commands[0],
                                               .order = (int64_t)j,
                                               .out = texts[j],
                                               .out_len = 1};
            json_auto_t *event = bash_events_add_output(events, &output);
            const char *stamp = json_text_or(event, "timestamp", "");

            if (j == 0)
                memcpy(stored->output, json_text_or(event, "id", ""), UUID_HEX_BYTES);
            assert_true(strlen(stamp) < sizeof(stored->stamp));
            memcpy(stored->stamp, stamp, strlen(stamp) + 1);
        }
    }
}

/* Asserts the commands and texts of the events found, in one line. */
static void assert_found(struct action_bench *bench, const char *query, const char *expected,
                         const char *next_page)
{
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, bench_text(bench, SEARCH "?%s", query), "", NULL);
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);
    const json_t *item = NULL;
    size_t i = 0;

    assert_int_equal(reply.status, 200);
    json_array_foreach (json_object_get(body, "items"), i, item)
        strbuf_appendf(&found, "%s%s ", json_text_or(item, "command", ""),
                       json_text_or(item, "stdout", ""));
    if (strcmp(found.text, expected) != 0)
        fail_msg("%s: %s", query, found.text);
    assert_reply(reply, 200, "next_page_id", next_page);
}

static void events_are_filtered_and_sorted(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};
    struct stored other = {.stamp = ""};

    store(bench, "", &stored);
    store(bench, "other", &other);
    assert_found(bench, "", "c1 a b c2 ", "null");
    assert_found(bench, "kind__eq=BashCommand", "c1 c2 ", "null");
    assert_found(bench, "kind__eq=BashOutput", "a b ", "null");
    assert_found(bench, "sort_order=TIMESTAMP", "c1 a b c2 ", "null");
    assert_found(bench, "sort_order=TIMESTAMP_DESC", "c2 b a c1 ", "null");
    assert_found(bench, "order__gt=0", "c1 b c2 ", "null");
    assert_found(bench, "order__gt=-1", "c1 a b c2 ", "null");
    assert_found(bench, bench_text(bench, "command_id__eq=%s", stored.commands[0]), "a b ", "null");
    assert_found(bench, bench_text(bench, "command_id__eq=%s", stored.commands[1]), "", "null");
    assert_found(bench, bench_text(bench, "timestamp__gte=%s", stored.stamp), "b c2 ", "null");
    assert_found(bench, bench_text(bench, "timestamp__lt=%s", stored.stamp), "c1 a ", "null");
    assert_answers(bench, SEARCH, "X-Deft-Scope: other\r\n", NULL, 200, "items[3].id",
                   bench_text(bench, "\"%s\"", other.commands[1]));
    assert_answers(bench, SEARCH, "X-Deft-Scope: other\r\n", NULL, 200, "items[4]", NULL);
}

static void events_come_in_pages(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};

    store(bench, "", &stored);
    assert_found(bench, "limit=4", "c1 a b c2 ", "null");
    assert_found(bench, "limit=3", "c1 a b ", "\"4\"");
    assert_found(bench, "limit=3&page_id=4", "c2 ", "null");
    assert_found(bench, "limit=1&page_id=2", "a ", "\"3\"");
    assert_found(bench, "limit=2&sort_order=TIMESTAMP_DESC", "c2 b ", "\"2\"");
    assert_found(bench, "limit=2&sort_order=TIMESTAMP_DESC&page_id=2", "a c1 ", "null");
    assert_found(bench, "page_id=0", "c1 a b c2 ", "null");
    assert_found(bench, "limit=100", "c1 a b c2 ", "null");
}

static void page_has_a_hundred_events(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    for (int i = 0; i < 26; i++)
        store(bench, "", &stored);
    reply = bench_ask(bench, SEARCH, "", NULL);
    assert_reply(reply, 200, "items[99].command", "\"c2\"");
    assert_reply(reply, 200, "items[100]", NULL);
    assert_reply(reply, 200, "next_page_id", "\"101\"");
}

static void wrong_parameters_are_named(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *query;
        const char *type;
        const char *name;
    } cases[] = {
        {"kind__eq=Other", "enum", "kind__eq"},
        {"sort_order=timestamp", "enum", "sort_order"},
        {"limit=0", "int_parsing", "limit"},
        {"limit=101", "int_parsing", "limit"},
        {"limit=x", "int_parsing", "limit"},
        {"order__gt=x", "int_parsing", "order__gt"},
        {"page_id=-1", "int_parsing", "page_id"},
        {"wait_ms=-1", "int_parsing", "wait_ms"},
        {"wait_ms=60001", "int_parsing", "wait_ms"},
        {"timestamp__gte=x", "datetime_from_date_parsing", "timestamp__gte"},
        {"timestamp__lt=x", "datetime_from_date_parsing", "timestamp__lt"},
        {"command_id__eq=x", "uuid_parsing", "command_id__eq"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, bench_text(bench, SEARCH "?%s", cases[i].query), "", NULL);

        assert_reply(reply, 422, "detail[0].type", bench_text(bench, "\"%s\"", cases[i].type));
        assert_reply(reply, 422, "detail[0].loc",
                     bench_text(bench, "[\"query\",\"%s\"]", cases[i].name));
    }
}

static void search_waits_for_an_event_that_fits(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};
    int output = bench_send(bench, SEARCH "?kind__eq=BashOutput&wait_ms=60000", "", NULL);
    int other = bench_send(bench, SEARCH "?wait_ms=60000", "X-Deft-Scope: other\r\n", NULL);

    assert_answers(bench, SEARCH "?wait_ms=1", "", NULL, 200, "",
                   "{\"items\":[],\"next_page_id\":null}");
    store(bench, "", &stored);
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, output);

        assert_reply(reply, 200, "items[0].stdout", "\"a\"");
    }
    store(bench, "other", &stored);
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, other);

        assert_reply(reply, 200, "items[0].command", "\"c1\"");
    }
    /* It does not wait for what is there already. */
    assert_answers(bench, SEARCH "?wait_ms=60000", "", NULL, 200, "items[0].command", "\"c1\"");
}

static void waiting_searches_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    int clients[MAX_BASH_WAITS];

    for (size_t i = 0; i < MAX_BASH_WAITS; i++)
        clients[i] = bench_send(bench, SEARCH "?wait_ms=60000", "", NULL);
    assert_answers(bench, SEARCH "?wait_ms=60000", "", NULL, 200, "items", "[]");
    /* One whose client has gone leaves its place. */
    fd_close(&clients[0]);
    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    clients[0] = bench_send(bench, SEARCH "?wait_ms=60000", "", NULL);
    {
        struct stored stored = {.stamp = ""};

        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
        store(bench, "", &stored);
    }
    for (size_t i = 0; i < MAX_BASH_WAITS; i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "items[0].command", "\"c1\"");
    }
}

static void waiting_search_ends_with_the_server(void **state)
{
    struct action_bench *bench = *state;
    int client = bench_send(bench, SEARCH "?wait_ms=60000", "", NULL);

    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    action_bench_restart(bench);
    fd_close(&client);
}

static void event_is_found_by_its_id(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};
    const char *line = NULL;

    store(bench, "", &stored);
    line = bench_text(bench, "GET /api/bash/bash_events/%s", stored.output);
    assert_answers(bench, line, "", NULL, 200, "stdout", "\"a\"");
    assert_answers(bench, line, "X-Deft-Scope: other\r\n", NULL, 404, "detail", "\"Not Found\"");
    assert_answers(bench,
                   bench_text(bench, "GET /api/bash/bash_events/%.8s-%.4s-%.4s-%.4s-%s",
                              stored.output, stored.output + 8, stored.output + 12,
                              stored.output + 16, stored.output + 20),
                   "", NULL, 200, "stdout", "\"a\"");
    assert_answers(bench, "GET /api/bash/bash_events/x", "", NULL, 422, "detail[0]",
                   "{\"type\":\"uuid_parsing\",\"loc\":[\"path\",\"event_id\"],\"msg\":\"Input "
                   "should be a valid UUID\",\"input\":null}");
}

static void events_are_found_by_a_list_of_ids(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};
    static const char *const lines[] = {"GET /api/bash/bash_events", "GET /api/bash/bash_events/"};
    static const char *const wrong[] = {"{}", "[", ""};
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;

    store(bench, "", &stored);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_ask(
            bench, lines[i], "",
            bench_text(bench, "[\"%s\",\"x\",7,\"00000000000040008000000000000000\",\"%s\"]",
                       stored.output, stored.commands[1]));

        assert_reply(reply, 200, "[0].stdout", "\"a\"");
        assert_reply(reply, 200, "[1]", "null");
        assert_reply(reply, 200, "[2]", "null");
        assert_reply(reply, 200, "[3]", "null");
        assert_reply(reply, 200, "[4].command", "\"c2\"");
        assert_reply(reply, 200, "[5]", NULL);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_answers(bench, lines[0], "", wrong[i], 422, "detail[0]",
                       "{\"type\":\"list_type\",\"loc\":[\"body\"],\"msg\":\"Input should be a "
                       "valid list\",\"input\":null}");
    strbuf_append(&ids, "[0");
    for (int i = 1; i < 1000; i++)
        strbuf_append(&ids, ",0");
    strbuf_append(&ids, "]");
    assert_answers(bench, lines[0], "", ids.text, 200, "[999]", "null");
    strbuf_truncate(&ids, ids.len - 1);
    strbuf_append(&ids, ",0]");
    assert_answers(bench, lines[0], "", ids.text, 422, "detail[0].type", "\"list_type\"");
}

static void events_of_a_scope_are_cleared(void **state)
{
    struct action_bench *bench = *state;
    struct stored stored = {.stamp = ""};

    store(bench, "", &stored);
    store(bench, "other", &stored);
    store(bench, "", &stored);
    assert_answers(bench, "DELETE /api/bash/bash_events", "", NULL, 200, "",
                   "{\"cleared_count\":8}");
    assert_found(bench, "", "", "null");
    assert_answers(bench, SEARCH, "X-Deft-Scope: other\r\n", NULL, 200, "items[3].command",
                   "\"c2\"");
    assert_answers(bench, "DELETE /api/bash/bash_events", "", NULL, 200, "cleared_count", "0");
}

int bash_search_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(events_are_filtered_and_sorted),      BENCH_TEST(events_come_in_pages),
        BENCH_TEST(page_has_a_hundred_events),           BENCH_TEST(wrong_parameters_are_named),
        BENCH_TEST(search_waits_for_an_event_that_fits), BENCH_TEST(waiting_searches_are_bounded),
        BENCH_TEST(waiting_search_ends_with_the_server), BENCH_TEST(event_is_found_by_its_id),
        BENCH_TEST(events_are_found_by_a_list_of_ids),   BENCH_TEST(events_of_a_scope_are_cleared),
    };

    return cmocka_run_group_tests_name("sandbox/bash_search", tests, NULL, NULL);
}
