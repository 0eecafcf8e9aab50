/*
 * Checkpoints in the log: which one has the files of an event, who may store one, and what a copy
 * of the log gets.
 */
#include "store/conversation/checkpoint_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/file_restore.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/log_fixture.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

/* Gives a lease for that time, which may be over. */
static struct lease lease_for(const struct test_log *log, const char *interval)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    const struct lease lease = {
        .conversation_id = log->conversation.id, .owner = uuid_random(), .fence = 3};

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = '%s', lease_fence = 3,"
                   " lease_expires_at = now() + interval '%s' WHERE id = '%s'",
                   lease.owner.text, interval, lease.conversation_id.text);
    test_sql(sql.text);
    return lease;
}

/* The tree of the checkpoint at that seq. */
static void name_tree(int64_t seq, char tree[16])
{
    (void)snprintf(tree, 16, "tree-%lld", (long long)seq);
}

static int add(const struct test_log *log, const struct lease *lease, int64_t seq, const char *tree,
               struct error *err)
{
    json_auto_t *details = json_object();
    const struct checkpoint checkpoint = {.seq = seq,
                                          .message_id = log->ids[1],
                                          .runtime_session = "session",
                                          .runtime_id = "runtime",
                                          .tree = tree,
                                          .details = details};

    json_put(details, "n_files", json_integer(seq));
    json_put(details, "n_skipped", json_integer(0));
    json_put(details, "skipped", json_array());
    if (tree == NULL)
        json_put_text(details, "reason", "It took too long");
    return checkpoint_store_add(log->fixture->db, lease, &checkpoint, err);
}

/* Stores a checkpoint at each of these seqs: "3,7". */
static void add_all(const struct test_log *log, const char *seqs)
{
    const struct lease lease = lease_for(log, "1 hour");
    struct error err = ERROR_INIT;

    for (const char *at = seqs; *at != '\0'; at += strcspn(at, ",") + (strchr(at, ',') != NULL)) {
        int64_t seq = strtoll(at, NULL, 10);
        char tree[16] = "";

        name_tree(seq, tree);
        assert_done(add(log, &lease, seq, tree, &err), &err);
    }
    test_sql("UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL");
}

static void assert_found(const struct test_log *log, size_t seq, enum checkpoint_state state,
                         int64_t at)
{
    CLEANUP(found_checkpoint_done) struct found_checkpoint found = FOUND_CHECKPOINT_INIT;
    struct error err = ERROR_INIT;
    char tree[16] = "";

    assert_done(checkpoint_store_find(log->fixture->db, &log->conversation.id,
                                      seq > 0 ? log->ids[seq].text : NULL, &found, &err),
                &err);
    name_tree(at, tree);
    if (found.state != state || (state == CHECKPOINT_IS_STORED && !text_equal(found.tree, tree)))
        fail_msg("event %zu: state %d, %s", seq, found.state,
                 found.tree != NULL ? found.tree : "none");
    if (state != CHECKPOINT_IS_STORED)
        return;
    assert_string_equal(found.runtime_id, "runtime");
    assert_string_equal(found.runtime_session, "session");
}

/* 1 user 2 call 3 result 4 call 5 result 6 answer, 7 user 8 call 9 result 10 answer */
static void files_of_an_event_are_those_before_the_next_turn(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrcraucra");
    add_all(&log, "2,8");
    assert_found(&log, 0, CHECKPOINT_IS_STORED, 2);
    assert_found(&log, 1, CHECKPOINT_IS_STORED, 2);
    assert_found(&log, 6, CHECKPOINT_IS_STORED, 8);
    assert_found(&log, 7, CHECKPOINT_IS_STORED, 8);
    assert_found(&log, 10, CHECKPOINT_IS_PRESENT, 0);
}

static void files_within_a_turn_are_those_at_its_start(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrcraucra");
    add_all(&log, "2,8");
    assert_found(&log, 2, CHECKPOINT_IS_STORED, 2);
    assert_found(&log, 3, CHECKPOINT_IS_STORED, 2);
    /* Its call is over: nothing has changed until the next turn. */
    assert_found(&log, 5, CHECKPOINT_IS_STORED, 8);
    assert_found(&log, 8, CHECKPOINT_IS_PRESENT, 0);
}

