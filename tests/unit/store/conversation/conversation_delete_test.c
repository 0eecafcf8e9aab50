/*
 * A delete leaves nothing of the conversation, even if a worker was writing to it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { RUN_SLOTS = 1000 };

/* A worker that appends, and a client that deletes. */
struct pair {
    struct store_fixture *fixture;
    struct claim claim;
    int n_events;
    _Atomic(bool) is_deleted;
};

static void *append(void *argument)
{
    struct pair *pair = argument;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    for (int i = 0; i < pair->n_events; i++)
        event_add_pause(&events);
    if (conversation_store_append(pair->fixture->db, &pair->claim.lease, &pair->claim.conversation,
                                  &events, &err) < 0)
        assert_int_equal(err.code, ERROR_STALE);
    return NULL;
}

static void *delete_it(void *argument)
{
    struct pair *pair = argument;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_delete(pair->fixture->db, &pair->fixture->scope,
                                          &pair->claim.conversation.id, &err),
                &err);
    atomic_store(&pair->is_deleted, true);
    return NULL;
}

static int64_t count_waiting(void)
{
    return test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND datname = current_database()");
}

/* Appends stop before or after their first row for as long as the transaction holds the lock. */
static void hold_appends(struct db *db, const char *moment, struct db_tx *tx)
{
    static const char SQL_HOLD[] = "SELECT pg_advisory_xact_lock(2)";
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    test_sql("CREATE FUNCTION hold_append() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM pg_advisory_xact_lock(2); RETURN NULL; END'");
    strbuf_appendf(&sql,
                   "CREATE TRIGGER hold_append %s INSERT ON events"
                   " EXECUTE FUNCTION hold_append()",
                   moment);
    test_sql(sql.text);
    assert_done(db_tx_begin(db, tx, &err), &err);
    assert_done(db_tx_query(tx, SQL_HOLD, DB_NO_PARAMS, &rows, &err), &err);
}

static int64_t count_events(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM events WHERE conversation_id = '%s'", id->text);
    return test_sql_count(sql.text);
}

static void claim_it(struct pair *pair)
{
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(pair->fixture);
    struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool claimed = false;

    assert_done(conversation_store_claim(pair->fixture->db, &owner, RUN_SLOTS, &claimed,
                                         &pair->claim, &err),
                &err);
    assert_true(claimed);
    assert_string_equal(pair->claim.conversation.id.text, made.id.text);
}

static void check_append(void **state, const char *moment, int n_events)
{
    struct pair pair = {
        .fixture = *state, .claim = {.conversation = CONVERSATION_INIT}, .n_events = n_events};
    struct db_tx held = DB_TX_INIT;
    pthread_t appender = 0;
    pthread_t deleter = 0;

    claim_it(&pair);
    hold_appends(pair.fixture->db, moment, &held);
    pthread_create(&appender, NULL, append, &pair);
    while (count_waiting() < 1)
        sched_yield();
    pthread_create(&deleter, NULL, delete_it, &pair);
    while (!atomic_load(&pair.is_deleted) && count_waiting() < 2)
        sched_yield();
    db_tx_end(&held);
    pthread_join(appender, NULL);
    pthread_join(deleter, NULL);
    test_sql("DROP FUNCTION hold_append() CASCADE");
    assert_int_equal(count_events(&pair.claim.conversation.id), 0);
    claim_done(&pair.claim);
}

static void append_that_has_begun_goes_with_the_conversation(void **state)
{
    check_append(state, "AFTER", 1);
    check_append(state, "AFTER", 2);
}

static void append_that_comes_too_late_writes_nothing(void **state)
{
    check_append(state, "BEFORE", 1);
    check_append(state, "BEFORE", 2);
}

/* Whether the sandbox of that session is still wanted. */
static bool is_wanted(const char *session)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM runtimes WHERE session_id = '%s' AND desired <> 'deleted'",
                   session);
    return test_sql_count(sql.text) == 1;
}

