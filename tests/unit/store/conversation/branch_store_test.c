/*
 * Logs that were continued from an earlier event: which events are on the path to their end, and
 * which of them a copy gets.
 */
#include "store/conversation/branch_store.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "store/conversation/log_fixture.h"
#include "store/store_fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

static void assert_path(const struct test_log *log, const char *expected)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    assert_done(event_store_load_after(log->fixture->db, &log->conversation.id, &history, &err),
                &err);
    assert_done(branch_store_prune(log->fixture->db, &log->conversation.id, &history, &err), &err);
    test_log_assert_seqs(&history, expected);
}

/* The seqs that a search along the path finds, in pages of two. */
static void append_searched(const struct test_log *log, bool descending, struct strbuf *seqs)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct event_filter filter = {
        .conversation_id = log->conversation.id, .limit = 2, .descending = descending};
    json_auto_t *page = NULL;
    struct error err = ERROR_INIT;

    assert_done(branch_store_find_path(log->fixture->db, &log->conversation.id, &path, &err), &err);
    filter.path = path.text;
    do {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_t *next = NULL;
        json_t *event = NULL;
        size_t i = 0;

        assert_done(
            event_store_search(log->fixture->db, &log->fixture->scope, &filter, &text, &err), &err);
        assert_done(json_parse(text.text, text.len, &next, &err), &err);
        json_decref(page);
        page = next;
        filter.page_id = json_text_or(page, "next_page_id", NULL);
        json_array_foreach (json_object_get(page, "items"), i, event) {
            size_t seq = 1;

            while (seq < TEST_LOG_MAX &&
                   !text_equal(log->ids[seq].text, json_text_or(event, "id", "")))
                seq++;
            strbuf_appendf(seqs, "%zu,", seq);
        }
    } while (filter.page_id != NULL);
}

static void assert_searched(const struct test_log *log, const char *ascending,
                            const char *descending)
{
    CLEANUP(strbuf_done) struct strbuf up = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf down = STRBUF_INIT;

    strbuf_append(&up, "");
    strbuf_append(&down, "");
    append_searched(log, false, &up);
    append_searched(log, true, &down);
    assert_string_equal(up.text, ascending);
    assert_string_equal(down.text, descending);
}

static void search_along_the_path_leaves_out_other_branches(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    assert_searched(&log, "", "");
    test_log_add(&log, "uasu");
    assert_searched(&log, "1,2,3,4,", "4,3,2,1,");
    test_log_go_back(&log, 2);
    assert_searched(&log, "1,2,", "2,1,");
    test_log_add(&log, "uaua");
    assert_searched(&log, "1,2,5,6,7,8,", "8,7,6,5,2,1,");
    test_log_go_back(&log, 5);
    test_log_add(&log, "a");
    assert_searched(&log, "1,2,5,9,", "9,5,2,1,");
    test_log_go_back(&log, 0);
    assert_searched(&log, "", "");
}

/* A client would take it for one that waits for a decision, and the model does not see it. */
static void search_along_the_path_leaves_out_calls_whose_results_are_off_it(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrcur");
    assert_searched(&log, "1,2,3,4,5,6,", "6,5,4,3,2,1,");
    test_log_go_back(&log, 4);
    assert_searched(&log, "1,2,3,", "3,2,1,");
    test_log_add(&log, "uc");
    assert_searched(&log, "1,2,3,7,8,", "8,7,3,2,1,");
}

static void assert_branches(const struct test_log *log, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(branch_store_list(log->fixture->db, &log->conversation.id, &text, &err), &err);
    assert_json_at(text.text, "items", expected);
}

static void branches_are_listed_oldest_first(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    assert_branches(&log, "[]");
    test_log_add(&log, "ua");
    test_log_go_back(&log, 1);
    test_log_add(&log, "a");
    test_log_go_back(&log, 0);
    strbuf_appendf(&expected,
                   "[{\"parent_event_id\":\"%s\",\"first_event_id\":\"%s\"},"
                   "{\"parent_event_id\":null,\"first_event_id\":null}]",
                   log.ids[1].text, log.ids[3].text);
    assert_branches(&log, expected.text);
}

static void path_is_the_log_until_someone_goes_back(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    assert_path(&log, "");
    test_log_add(&log, "uasu");
    assert_path(&log, "1,2,3,4,");
    test_log_go_back(&log, 2);
    assert_path(&log, "1,2,");
    test_log_add(&log, "ua");
    assert_path(&log, "1,2,5,6,");
}

