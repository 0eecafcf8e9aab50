/*
 * Calls without a result: which of them a run would execute, and when a client that has not seen
 * them is refused.
 */
#include "store/conversation/waiting_calls.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/event_store.h"
#include "store/conversation/log_fixture.h"
#include "store/store_fixture.h"
#include "support/pg.h"

static void assert_open(const struct test_log *log, const char *open, const char *waiting)
{
    CLEANUP(history_done) struct history all = HISTORY_INIT;
    CLEANUP(history_done) struct history executable = HISTORY_INIT;
    struct error err = ERROR_INIT;

    assert_done(open_calls_load(log->fixture->db, &log->conversation, &all, &err), &err);
    test_log_assert_seqs(&all, open);
    assert_done(waiting_calls_load(log->fixture->db, &log->conversation, &executable, &err), &err);
    test_log_assert_seqs(&executable, waiting);
}

static void call_is_open_until_it_has_a_result(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    assert_open(&log, "", "");
    test_log_add(&log, "uc");
    assert_open(&log, "2,", "2,");
    test_log_add(&log, "xc");
    assert_open(&log, "2,3,4,", "2,4,");
    test_log_add(&log, "r");
    assert_open(&log, "2,3,", "2,");
}

static void call_off_the_path_is_not_open(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "cucr");
    assert_open(&log, "1,", "1,");
    test_log_go_back(&log, 3);
    /* Its result is off the path, but it was executed. */
    assert_open(&log, "1,", "1,");
    test_log_add(&log, "c");
    assert_open(&log, "1,5,", "1,5,");
    test_log_go_back(&log, 2);
    test_log_add(&log, "uc");
    assert_open(&log, "1,7,", "1,7,");
    test_log_go_back(&log, 5);
    assert_open(&log, "1,5,", "1,5,");
    test_log_go_back(&log, 0);
    assert_open(&log, "", "");
    test_log_add(&log, "c");
    assert_open(&log, "8,", "8,");
}

/* The source's run executes them, or has been refused. */
static void copied_call_is_the_sources(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(test_log_done) struct test_log log = test_log_new(fixture);
    CLEANUP(test_log_done) struct test_log copy = {.fixture = fixture,
                                                   .conversation = store_new_conversation(fixture)};
    const struct fork fork = {.source_id = log.conversation.id};
    struct error err = ERROR_INIT;

    test_log_add(&log, "uc");
    assert_done(branch_store_fork(fixture->db, &fork, &copy.conversation, &err), &err);
    assert_open(&copy, "", "");
    test_log_add(&copy, "c");
    assert_open(&copy, "3,", "3,");
}

/* --- what a client has seen --- */

/* The texts of a list, in which "%s" is the id of a call. */
static bool is_refused(const struct history *waiting, const char *ids, bool is_decision,
                       struct error *err)
{
    json_auto_t *list = json_loads(ids, 0, NULL);
    const struct seen_calls seen = {list, is_decision};

    assert_non_null(list);
    *err = (struct error)ERROR_INIT;
    return waiting_calls_refuse(waiting, &seen, err);
}

static void client_is_refused_for_a_call_that_it_has_not_seen(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(history_done) struct history waiting = HISTORY_INIT;
    const struct seen_calls unsaid = SEEN_CALLS_UNSAID;
    CLEANUP(strbuf_done) struct strbuf one = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf both = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    char hex[UUID_HEX_BYTES];
    struct error err = ERROR_INIT;

    test_log_add(&log, "cc");
    assert_done(waiting_calls_load(log.fixture->db, &log.conversation, &waiting, &err), &err);
    assert_int_equal(waiting.n, 2);
    uuid_to_hex(&log.ids[2], hex);
    strbuf_appendf(&one, "[\"%s\"]", log.ids[1].text);
    strbuf_appendf(&both, "[null, 7, \"other\", \"%s\", \"%s\"]", hex, log.ids[1].text);
    assert_false(waiting_calls_refuse(&waiting, &unsaid, &err));
    assert_false(is_refused(&waiting, both.text, false, &err));
    assert_false(is_refused(&waiting, both.text, true, &err));
    assert_true(is_refused(&waiting, "[]", false, &err));
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_true(is_refused(&waiting, one.text, false, &err));
    assert_int_equal(err.code, ERROR_CONFLICT);
    strbuf_appendf(&message,
                   "The agent waits for a decision about a call of terminal (action %s) that this"
                   " request does not name. Nothing was changed: review that call, then decide.",
                   log.ids[2].text);
    assert_string_equal(err.message, message.text);
}

