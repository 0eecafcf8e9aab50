/*
 * The store of bash events: what it keeps and finds, and when it forgets.
 */
#include "sandbox/bash/bash_events.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/bash/bash_tests.h"
#include "unit/sandbox/sandbox_test.h"

static void add_output(struct bash_events *events, const char *scope, int64_t order,
                       const char *text)
{
    const struct bash_output output = {.scope = scope,
                                       .command_id = "0123456789abcdef0123456789abcdef",
                                       .order = order,
                                       .out = text,
                                       .out_len = strlen(text)};
    json_t *event = bash_events_add_output(events, &output);

    json_decref(event);
}

static struct bash_query query_all(const char *scope)
{
    return (struct bash_query){.scope = scope,
                               .kind = BASH_ANY,
                               .since_us = INT64_MIN,
                               .before_us = INT64_MAX,
                               .order_above = INT64_MIN,
                               .page = -1,
                               .limit = 1};
}

/* The order of the oldest event kept. */
static json_int_t oldest(const struct bash_events *events)
{
    const struct bash_query query = query_all("");
    json_auto_t *page = bash_events_search(events, &query);

    return json_int_or(json_array_get(json_object_get(page, "items"), 0), "order", -1);
}

static void oldest_events_are_dropped_first(void **state)
{
    struct bash_events *events = bash_events_new();

    (void)state;
    for (int i = 0; i < MAX_BASH_EVENTS; i++)
        add_output(events, "", i, "x");
    assert_int_equal(oldest(events), 0);
    add_output(events, "", MAX_BASH_EVENTS, "x");
    assert_int_equal(oldest(events), 1);
    bash_events_free(events);
}

static void bytes_of_events_are_bounded(void **state)
{
    enum { PIECE = 1024 * 1024 };
    struct bash_events *events = bash_events_new();
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    strbuf_reserve(&text, PIECE);
    memset(text.text, 'x', PIECE);
    text.text[PIECE] = '\0';
    text.len = PIECE;
    for (int i = 0; i < 63; i++)
        add_output(events, "", i, text.text);
    assert_int_equal(oldest(events), 0);
    /* Each takes some more than its text. */
    add_output(events, "", 63, text.text);
    assert_int_equal(oldest(events), 1);
    /* What was cleared counts no more. */
    assert_int_equal(bash_events_clear(events, ""), 63);
    for (int i = 100; i < 163; i++)
        add_output(events, "", i, text.text);
    assert_int_equal(oldest(events), 100);
    bash_events_free(events);
}

struct listener {
    int n;
};

static void on_added(void *owner)
{
    struct listener *listener = owner;

    listener->n++;
}

static void listener_is_told_of_each_event(void **state)
{
    struct bash_events *events = bash_events_new();
    struct listener listener = {0};
    char id[UUID_HEX_BYTES] = "";
    json_t *command = NULL;

    (void)state;
    add_output(events, "", 0, "x");
    bash_events_listen(events, &(struct bash_listener){&listener, on_added});
    add_output(events, "", 1, "x");
    assert_int_equal(listener.n, 1);
    bash_events_add_command(events, &(struct bash_spec){"", "true", "", 1}, id, &command);
    assert_int_equal(listener.n, 2);
    assert_string_equal(json_text_or(command, "id", ""), id);
    json_decref(command);
    bash_events_listen(events, &(struct bash_listener){NULL, NULL});
    add_output(events, "", 2, "x");
    assert_int_equal(listener.n, 2);
    bash_events_free(events);
}

static void only_the_newest_event_may_fit(void **state)
{
    struct bash_events *events = bash_events_new();
    struct bash_query query = query_all("a");

    (void)state;
    assert_false(bash_events_newest_fits(events, &query));
    add_output(events, "a", 0, "x");
    assert_true(bash_events_newest_fits(events, &query));
    query.order_above = 0;
    assert_false(bash_events_newest_fits(events, &query));
    query.order_above = -1;
    assert_true(bash_events_newest_fits(events, &query));
    query.kind = BASH_COMMAND;
    assert_false(bash_events_newest_fits(events, &query));
    query.kind = BASH_OUTPUT;
    assert_true(bash_events_newest_fits(events, &query));
    memcpy(query.command_id, "0123456789abcdef0123456789abcdef", UUID_HEX_BYTES);
    assert_true(bash_events_newest_fits(events, &query));
    query.command_id[0] = '1';
    assert_false(bash_events_newest_fits(events, &query));
    query.command_id[0] = '\0';
    add_output(events, "b", 0, "x");
    assert_false(bash_events_newest_fits(events, &query));
    bash_events_free(events);
}

static void joined_output_is_of_one_command_and_scope(void **state)
{
    struct bash_events *events = bash_events_new();
    struct bash_output output = {.scope = "a",
                                 .command_id = "0123456789abcdef0123456789abcdef",
                                 .order = 5,
                                 .has_exit_code = true,
                                 .exit_code = 3,
                                 .err = "e2",
                                 .err_len = 2};
    json_auto_t *last = NULL;
    json_auto_t *joined = NULL;

    (void)state;
    add_output(events, "a", 0, "one ");
    add_output(events, "b", 1, "other ");
    add_output(events, "a", 2, "two");
    last = bash_events_add_output(events, &output);
    output.command_id = "11111111111111111111111111111111";
    json_decref(bash_events_add_output(events, &output));
    joined = bash_events_join(events, "a", "0123456789abcdef0123456789abcdef", last);
    assert_string_equal(json_text_or(joined, "stdout", ""), "one two");
    assert_string_equal(json_text_or(joined, "stderr", ""), "e2");
    assert_int_equal(json_int_or(joined, "exit_code", 0), 3);
    assert_int_equal(json_int_or(joined, "order", 0), 5);
    assert_string_equal(json_text_or(joined, "id", ""), json_text_or(last, "id", "-"));
    assert_string_equal(json_text_or(joined, "timestamp", ""),
                        json_text_or(last, "timestamp", "-"));
    assert_string_equal(json_text_or(joined, "command_id", ""), "0123456789abcdef0123456789abcdef");
    assert_string_equal(json_text_or(joined, "kind", ""), "BashOutput");
    bash_events_free(events);
}

int bash_events_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_events_are_dropped_first),
        cmocka_unit_test(bytes_of_events_are_bounded),
        cmocka_unit_test(listener_is_told_of_each_event),
        cmocka_unit_test(only_the_newest_event_may_fit),
        cmocka_unit_test(joined_output_is_of_one_command_and_scope),
    };

    return cmocka_run_group_tests_name("sandbox/bash_events", tests, NULL, NULL);
}