static void going_back_again_replaces_what_nothing_followed(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "uaua");
    test_log_go_back(&log, 3);
    test_log_go_back(&log, 1);
    test_log_add(&log, "u");
    assert_path(&log, "1,5,");
    test_log_go_back(&log, 0);
    assert_path(&log, "");
    test_log_add(&log, "ua");
    assert_path(&log, "6,7,");
}

static void path_follows_branches_of_branches(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "uaua");
    test_log_go_back(&log, 2);
    test_log_add(&log, "ua");
    test_log_go_back(&log, 5);
    test_log_add(&log, "a");
    assert_path(&log, "1,2,5,7,");
    test_log_go_back(&log, 3);
    test_log_add(&log, "a");
    assert_path(&log, "1,2,3,8,");
    test_log_go_back(&log, 7);
    test_log_add(&log, "u");
    assert_path(&log, "1,2,5,7,9,");
}

/* The model would be asked about a call that has no result on its path. */
static void call_whose_result_is_off_the_path_was_never_made(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrcr");
    assert_path(&log, "1,2,3,4,5,");
    test_log_go_back(&log, 4);
    assert_path(&log, "1,2,3,");
    test_log_add(&log, "u");
    assert_path(&log, "1,2,3,6,");
    test_log_add(&log, "c");
    test_log_go_back(&log, 7);
    assert_path(&log, "1,2,3,6,7,");
}

static void event_that_is_not_there_is_not_gone_back_to(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(test_log_done) struct test_log log = test_log_new(fixture);
    CLEANUP(test_log_done) struct test_log other = test_log_new(fixture);
    const struct uuid unknown = uuid_random();
    struct error err = ERROR_INIT;

    test_log_add(&log, "ua");
    test_log_add(&other, "u");
    {
        const struct {
            const struct uuid *conversation_id;
            const char *event_id;
            const char *message;
        } cases[] = {
            {&log.conversation.id, unknown.text, "no such event"},
            {&log.conversation.id, "no id", "no such event"},
            {&log.conversation.id, other.ids[1].text, "no such event"},
            {&unknown, log.ids[1].text, "no such conversation"},
            {&unknown, NULL, "no such conversation"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            err = (struct error)ERROR_INIT;
            assert_int_equal(branch_store_navigate(fixture->db, cases[i].conversation_id,
                                                   cases[i].event_id, &err),
                             -1);
            assert_int_equal(err.code, ERROR_NOT_FOUND);
            assert_string_equal(err.message, cases[i].message);
        }
    }
    assert_path(&log, "1,2,");
}

static void going_back_shows_the_conversation_anew(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT;

    test_log_add(&log, "ua");
    strbuf_appendf(&before,
                   "UPDATE conversations SET snapshot_version = 7, is_leaf_known = true,"
                   " updated_at = now() - interval '1 hour' WHERE id = '%s'",
                   log.conversation.id.text);
    test_sql(before.text);
    test_log_go_back(&log, 1);
    strbuf_appendf(&after,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND snapshot_version = 8"
                   " AND NOT is_leaf_known AND updated_at > now() - interval '10 minutes'",
                   log.conversation.id.text);
    assert_int_equal(test_sql_count(after.text), 1);
    assert_int_equal(
        test_sql_count("SELECT count(*) FROM conversations WHERE snapshot_version = 8"), 1);
}

/* --- copies --- */

/* The kinds of a copy's events, by the letters of test_log_add(). */
static void assert_copied(const struct test_log *log, size_t from_seq, const char *expected,
                          size_t leaf_seq)
{
    const struct store_fixture *fixture = log->fixture;
    const struct fork fork = {.source_id = log->conversation.id,
                              .from_event_id = from_seq > 0 ? log->ids[from_seq].text : NULL};
    CLEANUP(conversation_done) struct conversation copy = store_new_conversation(fixture);
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf seqs = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const json_t *origin = NULL;

    assert_done(branch_store_fork(fixture->db, &fork, &copy, &err), &err);
    assert_done(event_store_load_after(fixture->db, &copy.id, &history, &err), &err);
    strbuf_append(&seqs, "");
    for (size_t i = 0; i < history.n; i++) {
        size_t seq = 1;

        assert_int_equal(history.items[i].seq, i + 1);
        while (seq < TEST_LOG_MAX && !text_equal(log->ids[seq].text, history.items[i].id.text))
            seq++;
        strbuf_appendf(&seqs, "%zu,", seq);
    }
    assert_string_equal(seqs.text, expected);
    assert_int_equal(copy.last_seq, history.n);
    assert_int_equal(copy.last_timestamp_us, history.last_timestamp_us);
    assert_string_equal(copy.leaf_event_id.text, leaf_seq > 0 ? log->ids[leaf_seq].text : "");
    assert_int_equal(copy.is_begun, leaf_seq > 0);
    origin = json_object_get(copy.spec, "forked_from");
    assert_string_equal(json_text_or(origin, "conversation_id", ""), fork.source_id.text);
    assert_int_equal(json_int_or(origin, "n_events", -1), history.n);
    assert_string_equal(json_text_or(origin, "event_id", ""),
                        from_seq > 0 ? log->ids[from_seq].text : "");
}

static void copy_of_the_whole_has_the_path(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    assert_copied(&log, 0, "", 0);
    test_log_add(&log, "s");
    assert_copied(&log, 0, "1,", 0);
    test_log_add(&log, "ucrsg");
    assert_copied(&log, 0, "1,2,3,4,5,6,", 4);
    test_log_go_back(&log, 2);
    test_log_add(&log, "as");
    assert_copied(&log, 0, "1,2,7,8,", 7);
}

/* The states are those of the source's end; what the workspace told is part of the talk. */
static void copy_up_to_an_event_has_no_states_but_the_agents(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "sugcrsa");
    assert_copied(&log, 2, "2,", 2);
    assert_copied(&log, 5, "2,3,4,5,", 5);
    assert_copied(&log, 7, "2,3,4,5,7,", 7);
    test_log_go_back(&log, 2);
    test_log_add(&log, "ua");
    assert_copied(&log, 9, "2,8,9,", 9);
    /* An event off the path is the end of a path of its own. */
    assert_copied(&log, 5, "2,3,4,5,", 5);
}

