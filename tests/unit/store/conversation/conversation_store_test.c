/* The store's guarantees for conversations: one step is one transaction, and deletes are complete.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"
#include "support/test_catalogue.h"

static void created_conversation_is_found_by_its_owner_alone(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation found = CONVERSATION_INIT;
    struct conversation_scope stranger = {.user_id = test_user(fixture->db)};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &found, &err),
                     0);
    assert_string_equal(found.id.text, made.id.text);
    assert_int_equal(conversation_store_load(fixture->db, &stranger, &made.id, &found, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void second_create_of_an_id_writes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation again = store_new_conversation(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.want_run = true, .status = "running"};
    struct error err = ERROR_INIT;
    bool was_there = false;

    again.id = made.id;
    event_add_pause(&events);
    assert_int_equal(
        conversation_store_create(fixture->db, &again, &events, &write, &was_there, &err), 0);
    assert_true(was_there);
    store_assert_gapless(fixture, &made.id, 0);
    again.user_id = test_user(fixture->db);
    assert_int_equal(
        conversation_store_create(fixture->db, &again, &events, &write, &was_there, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

static void end_of_run_is_one_step(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write end = {.guard = GUARD_LEASE,
                                     .lease = &claim.lease,
                                     .status = "finished",
                                     .end_run = true,
                                     .bump_snapshot = true};
    struct error err = ERROR_INIT;

    event_add_status(&events, STATUS_FINISHED);
    assert_int_equal(
        conversation_store_write(fixture->db, &claim.conversation, &events, &end, &err), 0);
    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &after, &err),
                     0);
    assert_int_equal(after.status, STATUS_FINISHED);
    assert_false(after.is_wanted);
    assert_false(after.is_leased);
    assert_int_equal(after.snapshot_version, 1);
    assert_int_equal(after.last_seq, 1);
}

static void first_title_leaves_a_given_one_alone(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    struct event_list none = EVENT_LIST_INIT;
    struct conversation_write name = {.guard = GUARD_NONE, .title = "Named"};
    struct conversation_write guess = {.guard = GUARD_NONE, .first_title = "Guessed"};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_write(fixture->db, &made, &none, &guess, &err), 0);
    assert_int_equal(conversation_store_write(fixture->db, &made, &none, &name, &err), 0);
    assert_int_equal(conversation_store_write(fixture->db, &made, &none, &guess, &err), 0);
    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &after, &err),
                     0);
    assert_string_equal(after.title, "Named");
}

static void message_before_the_end_makes_the_end_wait(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    CLEANUP(event_list_done) struct event_list message = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list ending = EVENT_LIST_INIT;
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    struct conversation_write say = {.guard = GUARD_NONE, .want_run = true};
    struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    event_add_environment_message(&message, "wait");
    assert_int_equal(conversation_store_write(fixture->db, &made, &message, &say, &err), 0);
    event_add_status(&ending, STATUS_FINISHED);
    assert_int_equal(
        conversation_store_write(fixture->db, &claim.conversation, &ending, &end, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &after, &err),
                     0);
    assert_true(after.is_wanted);
    assert_true(after.is_leased);
}

static void pause_without_a_worker_is_refused_while_one_has_it(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write pause = {
        .guard = GUARD_NO_LEASE, .status = "paused", .end_run = true};
    struct error err = ERROR_INIT;
    size_t n_asked = 0;
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);

    assert_string_equal(claim.lease.conversation_id.text, made.id.text);
    event_add_pause(&events);
    assert_int_equal(conversation_store_write(fixture->db, &made, &events, &pause, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(
        conversation_store_request_stop(fixture->db, &made.id, "interrupt", &n_asked, &err), 0);
    assert_int_equal(n_asked, 1);
    assert_int_equal(
        conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err), 0);
    assert_int_equal(n_asked, 1);
    store_expire_lease(&made.id);
    assert_int_equal(
        conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err), 0);
    assert_int_equal(n_asked, 0);
    assert_int_equal(conversation_store_write(fixture->db, &made, &events, &pause, &err), 0);
}

static void deleted_conversation_leaves_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    assert_int_equal(
        conversation_store_append(fixture->db, &claim.lease, &claim.conversation, &events, &err),
        0);
    assert_int_equal(conversation_store_delete(fixture->db, &fixture->scope, &made.id, &err), 0);
    store_assert_gapless(fixture, &made.id, 0);
    assert_int_equal(
        conversation_store_append(fixture->db, &claim.lease, &claim.conversation, &events, &err),
        -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(conversation_store_delete(fixture->db, &fixture->scope, &made.id, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* A stored conversation that works in the sandbox of that session. */
static struct conversation create_in(const struct store_fixture *fixture, enum runtime_kind kind,
                                     const char *session)
{
    struct conversation conversation = store_new_conversation(fixture);
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct event_list none = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;
    bool was_there = false;

    conversation.runtime_kind = kind;
    mem_free(conversation.runtime_session);
    conversation.runtime_session = mem_dup_text(session);
    assert_done(
        conversation_store_create(fixture->db, &conversation, &none, &write, &was_there, &err),
        &err);
    return conversation;
}

static int64_t count_deleted_sandboxes(const char *session)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM runtimes WHERE session_id = '%s' AND desired = 'deleted'",
                   session);
    return test_sql_count(sql.text);
}

