/*
 * Hints of the store: each function that writes what other processes wait for sends its hints after
 * the commit, and none when it wrote nothing.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/async_post.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "store/conversation/task_store.h"
#include "store/db/async_listen.h"
#include "store/db/db.h"
#include "store/db/db_async.h"
#include "store/db/hints.h"
#include "store/hint_fixture.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"
#include "support/test_catalogue.h"

static int write_pause(const struct hint_fixture *fixture, struct conversation *conversation,
                       const struct conversation_write *write, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    event_add_pause(&events);
    return conversation_store_write(fixture->db, conversation, &events, write, err);
}

static void append_tells_readers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &made);
    CLEANUP(event_list_done) struct event_list first = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list second = EVENT_LIST_INIT;
    struct lease stale = claim.lease;
    struct error err = ERROR_INIT;

    event_add_pause(&first);
    assert_done(conversation_store_append(fixture->db, &claim.lease, &made, &first, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
    stale.fence--;
    event_add_pause(&second);
    assert_int_equal(conversation_store_append(fixture->db, &stale, &made, &second, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
}

static void write_tells_readers_and_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct conversation behind = made;
    CLEANUP(event_list_done) struct event_list none = EVENT_LIST_INIT;
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct conversation_write run = {.guard = GUARD_NONE, .want_run = true};
    const struct conversation_write job = {.guard = GUARD_NONE, .job = {.kind = "title"}};
    const struct conversation_write shown = {.guard = GUARD_NONE, .bump_snapshot = true};
    struct error err = ERROR_INIT;

    assert_done(write_pause(fixture, &made, &plain, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
    assert_done(write_pause(fixture, &made, &run, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
    assert_done(conversation_store_write(fixture->db, &made, &none, &job, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
    assert_done(conversation_store_write(fixture->db, &made, &none, &shown, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
    assert_done(conversation_store_write(fixture->db, &made, &none, &plain, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    /* The number is taken. */
    assert_int_equal(write_pause(fixture, &behind, &run, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
}

/* A run that waits for its model's server goes on at once. */
static void event_of_a_run_that_no_worker_has_tells_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    const struct conversation_write plain = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    made.is_wanted = true;
    assert_done(write_pause(fixture, &made, &plain, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
    made.is_leased = true;
    assert_done(write_pause(fixture, &made, &plain, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
}

static void end_of_a_sub_agents_run_tells_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &made);
    const struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .end_run = true};
    struct error err = ERROR_INIT;

    claim.conversation.is_sub_agent = true;
    assert_done(write_pause(fixture, &claim.conversation, &end, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
}

static void write_without_a_lease_tells_nobody_when_a_worker_has_it(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &made);
    const struct conversation_write end = {.guard = GUARD_NO_LEASE, .end_run = true};
    struct error err = ERROR_INIT;

    assert_int_equal(write_pause(fixture, &made, &end, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    store_expire_lease(&made.id);
    assert_done(write_pause(fixture, &made, &end, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
}

static void child_is_told_of_with_its_parent(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation parent = store_create(fixture->plain);
    CLEANUP(conversation_done) struct conversation child = store_new_conversation(fixture->plain);
    CLEANUP(conversation_done) struct conversation other = store_create(fixture->plain);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write wanted = {.guard = GUARD_NONE, .want_run = true};
    const struct new_conversation inserted = {&child, &events, &wanted};
    const struct conversation_write write = {.guard = GUARD_NONE, .child = &inserted};
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    assert_done(write_pause(fixture, &parent, &write, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &child.id), EVENTS | WORK);
    /* That id is taken now. */
    assert_int_equal(write_pause(fixture, &other, &write, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(hint_fixture_heard(fixture, &child.id), 0);
}

static void refused_child_is_not_told_of(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation parent = store_create(fixture->plain);
    CLEANUP(conversation_done) struct conversation child = store_create(fixture->plain);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write wanted = {.guard = GUARD_NONE, .want_run = true};
    const struct new_conversation inserted = {&child, &events, &wanted};
    const struct conversation_write write = {.guard = GUARD_NONE, .child = &inserted};
    struct error err = ERROR_INIT;

    assert_int_equal(write_pause(fixture, &parent, &write, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &parent.id), 0);
}

static void new_conversation_tells_once(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_new_conversation(fixture->plain);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE, .want_run = true};
    struct error err = ERROR_INIT;
    bool was_there = true;

    event_add_pause(&events);
    assert_done(conversation_store_create(fixture->db, &made, &events, &write, &was_there, &err),
                &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
    assert_done(conversation_store_create(fixture->db, &made, &events, &write, &was_there, &err),
                &err);
    assert_true(was_there);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
}

static void message_and_request_for_a_run_tell_readers_and_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct error err = ERROR_INIT;
    json_auto_t *content = json_build(&err, "[{s:s, s:s}]", "type", "text", "text", "hello");
    struct user_message message = {.catalogue = test_catalogue(), .content = content, .run = false};
    enum post_result result = POST_UNDER_WAY;
    struct uuid unknown = uuid_random();

    assert_done(
        conversation_post_message(fixture->db, &fixture->plain->scope, &made.id, &message, &err),
        &err);
    assert_true((hint_fixture_heard(fixture, &made.id) & EVENTS) != 0);
    assert_done(conversation_post_run(fixture->db, &fixture->plain->scope, &made.id,
                                      &(struct run_request){test_catalogue(), NULL}, &result, &err),
                &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
    assert_done(conversation_post_run(fixture->db, &fixture->plain->scope, &made.id,
                                      &(struct run_request){test_catalogue(), NULL}, &result, &err),
                &err);
    assert_int_equal(result, POST_UNDER_WAY);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    assert_int_equal(
        conversation_post_message(fixture->db, &fixture->plain->scope, &unknown, &message, &err),
        -1);
    assert_int_equal(hint_fixture_heard(fixture, &unknown), 0);
}

static void request_to_stop_tells_the_worker(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = {.conversation = CONVERSATION_INIT};
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err),
                &err);
    assert_int_equal(n_asked, 0);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    claim = store_claim(fixture->plain, &made);
    assert_done(conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err),
                &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), CONTROL | WORK);
}

static void lease_handed_over_tells_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &made);
    struct lease stale = claim.lease;
    struct error err = ERROR_INIT;

    stale.fence--;
    assert_done(conversation_store_hand_over(fixture->db, &stale, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    assert_done(conversation_store_hand_over(fixture->db, &claim.lease, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
}

static void deletion_tells_everybody(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct conversation_scope stranger = {.user_id = uuid_random()};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_delete(fixture->db, &stranger, &made.id, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    assert_done(conversation_store_delete(fixture->db, &fixture->plain->scope, &made.id, &err),
                &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK | CONTROL);
}

static void deletion_with_its_sandbox_tells_the_runtime(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct runtime runtime = store_add_runtime(fixture->plain);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&sql,
                   "WITH r AS (UPDATE runtimes SET session_id = 'c-%s' WHERE id = '%s')"
                   " UPDATE conversations SET runtime_session = 'c-%s' WHERE id = '%s'",
                   made.id.text, runtime.id, made.id.text, made.id.text);
    test_sql(sql.text);
    runtime_done(&runtime);
    assert_done(conversation_store_delete(fixture->db, &fixture->plain->scope, &made.id, &err),
                &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK | CONTROL | RUNTIME);
}

static void going_back_tells_readers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    CLEANUP(conversation_done) struct conversation wanted = store_create_wanted(fixture->plain);
    struct error err = ERROR_INIT;

    assert_done(branch_store_navigate(fixture->db, &made.id, NULL, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
    assert_int_equal(branch_store_navigate(fixture->db, &wanted.id, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(hint_fixture_heard(fixture, &wanted.id), 0);
}

/* Claims until it gets the job with that key. */
static struct job claim_job(const struct hint_fixture *fixture, const struct uuid *owner,
                            const struct uuid *conversation_id)
{
    struct error err = ERROR_INIT;

    for (int i = 0; i < 100; i++) {
        struct job job = {.id = 0};
        bool is_claimed = false;

        assert_done(job_store_claim(fixture->db, owner, &is_claimed, &job, &err), &err);
        assert_true(is_claimed);
        if (text_equal(job.conversation_id.text, conversation_id->text))
            return job;
        job_done(&job);
    }
    fail_msg("never claimed");
    return (struct job){.id = 0};
}

static void job_tells_workers_and_its_result_the_client(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    const struct job_request request = {.kind = "condense", .key = uuid_random()};
    const struct job_request bad = {.kind = "condense", .key = request.key};
    struct uuid owner = uuid_random();
    struct uuid other = uuid_random();
    json_auto_t *result = json_object();
    CLEANUP(job_done) struct job job = {.id = 0};
    struct error err = ERROR_INIT;

    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
    assert_int_equal(job_store_add(fixture->db, &made.id, &bad, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    job = claim_job(fixture, &owner, &made.id);
    assert_done(job_store_finish(fixture->db, &other, &job, result, &err), &err);
    assert_done(job_store_finish(fixture->db, &other, &job, NULL, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    assert_done(job_store_finish(fixture->db, &owner, &job, result, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
}

enum family { PARENT, CHILD };

/* The hints for one of the two, when the parent begins to wait. */
static unsigned hints_of_wait(const struct hint_fixture *fixture, enum family who)
{
    CLEANUP(conversation_done) struct conversation parent = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &parent);
    CLEANUP(conversation_done) struct conversation child = store_new_conversation(fixture->plain);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.status = "running", .want_run = true};
    const struct task_work work = {
        .lease = &claim.lease, .child = &child, .events = &events, .write = &write};
    char stop[STOP_WORD_BYTES] = "";
    unsigned kinds = 0;
    struct error err = ERROR_INIT;

    child.is_sub_agent = true;
    assert_done(task_store_begin(fixture->db, &work, stop, &err), &err);
    kinds = hint_fixture_heard(fixture, who == PARENT ? &parent.id : &child.id);
    assert_done(task_store_suspend(fixture->db, &claim.lease, &child.id, 1, &err), &err);
    /* Its sub-agent may have ended: a worker looks. */
    assert_int_equal(hint_fixture_heard(fixture, &parent.id), EVENTS | WORK);
    /* The lease is released now. */
    assert_int_equal(task_store_suspend(fixture->db, &claim.lease, &child.id, 1, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(hint_fixture_heard(fixture, &parent.id), 0);
    return kinds;
}

static void wait_for_a_sub_agent_tells_of_both(void **state)
{
    assert_int_equal(hints_of_wait(*state, CHILD), EVENTS | WORK);
    assert_int_equal(hints_of_wait(*state, PARENT), EVENTS);
}

/* --- after the commit --- */

struct locked_write {
    const struct hint_fixture *fixture;
    struct conversation *conversation;
    int rc;
};

static void *write_in_thread(void *argument)
{
    struct locked_write *locked = argument;
    const struct conversation_write write = {.guard = GUARD_NO_LEASE, .want_run = true};
    struct error err = ERROR_INIT;

    locked->rc = write_pause(locked->fixture, locked->conversation, &write, &err);
    return NULL;
}

/* True when a statement waits for a lock. */
static bool is_blocked(void)
{
    return test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND datname = current_database()") > 0;
}

static void hint_waits_for_the_commit(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct locked_write locked = {.fixture = fixture, .conversation = &made, .rc = -1};
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    PGconn *holder = PQconnectdb(test_database_url());
    pthread_t thread = 0;

    /* A trigger that runs at the commit waits until the advisory lock is free. */
    test_sql("CREATE OR REPLACE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$"
             " BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$");
    strbuf_appendf(&sql,
                   "CREATE CONSTRAINT TRIGGER wait_at_commit AFTER UPDATE ON conversations"
                   " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.id = '%s')"
                   " EXECUTE FUNCTION wait_at_commit()",
                   made.id.text);
    test_sql(sql.text);
    PQclear(PQexec(holder, "SELECT pg_advisory_lock(4711)"));
    assert_int_equal(pthread_create(&thread, NULL, write_in_thread, &locked), 0);
    while (!is_blocked())
        assert_true(clock_monotonic_ms() < deadline_ms);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    PQfinish(holder);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(locked.rc, 0);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
    test_sql("DROP FUNCTION wait_at_commit CASCADE");
}

/* --- without an answer --- */

/* From now on the server ends the connection of each transaction that changes that table. */
static void lose_answers(const char *table)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    test_sql("CREATE OR REPLACE FUNCTION lose_answer() RETURNS trigger LANGUAGE plpgsql AS $$"
             " BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
    strbuf_appendf(&sql,
                   "CREATE CONSTRAINT TRIGGER lose_answer AFTER INSERT OR UPDATE OR DELETE ON %s"
                   " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lose_answer()",
                   table);
    test_sql(sql.text);
}

static void answer_again(void)
{
    test_sql("DROP FUNCTION lose_answer CASCADE");
}

static void lost_answer_of_a_new_conversation_tells_too(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_new_conversation(fixture->plain);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE, .want_run = true};
    struct error err = ERROR_INIT;
    bool was_there = false;

    event_add_pause(&events);
    lose_answers("conversations");
    assert_int_equal(
        conversation_store_create(fixture->db, &made, &events, &write, &was_there, &err), -1);
    answer_again();
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK);
}

static void lost_answer_of_a_deletion_tells_too(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO branches (conversation_id, from_seq, parent_seq)"
                   " VALUES ('%s', 1, 0)",
                   made.id.text);
    test_sql(sql.text);
    lose_answers("branches");
    assert_int_equal(conversation_store_delete(fixture->db, &fixture->plain->scope, &made.id, &err),
                     -1);
    answer_again();
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS | WORK | CONTROL);
}

static void lost_answers_about_jobs_tell_too(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    const struct job_request request = {.kind = "condense", .key = uuid_random()};
    struct uuid owner = uuid_random();
    json_auto_t *result = json_object();
    CLEANUP(job_done) struct job job = {.id = 0};
    struct error err = ERROR_INIT;

    lose_answers("jobs");
    assert_int_equal(job_store_add(fixture->db, &made.id, &request, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
    answer_again();
    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    job = claim_job(fixture, &owner, &made.id);
    (void)hint_fixture_heard(fixture, &made.id);
    lose_answers("jobs");
    assert_int_equal(job_store_finish(fixture->db, &owner, &job, result, &err), -1);
    answer_again();
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
}

static void lost_answers_about_runs_tell_too(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &made);
    CLEANUP(conversation_done) struct conversation child = store_new_conversation(fixture->plain);
    CLEANUP(conversation_done) struct conversation idle = store_create(fixture->plain);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.status = "running", .want_run = true};
    const struct task_work work = {
        .lease = &claim.lease, .child = &child, .events = &events, .write = &write};
    size_t n_asked = 0;
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    child.is_sub_agent = true;
    lose_answers("conversations");
    assert_int_equal(task_store_begin(fixture->db, &work, stop, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &child.id), EVENTS | WORK);
    assert_int_equal(
        conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), CONTROL | WORK);
    assert_int_equal(conversation_store_hand_over(fixture->db, &claim.lease, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
    assert_int_equal(branch_store_navigate(fixture->db, &idle.id, NULL, &err), -1);
    assert_int_equal(hint_fixture_heard(fixture, &idle.id), EVENTS);
    answer_again();
}

static void job_handed_over_tells_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    const struct job_request request = {.kind = "condense", .key = uuid_random()};
    struct uuid owner = uuid_random();
    struct uuid other = uuid_random();
    CLEANUP(job_done) struct job job = {.id = 0};
    struct error err = ERROR_INIT;

    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    job = claim_job(fixture, &owner, &made.id);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
    assert_done(job_store_put_back(fixture->db, &other, &job, 0, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), 0);
    assert_done(job_store_put_back(fixture->db, &owner, &job, 0, &err), &err);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), WORK);
}

/* As when the server ends during a write: whether it was committed only its readers can tell. */
static void write_whose_answer_is_lost_tells_readers(void **state)
{
    struct hint_fixture *fixture = *state;
    const struct conversation_write write = {.guard = GUARD_NONE};
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture->plain, &made);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    test_sql("CREATE FUNCTION end_server() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'");
    test_sql("CREATE TRIGGER end_server AFTER INSERT ON events EXECUTE FUNCTION end_server()");
    made.is_leased = true;
    assert_int_equal(write_pause(fixture, &made, &write, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
    event_add_pause(&events);
    assert_int_equal(conversation_store_append(fixture->db, &claim.lease, &made, &events, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(hint_fixture_heard(fixture, &made.id), EVENTS);
    test_sql("DROP FUNCTION end_server() CASCADE");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_tells_readers),
        cmocka_unit_test(write_tells_readers_and_workers),
        cmocka_unit_test(event_of_a_run_that_no_worker_has_tells_workers),
        cmocka_unit_test(end_of_a_sub_agents_run_tells_workers),
        cmocka_unit_test(write_without_a_lease_tells_nobody_when_a_worker_has_it),
        cmocka_unit_test(child_is_told_of_with_its_parent),
        cmocka_unit_test(refused_child_is_not_told_of),
        cmocka_unit_test(new_conversation_tells_once),
        cmocka_unit_test(message_and_request_for_a_run_tell_readers_and_workers),
        cmocka_unit_test(request_to_stop_tells_the_worker),
        cmocka_unit_test(lease_handed_over_tells_workers),
        cmocka_unit_test(deletion_tells_everybody),
        cmocka_unit_test(deletion_with_its_sandbox_tells_the_runtime),
        cmocka_unit_test(going_back_tells_readers),
        cmocka_unit_test(job_tells_workers_and_its_result_the_client),
        cmocka_unit_test(wait_for_a_sub_agent_tells_of_both),
        cmocka_unit_test(hint_waits_for_the_commit),
        cmocka_unit_test(lost_answer_of_a_new_conversation_tells_too),
        cmocka_unit_test(lost_answer_of_a_deletion_tells_too),
        cmocka_unit_test(lost_answers_about_jobs_tell_too),
        cmocka_unit_test(lost_answers_about_runs_tell_too),
        cmocka_unit_test(job_handed_over_tells_workers),
        cmocka_unit_test(write_whose_answer_is_lost_tells_readers),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, hint_fixture_set_up, hint_fixture_tear_down);
}