static void calls_that_change_nothing_do_not_count(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrufr");
    add_all(&log, "2");
    assert_found(&log, 3, CHECKPOINT_IS_PRESENT, 0);
    assert_found(&log, 4, CHECKPOINT_IS_PRESENT, 0);
}

static void files_from_before_the_first_checkpoint_are_missing(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrucr");
    add_all(&log, "5");
    assert_found(&log, 1, CHECKPOINT_IS_MISSING, 0);
    assert_found(&log, 3, CHECKPOINT_IS_STORED, 5);
}

/* 1 user 2 call 3 result 4 user 5 call 6 result | back to 3 | 7 user 8 call 9 result */
static void branches_do_not_matter(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    test_log_add(&log, "ucrucr");
    add_all(&log, "2,5");
    test_log_go_back(&log, 3);
    test_log_add(&log, "ucr");
    /* 7: the files that were replaced. */
    add_all(&log, "7,8");
    assert_found(&log, 3, CHECKPOINT_IS_STORED, 5);
    assert_found(&log, 6, CHECKPOINT_IS_STORED, 7);
    assert_found(&log, 7, CHECKPOINT_IS_STORED, 8);
    assert_found(&log, 9, CHECKPOINT_IS_PRESENT, 0);
}

static void checkpoint_that_could_not_be_taken_is_missing(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(found_checkpoint_done) struct found_checkpoint found = FOUND_CHECKPOINT_INIT;
    struct lease lease = {.fence = 0};
    struct error err = ERROR_INIT;

    test_log_add(&log, "ucrucr");
    add_all(&log, "2");
    lease = lease_for(&log, "1 hour");
    assert_done(add(&log, &lease, 5, NULL, &err), &err);
    assert_done(
        checkpoint_store_find(log.fixture->db, &log.conversation.id, log.ids[3].text, &found, &err),
        &err);
    assert_int_equal(found.state, CHECKPOINT_IS_MISSING);
    assert_string_equal(found.reason, "It took too long");
}

static void unknown_events_are_told(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(found_checkpoint_done) struct found_checkpoint found = FOUND_CHECKPOINT_INIT;
    const struct uuid unknown = uuid_random();
    const char *const ids[] = {unknown.text, "x", ""};
    struct error err = ERROR_INIT;

    test_log_add(&log, "ucr");
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        assert_int_equal(
            checkpoint_store_find(log.fixture->db, &log.conversation.id, ids[i], &found, &err), -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    }
}