static void sandbox_goes_with_the_last_that_works_in_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = uuid_random();
    CLEANUP(mem_freep) char *session = conversation_own_session(&fixture->user_id, &id);
    CLEANUP(conversation_done) struct conversation parent =
        create_in(fixture, RUNTIME_DOCKER, session);
    CLEANUP(conversation_done) struct conversation child =
        create_in(fixture, RUNTIME_LOCAL, session);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, image, spec, session_key,"
                   " session_key_hash) VALUES ('%.16s', '%s', 'i', '{}', '', '%s')",
                   id.text, session, id.text);
    test_sql(sql.text);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &parent.id, &err), &err);
    assert_int_equal(count_deleted_sandboxes(session), 0);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &child.id, &err), &err);
    assert_int_equal(count_deleted_sandboxes(session), 1);
}

static int write_stats(const struct store_fixture *fixture, struct conversation *conversation,
                       const char *stats, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE, .stats = stats};

    return conversation_store_write(fixture->db, conversation, &events, &write, err);
}

static void stats_that_others_changed_are_not_replaced(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation one = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation other = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_load_any(fixture->db, &made.id, &one, &err), &err);
    assert_done(conversation_store_load_any(fixture->db, &made.id, &other, &err), &err);
    assert_done(write_stats(fixture, &one, "{\"usage_to_metrics\":{\"a\":{}}}", &err), &err);
    assert_int_equal(write_stats(fixture, &other, "{\"usage_to_metrics\":{\"b\":{}}}", &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_done(write_stats(fixture, &one, "{\"usage_to_metrics\":{\"a\":{},\"c\":{}}}", &err),
                &err);
    assert_done(conversation_store_load_any(fixture->db, &made.id, &after, &err), &err);
    assert_int_equal(json_object_size(json_object_get(after.stats, "usage_to_metrics")), 2);
    store_assert_gapless(fixture, &made.id, 0);
}

/* Two that act on one conversation at the same time. */
struct pair {
    struct store_fixture *fixture;
    struct uuid id;
    _Atomic(bool) is_posted;
};

static void *delete_it(void *argument)
{
    struct pair *pair = argument;
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_delete(pair->fixture->db, &pair->fixture->scope, &pair->id, &err), &err);
    return NULL;
}

/* It may come too late: then the conversation is gone. */
static void *post_to_it(void *argument)
{
    struct pair *pair = argument;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_array();
    const struct user_message message = {.catalogue = test_catalogue(), .content = content};

    json_push(content, text_content("hello"));
    if (conversation_post_message(pair->fixture->db, &pair->fixture->scope, &pair->id, &message,
                                  &err) < 0)
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    atomic_store(&pair->is_posted, true);
    return NULL;
}

static int64_t count_waiting(void)
{
    return test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND datname = current_database()");
}

/* Deletes stop before their first row for as long as the transaction holds the lock. */
static void hold_deletes(struct db *db, struct db_tx *tx)
{
    static const char SQL_HOLD[] = "SELECT pg_advisory_xact_lock(1)";
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    test_sql("CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'");
    test_sql("CREATE TRIGGER wait_for_test BEFORE DELETE ON conversations"
             " EXECUTE FUNCTION wait_for_test()");
    assert_done(db_tx_begin(db, tx, &err), &err);
    assert_done(db_tx_query(tx, SQL_HOLD, DB_NO_PARAMS, &rows, &err), &err);
}

static void message_that_meets_the_delete_leaves_nothing(void **state)
{
    CLEANUP(conversation_done) struct conversation made = store_create(*state);
    struct pair pair = {.fixture = *state, .id = made.id};
    struct db_tx held = DB_TX_INIT;
    pthread_t deleter = 0;
    pthread_t poster = 0;

    hold_deletes(pair.fixture->db, &held);
    pthread_create(&deleter, NULL, delete_it, &pair);
    while (count_waiting() < 1)
        sched_yield();
    pthread_create(&poster, NULL, post_to_it, &pair);
    while (!atomic_load(&pair.is_posted) && count_waiting() < 2)
        sched_yield();
    db_tx_end(&held);
    pthread_join(deleter, NULL);
    pthread_join(poster, NULL);
    test_sql("DROP FUNCTION wait_for_test() CASCADE");
    store_assert_gapless(pair.fixture, &made.id, 0);
}

static void pages_walk_all_conversations_once(void **state)
{
    struct store_fixture *fixture = *state;
    struct conversation_filter filter = {.scope = fixture->scope, .limit = 3};
    struct store_fixture own = *fixture;
    struct error err = ERROR_INIT;
    int n_seen = 0;

    own.user_id = test_user(fixture->db);
    filter.scope.user_id = own.user_id;
    for (int i = 0; i < 8; i++) {
        struct conversation made = store_create(&own);

        conversation_done(&made);
    }
    for (int page_no = 0; page_no < 3; page_no++) {
        CLEANUP(conversation_page_done) struct conversation_page page = {0};

        assert_int_equal(conversation_store_search(own.db, &filter, &page, &err), 0);
        n_seen += (int)page.n;
        filter.from_id = page.next_id;
        assert_int_equal(uuid_is_set(&page.next_id), page_no < 2);
    }
    assert_int_equal(n_seen, 8);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(created_conversation_is_found_by_its_owner_alone),
        cmocka_unit_test(second_create_of_an_id_writes_nothing),
        cmocka_unit_test(end_of_run_is_one_step),
        cmocka_unit_test(stats_that_others_changed_are_not_replaced),
        cmocka_unit_test(first_title_leaves_a_given_one_alone),
        cmocka_unit_test(message_before_the_end_makes_the_end_wait),
        cmocka_unit_test(pause_without_a_worker_is_refused_while_one_has_it),
        cmocka_unit_test(deleted_conversation_leaves_nothing),
        cmocka_unit_test(sandbox_goes_with_the_last_that_works_in_it),
        cmocka_unit_test(message_that_meets_the_delete_leaves_nothing),
        cmocka_unit_test(pages_walk_all_conversations_once),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