static void decision_that_comes_too_late_is_refused(void **state)
{
    CLEANUP(history_done) struct history none = HISTORY_INIT;
    const struct seen_calls unsaid = {NULL, true};
    struct error err = ERROR_INIT;

    (void)state;
    assert_false(waiting_calls_refuse(&none, &unsaid, &err));
    assert_false(is_refused(&none, "[]", false, &err));
    assert_true(is_refused(&none, "[]", true, &err));
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_string_equal(err.message, "These actions no longer wait for a decision. Nothing was"
                                     " changed: check their results.");
}

static void what_was_seen_matters_where_something_would_be_executed(void **state)
{
    json_auto_t *ids = json_array();
    const struct seen_calls unsaid = {NULL, true};
    const struct seen_calls message = {ids, false};
    const struct seen_calls decision = {ids, true};

    (void)state;
    for (int i = 0; i < STATUS_N; i++) {
        const struct conversation conversation = {.status = (enum execution_status)i};
        bool is_settled = i == STATUS_RUNNING || i == STATUS_FINISHED;

        assert_false(waiting_calls_matter(&conversation, &unsaid));
        assert_int_equal(waiting_calls_matter(&conversation, &message), !is_settled);
        assert_true(waiting_calls_matter(&conversation, &decision));
    }
}

static void check_refuses_by_what_is_stored(void **state)
{
    static const struct {
        enum execution_status status;
        bool is_decision;
        bool is_refused;
    } cases[] = {
        {STATUS_IDLE, false, true},
        {STATUS_IDLE, true, true},
        {STATUS_PAUSED, false, true},
        {STATUS_RUNNING, false, false},
        {STATUS_FINISHED, false, false},
        /* Settled: whatever the log has, nothing waits. */
        {STATUS_RUNNING, true, true},
        {STATUS_FINISHED, true, true},
    };
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    json_auto_t *ids = json_array();
    struct error err = ERROR_INIT;

    test_log_add(&log, "c");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct seen_calls seen = {ids, cases[i].is_decision};
        bool is_refused = !cases[i].is_refused;

        log.conversation.status = cases[i].status;
        assert_done(
            waiting_calls_check(log.fixture->db, &log.conversation, &seen, &is_refused, &err),
            &err);
        assert_int_equal(is_refused, cases[i].is_refused);
    }
    json_array_append_new(ids, json_string(log.ids[1].text));
    log.conversation.status = STATUS_IDLE;
    for (int is_decision = 0; is_decision < 2; is_decision++) {
        const struct seen_calls seen = {ids, is_decision != 0};
        bool is_refused = true;

        assert_done(
            waiting_calls_check(log.fixture->db, &log.conversation, &seen, &is_refused, &err),
            &err);
        assert_false(is_refused);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_is_open_until_it_has_a_result),
        cmocka_unit_test(call_off_the_path_is_not_open),
        cmocka_unit_test(copied_call_is_the_sources),
        cmocka_unit_test(client_is_refused_for_a_call_that_it_has_not_seen),
        cmocka_unit_test(decision_that_comes_too_late_is_refused),
        cmocka_unit_test(what_was_seen_matters_where_something_would_be_executed),
        cmocka_unit_test(check_refuses_by_what_is_stored),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