/* A stored conversation that works in the sandbox of that session. */
static struct conversation create_in(const struct store_fixture *fixture, const char *session)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct conversation made = store_create(fixture);

    strbuf_appendf(&sql, "UPDATE conversations SET runtime_session = '%s' WHERE id = '%s'", session,
                   made.id.text);
    test_sql(sql.text);
    return made;
}

static void only_the_last_conversation_takes_its_own_sandbox_along(void **state)
{
    static const struct {
        const char *session;
        bool is_kept; /* after the last of two conversations */
    } cases[] = {{"c-own", false}, {"u-shared", true}, {"s-requested", true}};
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
        CLEANUP(conversation_done) struct conversation first = create_in(fixture, cases[i].session);
        CLEANUP(conversation_done) struct conversation last = create_in(fixture, cases[i].session);
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
        struct error err = ERROR_INIT;

        strbuf_appendf(&sql, "UPDATE runtimes SET session_id = '%s' WHERE id = '%s'",
                       cases[i].session, runtime.id);
        test_sql(sql.text);
        assert_done(conversation_store_delete(fixture->db, &fixture->scope, &first.id, &err), &err);
        assert_true(is_wanted(cases[i].session));
        assert_done(conversation_store_delete(fixture->db, &fixture->scope, &last.id, &err), &err);
        assert_int_equal(is_wanted(cases[i].session), cases[i].is_kept);
    }
}

/* The commit of that conversation's deletion waits for the transaction. */
static struct test_tx *hold_commit(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_tx *tx = test_tx_begin();

    strbuf_appendf(&sql,
                   "CREATE FUNCTION hold_commit() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'BEGIN PERFORM pg_advisory_xact_lock(3); RETURN NULL; END';"
                   "CREATE CONSTRAINT TRIGGER hold_commit AFTER DELETE ON conversations"
                   " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.id = '%s')"
                   " EXECUTE FUNCTION hold_commit()",
                   id->text);
    test_sql(sql.text);
    test_tx_sql(tx, "SELECT pg_advisory_xact_lock(3)");
    return tx;
}

/* Neither deletion sees that of the other one before its commit. */
static void last_of_two_deletions_at_once_takes_the_sandbox_along(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(conversation_done) struct conversation one = create_in(fixture, "c-shared");
    CLEANUP(conversation_done) struct conversation two = create_in(fixture, "c-shared");
    struct pair first = {.fixture = fixture, .claim.conversation = one};
    struct pair second = {.fixture = fixture, .claim.conversation = two};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_tx *tx = NULL;
    pthread_t threads[2];

    strbuf_appendf(&sql, "UPDATE runtimes SET session_id = 'c-shared' WHERE id = '%s'", runtime.id);
    test_sql(sql.text);
    tx = hold_commit(&one.id);
    pthread_create(&threads[0], NULL, delete_it, &first);
    while (count_waiting() < 1)
        sched_yield();
    pthread_create(&threads[1], NULL, delete_it, &second);
    while (!atomic_load(&second.is_deleted) && count_waiting() < 2)
        sched_yield();
    test_tx_commit(tx);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    test_sql("DROP FUNCTION hold_commit() CASCADE");
    assert_false(is_wanted("c-shared"));
}

static void *undo_it(void *argument)
{
    struct pair *pair = argument;
    struct error err = ERROR_INIT;
    bool is_undone = false;

    assert_done(conversation_store_undo_start(pair->fixture->db, &pair->fixture->scope,
                                              &pair->claim.conversation.id, &is_undone, &err),
                &err);
    atomic_store(&pair->is_deleted, is_undone);
    return NULL;
}