static void only_the_holder_of_the_lease_stores(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    struct lease lease = {.fence = 0};
    struct error err = ERROR_INIT;
    int64_t last = -1;

    test_log_add(&log, "uc");
    lease = lease_for(&log, "-1 second");
    assert_int_equal(add(&log, &lease, 2, "t", &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    lease = lease_for(&log, "1 hour");
    lease.fence = 2;
    assert_int_equal(add(&log, &lease, 2, "t", &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    lease.fence = 3;
    lease.owner = uuid_random();
    assert_int_equal(add(&log, &lease, 2, "t", &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_done(checkpoint_store_last(log.fixture->db, &log.conversation.id, &last, &err), &err);
    assert_int_equal(last, 0);
}

static void first_of_a_seq_stays(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    struct lease lease = {.fence = 0};
    struct error err = ERROR_INIT;
    int64_t last = -1;

    test_log_add(&log, "uc");
    lease = lease_for(&log, "1 hour");
    assert_done(add(&log, &lease, 2, "tree-2", &err), &err);
    assert_done(add(&log, &lease, 2, "other", &err), &err);
    assert_found(&log, 1, CHECKPOINT_IS_STORED, 2);
    assert_done(checkpoint_store_last(log.fixture->db, &log.conversation.id, &last, &err), &err);
    assert_int_equal(last, 2);
}

static void list_has_the_newest_in_order(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    json_auto_t *list = NULL;
    const json_t *items = NULL;
    struct lease lease = {.fence = 0};
    struct error err = ERROR_INIT;

    assert_done(checkpoint_store_list(log.fixture->db, &log.conversation.id, &json, &err), &err);
    assert_string_equal(json.text, "{\"items\" : []}");
    test_log_add(&log, "ucrucr");
    add_all(&log, "2");
    lease = lease_for(&log, "1 hour");
    assert_done(add(&log, &lease, 5, NULL, &err), &err);
    strbuf_reset(&json);
    assert_done(checkpoint_store_list(log.fixture->db, &log.conversation.id, &json, &err), &err);
    list = json_loads(json.text, 0, NULL);
    items = json_object_get(list, "items");
    assert_int_equal(json_array_size(items), 2);
    assert_string_equal(json_text_or(json_array_get(items, 0), "checkpoint_id", ""), "tree-2");
    assert_string_equal(json_text_or(json_array_get(items, 0), "before_event_id", ""),
                        log.ids[2].text);
    assert_string_equal(json_text_or(json_array_get(items, 0), "message_id", ""), log.ids[1].text);
    assert_int_equal(json_int_or(json_array_get(items, 0), "n_files", -1), 2);
    assert_true(json_is_null(json_object_get(json_array_get(items, 0), "reason")));
    assert_true(json_is_null(json_object_get(json_array_get(items, 1), "checkpoint_id")));
    assert_string_equal(json_text_or(json_array_get(items, 1), "reason", ""), "It took too long");
}

/* 1 user 2 call 3 result 4 user 5 call 6 result; a state is not copied, so seqs change. */
static void copy_has_the_checkpoints_up_to_its_end(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(test_log_done) struct test_log log = test_log_new(fixture);
    CLEANUP(conversation_done) struct conversation copy = store_new_conversation(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct fork fork = {.source_id = log.conversation.id};
    struct error err = ERROR_INIT;

    test_log_add(&log, "sucrucr");
    add_all(&log, "3,6");
    fork.from_event_id = log.ids[5].text;
    assert_done(branch_store_fork(fixture->db, &fork, &copy, &err), &err);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM checkpoints WHERE conversation_id = '%s' AND seq = 2"
                   " AND tree = 'tree-3' AND runtime_id = 'runtime'",
                   copy.id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
    strbuf_reset(&sql);
    strbuf_appendf(&sql, "SELECT count(*) FROM checkpoints WHERE conversation_id = '%s'",
                   copy.id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

/* --- orders --- */

static void load_order(const struct test_log *log, struct conversation *now)
{
    struct error err = ERROR_INIT;

    conversation_done(now);
    *now = (struct conversation)CONVERSATION_INIT;
    assert_done(conversation_store_load_any(log->fixture->db, &log->conversation.id, now, &err),
                &err);
}

static void going_back_orders_files_or_cancels_the_order(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    const struct file_restore order = {
        .id = "o", .tree = "t", .runtime_session = "s", .runtime_id = "r", .is_required = true};
    struct file_restore read;
    struct error err = ERROR_INIT;

    test_log_add(&log, "ucr");
    assert_done(branch_store_navigate_with_files(log.fixture->db, &log.conversation.id,
                                                 log.ids[1].text, &order, &err),
                &err);
    load_order(&log, &now);
    assert_true(file_restore_read(now.agent_state, &read));
    assert_string_equal(read.id, "o");
    assert_string_equal(read.tree, "t");
    assert_string_equal(read.runtime_session, "s");
    assert_string_equal(read.runtime_id, "r");
    assert_null(read.source_id);
    assert_true(read.is_required);
    assert_done(branch_store_navigate(log.fixture->db, &log.conversation.id, log.ids[3].text, &err),
                &err);
    load_order(&log, &now);
    assert_false(file_restore_read(now.agent_state, &read));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_an_event_are_those_before_the_next_turn),
        cmocka_unit_test(files_within_a_turn_are_those_at_its_start),
        cmocka_unit_test(calls_that_change_nothing_do_not_count),
        cmocka_unit_test(files_from_before_the_first_checkpoint_are_missing),
        cmocka_unit_test(branches_do_not_matter),
        cmocka_unit_test(checkpoint_that_could_not_be_taken_is_missing),
        cmocka_unit_test(unknown_events_are_told),
        cmocka_unit_test(only_the_holder_of_the_lease_stores),
        cmocka_unit_test(first_of_a_seq_stays),
        cmocka_unit_test(list_has_the_newest_in_order),
        cmocka_unit_test(copy_has_the_checkpoints_up_to_its_end),
        cmocka_unit_test(going_back_orders_files_or_cancels_the_order),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests_name("checkpoint_store", tests, store_set_up, store_tear_down);
}
