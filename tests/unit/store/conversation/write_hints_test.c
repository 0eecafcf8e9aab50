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
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum {
    DEADLINE_MS = 60000,
    EVENTS = 1U << HINT_EVENTS,
    WORK = 1U << HINT_WORK,
    CONTROL = 1U << HINT_CONTROL,
    RUNTIME = 1U << HINT_RUNTIME,
    ALL_KINDS = (1U << HINT_N_KINDS) - 1,
};

/* A process that writes, one that listens, and a store without hints for what is not looked at. */
struct hint_fixture {
    struct store_fixture *plain;
    struct db *db;
    struct hints *sender; /* of db */
    struct hints *listener;
};

static int set_up(void **state)
{
    struct hint_fixture *fixture = NEW(struct hint_fixture);
    struct db_options options = {
        .url = test_database_url(), .application = "deft-test", .n_connections = 4};
    struct error err = ERROR_INIT;
    void *plain = NULL;

    assert_int_equal(store_set_up(&plain), 0);
    fixture->plain = plain;
    assert_done(hints_open(options.url, "deft-test", 0, &fixture->sender, &err), &err);
    assert_done(hints_open(options.url, "deft-test", ALL_KINDS, &fixture->listener, &err), &err);
    hints_pump(fixture->sender);
    hints_pump(fixture->listener);
    options.hints = fixture->sender;
    assert_done(db_open(&options, &fixture->db, &err), &err);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct hint_fixture *fixture = *state;
    void *plain = fixture->plain;

    db_free(fixture->db);
    hints_free(fixture->sender);
    hints_free(fixture->listener);
    assert_int_equal(store_tear_down(&plain), 0);
    mem_free(fixture);
    return 0;
}

static void wait_for_hints(const struct hint_fixture *fixture)
{
    int fds[4];
    struct pollfd waits[4];

    hints_fds(fixture->sender, fds);
    hints_fds(fixture->listener, fds + 2);
    for (size_t i = 0; i < 4; i++)
        waits[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    (void)poll(waits, 4, 1000); /* as main threads do */
    hints_pump(fixture->sender);
    hints_pump(fixture->listener);
}

/*
 * The kinds of hints with that id that were queued so far. A hint of the kind that is sent last
 * marks the end.
 */
static unsigned heard(const struct hint_fixture *fixture, const struct uuid *id)
{
    struct uuid end = uuid_random();
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    enum hint_kind kind = HINT_N_KINDS;
    unsigned kinds = 0;
    char got[64] = "";

    hints_send(fixture->sender, HINT_CALLERS, end.text);
    while (clock_monotonic_ms() < deadline_ms) {
        while (hints_next(fixture->listener, &kind, got)) {
            if (text_equal(got, id->text))
                kinds |= 1U << kind;
            if (text_equal(got, end.text))
                return kinds;
        }
        wait_for_hints(fixture);
    }
    fail_msg("hints do not arrive");
    return 0;
}

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
    assert_int_equal(heard(fixture, &made.id), EVENTS);
    stale.fence--;
    event_add_pause(&second);
    assert_int_equal(conversation_store_append(fixture->db, &stale, &made, &second, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(heard(fixture, &made.id), 0);
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
    assert_int_equal(heard(fixture, &made.id), EVENTS);
    assert_done(write_pause(fixture, &made, &run, &err), &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK);
    assert_done(conversation_store_write(fixture->db, &made, &none, &job, &err), &err);
    assert_int_equal(heard(fixture, &made.id), WORK);
    assert_done(conversation_store_write(fixture->db, &made, &none, &shown, &err), &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS);
    assert_done(conversation_store_write(fixture->db, &made, &none, &plain, &err), &err);
    assert_int_equal(heard(fixture, &made.id), 0);
    /* The number is taken. */
    assert_int_equal(write_pause(fixture, &behind, &run, &err), -1);
    assert_int_equal(heard(fixture, &made.id), 0);
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
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK);
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
    assert_int_equal(heard(fixture, &made.id), 0);
    store_expire_lease(&made.id);
    assert_done(write_pause(fixture, &made, &end, &err), &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS);
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
    assert_int_equal(heard(fixture, &child.id), EVENTS | WORK);
    /* That id is taken now. */
    assert_int_equal(write_pause(fixture, &other, &write, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(heard(fixture, &child.id), 0);
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
    assert_int_equal(heard(fixture, &parent.id), 0);
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
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK);
    assert_done(conversation_store_create(fixture->db, &made, &events, &write, &was_there, &err),
                &err);
    assert_true(was_there);
    assert_int_equal(heard(fixture, &made.id), 0);
}

static void message_and_request_for_a_run_tell_readers_and_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct error err = ERROR_INIT;
    json_auto_t *content = json_build(&err, "[{s:s, s:s}]", "type", "text", "text", "hello");
    struct user_message message = {.content = content, .run = false};
    enum post_result result = POST_UNDER_WAY;
    struct uuid unknown = uuid_random();

    assert_done(
        conversation_post_message(fixture->db, &fixture->plain->scope, &made.id, &message, &err),
        &err);
    assert_true((heard(fixture, &made.id) & EVENTS) != 0);
    assert_done(
        conversation_post_run(fixture->db, &fixture->plain->scope, &made.id, NULL, &result, &err),
        &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK);
    assert_done(
        conversation_post_run(fixture->db, &fixture->plain->scope, &made.id, NULL, &result, &err),
        &err);
    assert_int_equal(result, POST_UNDER_WAY);
    assert_int_equal(heard(fixture, &made.id), 0);
    assert_int_equal(
        conversation_post_message(fixture->db, &fixture->plain->scope, &unknown, &message, &err),
        -1);
    assert_int_equal(heard(fixture, &unknown), 0);
}

static void request_to_stop_tells_the_worker(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture->plain);
    CLEANUP(claim_done) struct claim claim = {.conversation = CONVERSATION_INIT};
    struct stop_chain chain = {.n = 0};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_request_stop(fixture->db, &made.id, "pause", &chain, &err),
                &err);
    assert_int_equal(chain.n, 0);
    assert_int_equal(heard(fixture, &made.id), 0);
    claim = store_claim(fixture->plain, &made);
    assert_done(conversation_store_request_stop(fixture->db, &made.id, "pause", &chain, &err),
                &err);
    assert_int_equal(heard(fixture, &made.id), CONTROL | WORK);
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
    assert_int_equal(heard(fixture, &made.id), 0);
    assert_done(conversation_store_hand_over(fixture->db, &claim.lease, &err), &err);
    assert_int_equal(heard(fixture, &made.id), WORK);
}