/* A message that comes after the check would be lost with the conversation. */
static void nothing_comes_between_the_check_and_the_undoing_of_a_start(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(conversation_done) struct conversation made = create_in(fixture, "c-undone");
    struct pair pair = {.fixture = fixture, .claim.conversation = made};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf free_rows = STRBUF_INIT;
    struct test_tx *tx = test_tx_begin();
    pthread_t thread = 0;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET agent_state = '{\"worktree\":{}}' WHERE id = '%s';"
                   "UPDATE runtimes SET session_id = 'c-undone' WHERE id = '%s'",
                   made.id.text, runtime.id);
    test_sql(sql.text);
    test_tx_sql(tx, "SELECT 1 FROM runtimes WHERE session_id = 'c-undone' FOR UPDATE");
    pthread_create(&thread, NULL, undo_it, &pair);
    while (count_waiting() < 1)
        sched_yield();
    strbuf_appendf(&free_rows,
                   "SELECT count(*) FROM (SELECT 1 FROM conversations WHERE id = '%s'"
                   " FOR KEY SHARE SKIP LOCKED) free_row",
                   made.id.text);
    assert_int_equal(test_sql_count(free_rows.text), 0);
    test_tx_commit(tx);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&pair.is_deleted));
}

static void make_child(const struct conversation *child, const struct conversation *parent,
                       const char *is_sub_agent)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET parent_id = '%s', is_sub_agent = %s WHERE id = '%s'",
                   parent->id.text, is_sub_agent, child->id.text);
    test_sql(sql.text);
}

static bool is_there(const struct conversation *conversation)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s'",
                   conversation->id.text);
    return test_sql_count(sql.text) == 1;
}

/* A deletion that fails in between can be repeated: the conversation asked for goes last. */
static void sub_agents_are_deleted_before_the_conversation_above(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation root = store_create(fixture);
    CLEANUP(conversation_done) struct conversation agent = store_create(fixture);
    CLEANUP(conversation_done) struct conversation below = store_create(fixture);
    CLEANUP(conversation_done) struct conversation plain = store_create(fixture);
    struct error err = ERROR_INIT;

    make_child(&agent, &root, "true");
    make_child(&below, &agent, "true");
    make_child(&plain, &root, "false");
    test_sql("CREATE FUNCTION refuse_parent() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
             " IF EXISTS (SELECT 1 FROM conversations WHERE parent_id = OLD.id AND is_sub_agent)"
             " THEN RAISE EXCEPTION ''its sub-agents are there''; END IF; RETURN OLD; END'");
    test_sql("CREATE TRIGGER refuse_parent BEFORE DELETE ON conversations FOR EACH ROW"
             " EXECUTE FUNCTION refuse_parent()");
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &root.id, &err), &err);
    test_sql("DROP FUNCTION refuse_parent CASCADE");
    assert_false(is_there(&root));
    assert_false(is_there(&agent));
    assert_false(is_there(&below));
    assert_true(is_there(&plain));
}

static void stranger_deletes_nothing_and_stops_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    const struct conversation_scope scopes[] = {
        {.user_id = test_user(fixture->db)},
        {.user_id = fixture->user_id, .runtime_session = "c-other"},
    };
    struct held_lease held = {.conversation_id = made.id, .fence = claim.lease.fence};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
        assert_int_equal(conversation_store_delete(fixture->db, &scopes[i], &made.id, &err), -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    }
    assert_done(conversation_store_renew(fixture->db, &claim.lease.owner, &held, 1, &err), &err);
    assert_true(held.is_held);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_that_has_begun_goes_with_the_conversation),
        cmocka_unit_test(append_that_comes_too_late_writes_nothing),
        cmocka_unit_test(only_the_last_conversation_takes_its_own_sandbox_along),
        cmocka_unit_test(last_of_two_deletions_at_once_takes_the_sandbox_along),
        cmocka_unit_test(nothing_comes_between_the_check_and_the_undoing_of_a_start),
        cmocka_unit_test(sub_agents_are_deleted_before_the_conversation_above),
        cmocka_unit_test(stranger_deletes_nothing_and_stops_nothing),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