static void copy_keeps_bodies_and_which_call_a_result_is_of(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(test_log_done) struct test_log log = test_log_new(fixture);
    CLEANUP(conversation_done) struct conversation copy = store_new_conversation(fixture);
    const struct fork fork = {.source_id = log.conversation.id};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    test_log_add(&log, "ucra");
    assert_done(branch_store_fork(fixture->db, &fork, &copy, &err), &err);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM events o JOIN events c ON c.seq = o.seq AND c.id = o.id"
                   " AND c.kind = o.kind AND c.source = o.source AND c.timestamp = o.timestamp"
                   " AND c.result_of IS NOT DISTINCT FROM o.result_of AND c.body = o.body"
                   " AND c.fence IS NULL"
                   " WHERE o.conversation_id = '%s' AND c.conversation_id = '%s'",
                   log.conversation.id.text, copy.id.text);
    assert_int_equal(test_sql_count(sql.text), 4);
    store_assert_gapless(fixture, &copy.id, 4);
}

static void copy_needs_an_event_and_an_id_that_is_free(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(test_log_done) struct test_log log = test_log_new(fixture);
    CLEANUP(conversation_done) struct conversation copy = store_new_conversation(fixture);
    const struct uuid unknown = uuid_random();
    struct fork fork = {.source_id = log.conversation.id, .from_event_id = unknown.text};
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    struct error err = ERROR_INIT;

    test_log_add(&log, "u");
    assert_int_equal(branch_store_fork(fixture->db, &fork, &copy, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(conversation_store_check(fixture->db, &fixture->scope, &copy.id, &err), -1);
    fork.from_event_id = NULL;
    copy.id = log.conversation.id;
    assert_int_equal(branch_store_fork(fixture->db, &fork, &copy, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    strbuf_appendf(&message, "Conversation with id %s already exists", copy.id.text);
    assert_string_equal(err.message, message.text);
    store_assert_gapless(fixture, &copy.id, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_is_the_log_until_someone_goes_back),
        cmocka_unit_test(going_back_again_replaces_what_nothing_followed),
        cmocka_unit_test(path_follows_branches_of_branches),
        cmocka_unit_test(search_along_the_path_leaves_out_other_branches),
        cmocka_unit_test(search_along_the_path_leaves_out_calls_whose_results_are_off_it),
        cmocka_unit_test(branches_are_listed_oldest_first),
        cmocka_unit_test(call_whose_result_is_off_the_path_was_never_made),
        cmocka_unit_test(event_that_is_not_there_is_not_gone_back_to),
        cmocka_unit_test(going_back_shows_the_conversation_anew),
        cmocka_unit_test(copy_of_the_whole_has_the_path),
        cmocka_unit_test(copy_up_to_an_event_has_no_states_but_the_agents),
        cmocka_unit_test(copy_keeps_bodies_and_which_call_a_result_is_of),
        cmocka_unit_test(copy_needs_an_event_and_an_id_that_is_free),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