static void deletion_tells_everybody(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct conversation_scope stranger = {.user_id = uuid_random()};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_delete(fixture->db, &stranger, &made.id, &err), -1);
    assert_int_equal(heard(fixture, &made.id), 0);
    assert_done(conversation_store_delete(fixture->db, &fixture->plain->scope, &made.id, &err),
                &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK | CONTROL);
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
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK | CONTROL | RUNTIME);
}

static void going_back_tells_readers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    CLEANUP(conversation_done) struct conversation wanted = store_create_wanted(fixture->plain);
    struct error err = ERROR_INIT;

    assert_done(branch_store_navigate(fixture->db, &made.id, NULL, &err), &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS);
    assert_int_equal(branch_store_navigate(fixture->db, &wanted.id, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(heard(fixture, &wanted.id), 0);
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
    assert_int_equal(heard(fixture, &made.id), WORK);
    assert_int_equal(job_store_add(fixture->db, &made.id, &bad, &err), -1);
    assert_int_equal(heard(fixture, &made.id), 0);
    job = claim_job(fixture, &owner, &made.id);
    assert_done(job_store_finish(fixture->db, &other, &job, result, &err), &err);
    assert_done(job_store_finish(fixture->db, &other, &job, NULL, &err), &err);
    assert_int_equal(heard(fixture, &made.id), 0);
    assert_done(job_store_finish(fixture->db, &owner, &job, result, &err), &err);
    assert_int_equal(heard(fixture, &made.id), EVENTS);
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
    const struct task_work work = {&child, &events, &write};
    const struct task_wait wait = {.lease = &claim.lease, .child_id = child.id};
    char stop[STOP_WORD_BYTES] = "";
    unsigned kinds = 0;
    struct error err = ERROR_INIT;

    child.is_sub_agent = true;
    assert_done(task_store_begin(fixture->db, &wait, &work, stop, &err), &err);
    kinds = heard(fixture, who == PARENT ? &parent.id : &child.id);
    /* The lease is released now. */
    assert_int_equal(task_store_wait_again(fixture->db, &wait, stop, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(heard(fixture, &parent.id), 0);
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
    assert_int_equal(heard(fixture, &made.id), 0);
    PQfinish(holder);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(locked.rc, 0);
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK);
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
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK);
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
    assert_int_equal(heard(fixture, &made.id), EVENTS | WORK | CONTROL);
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
    assert_int_equal(heard(fixture, &made.id), WORK);
    answer_again();
    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    job = claim_job(fixture, &owner, &made.id);
    (void)heard(fixture, &made.id);
    lose_answers("jobs");
    assert_int_equal(job_store_finish(fixture->db, &owner, &job, result, &err), -1);
    answer_again();
    assert_int_equal(heard(fixture, &made.id), EVENTS);
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
    const struct task_work work = {&child, &events, &write};
    const struct task_wait wait = {.lease = &claim.lease, .child_id = child.id};
    struct stop_chain chain = {.n = 0};
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    child.is_sub_agent = true;
    lose_answers("conversations");
    assert_int_equal(task_store_begin(fixture->db, &wait, &work, stop, &err), -1);
    assert_int_equal(heard(fixture, &child.id), EVENTS | WORK);
    assert_int_equal(conversation_store_request_stop(fixture->db, &made.id, "pause", &chain, &err),
                     -1);
    assert_int_equal(heard(fixture, &made.id), CONTROL | WORK);
    assert_int_equal(conversation_store_hand_over(fixture->db, &claim.lease, &err), -1);
    assert_int_equal(heard(fixture, &made.id), WORK);
    assert_int_equal(branch_store_navigate(fixture->db, &idle.id, NULL, &err), -1);
    assert_int_equal(heard(fixture, &idle.id), EVENTS);
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
    assert_int_equal(heard(fixture, &made.id), WORK);
    assert_done(job_store_put_back(fixture->db, &other, &job, 0, &err), &err);
    assert_int_equal(heard(fixture, &made.id), 0);
    assert_done(job_store_put_back(fixture->db, &owner, &job, 0, &err), &err);
    assert_int_equal(heard(fixture, &made.id), WORK);
}

/* --- without blocking --- */

struct post_end {
    bool is_over;
    struct error err;
};

static void on_posted(struct async_post *post, const struct error *err)
{
    struct post_end *end = post->owner;

    end->is_over = true;
    end->err = err != NULL ? *err : (struct error)ERROR_INIT;
}

static void pump(struct db_async *first, struct db_async *second)
{
    struct pollfd waits[2] = {{.fd = db_async_fd(first), .events = POLLIN},
                              {.fd = db_async_fd(second), .events = POLLIN}};

    (void)poll(waits, 2, 1000);
    db_async_pump(first);
    db_async_pump(second);
}

static void note_reset(void *owner)
{
    *(bool *)owner = true;
}

static void ignore_id(void *owner, const char *id)
{
    (void)owner;
    (void)id;
}

/* Posts a message within those limits; the hints that were sent for the conversation. */
static unsigned post_within(const struct hint_fixture *fixture, const struct uuid *id,
                            const struct run_limits *limits, struct post_end *end)
{
    const struct db_options options = {.url = test_database_url(), .application = "deft-test"};
    struct error err = ERROR_INIT;
    json_auto_t *message =
        json_build(&err, "{s:[{s:s, s:s}]}", "content", "type", "text", "text", "hello");
    struct db_async *writer = NULL;
    struct db_async *hints = NULL;
    struct async_post *post = NULL;
    bool is_listening = false;
    const struct async_listener listener = {.changed = ignore_id,
                                            .ended = ignore_id,
                                            .progressed = ignore_id,
                                            .reset = note_reset,
                                            .owner = &is_listening};
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    unsigned kinds = 0;

    assert_done(db_async_open(&options, &writer, &err), &err);
    assert_done(db_async_open(&options, &hints, &err), &err);
    async_listen(hints, &listener);
    db_async_set_hints(writer, hints);
    post = async_post_new(writer, &fixture->plain->scope, id, message, limits);
    post->owner = end;
    post->done = on_posted;
    async_post_start(post);
    db_async_pump(hints);
    while (!end->is_over || !is_listening)
        pump(writer, hints);
    async_post_free(post);
    db_async_free(writer);
    do {
        pump(hints, hints);
        kinds |= heard(fixture, id);
    } while (end->err.code == ERROR_NONE && kinds != (EVENTS | WORK) &&
             clock_monotonic_ms() < deadline_ms);
    db_async_free(hints);
    return kinds;
}

static unsigned post_async(const struct hint_fixture *fixture, const struct uuid *id,
                           struct post_end *end)
{
    const struct run_limits limits = {.n_slots = 1000, .n_queued = 1000};

    return post_within(fixture, id, &limits, end);
}

static void non_blocking_message_without_room_is_stored_without_a_run(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    const struct run_limits none = {.n_slots = 0, .n_queued = 0};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct post_end end = {.is_over = false};

    (void)post_within(fixture, &made.id, &none, &end);
    assert_int_equal(end.err.code, ERROR_RATE_LIMITED);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations c WHERE id = '%s' AND wanted_at IS NULL"
                   " AND EXISTS (SELECT 1 FROM events WHERE conversation_id = c.id"
                   "  AND kind = 'MessageEvent')",
                   made.id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
}

static void non_blocking_message_tells_readers_and_workers(void **state)
{
    struct hint_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture->plain);
    struct uuid unknown = uuid_random();
    struct post_end end = {.is_over = false};
    struct post_end refused = {.is_over = false};

    assert_int_equal(post_async(fixture, &made.id, &end), EVENTS | WORK);
    assert_int_equal(end.err.code, ERROR_NONE);
    assert_int_equal(post_async(fixture, &unknown, &refused), 0);
    assert_int_equal(refused.err.code, ERROR_NOT_FOUND);
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
    assert_int_equal(write_pause(fixture, &made, &write, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(heard(fixture, &made.id), EVENTS);
    event_add_pause(&events);
    assert_int_equal(conversation_store_append(fixture->db, &claim.lease, &made, &events, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(heard(fixture, &made.id), EVENTS);
    test_sql("DROP FUNCTION end_server() CASCADE");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_tells_readers),
        cmocka_unit_test(write_tells_readers_and_workers),
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
        cmocka_unit_test(non_blocking_message_tells_readers_and_workers),
        cmocka_unit_test(non_blocking_message_without_room_is_stored_without_a_run),
        cmocka_unit_test(write_whose_answer_is_lost_tells_readers),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
