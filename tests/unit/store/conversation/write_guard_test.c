/*
 * Guards of writes, each alone: a fence, an owner or a lease that is wrong while the others are
 * right; and conditions of statements that others would hide.
 */
#include <pthread.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

/* The forms in which a worker writes. */
enum form { APPEND_ONE, APPEND_MANY, WRITE, N_FORMS };

static int write_as(const struct store_fixture *fixture, enum form form, const struct lease *lease,
                    struct conversation *conversation, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_LEASE, .lease = lease};

    event_add_pause(&events);
    if (form == APPEND_MANY)
        event_add_pause(&events);
    if (form == WRITE)
        return conversation_store_write(fixture->db, conversation, &events, &write, err);
    return conversation_store_append(fixture->db, lease, conversation, &events, err);
}

static void assert_refused(const struct store_fixture *fixture, const struct lease *lease,
                           const struct claim *claim)
{
    for (enum form form = APPEND_ONE; form < N_FORMS; form++) {
        struct conversation copy = claim->conversation;
        struct error err = ERROR_INIT;

        assert_int_equal(write_as(fixture, form, lease, &copy, &err), -1);
        assert_int_equal(err.code, ERROR_STALE);
    }
    store_assert_gapless(fixture, &claim->conversation.id, 0);
}

static void wrong_fence_alone_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct lease wrong = claim.lease;

    wrong.fence = claim.lease.fence - 1;
    assert_refused(fixture, &wrong, &claim);
    wrong.fence = claim.lease.fence + 1;
    assert_refused(fixture, &wrong, &claim);
}

static void wrong_owner_alone_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct lease wrong = claim.lease;

    wrong.owner = uuid_random();
    assert_refused(fixture, &wrong, &claim);
}

static void expired_lease_alone_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);

    store_expire_lease(&made.id);
    assert_refused(fixture, &claim.lease, &claim);
}

static void right_lease_writes_in_every_form(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct error err = ERROR_INIT;

    for (enum form form = APPEND_ONE; form < N_FORMS; form++)
        assert_done(write_as(fixture, form, &claim.lease, &claim.conversation, &err), &err);
    store_assert_gapless(fixture, &made.id, 4);
}

static void renewal_checks_fence_and_owner_each(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct held_lease held = {.conversation_id = made.id, .fence = claim.lease.fence - 1};
    struct uuid other = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(conversation_store_renew(fixture->db, &claim.lease.owner, &held, 1, &err), &err);
    assert_false(held.is_held);
    held.fence = claim.lease.fence;
    assert_done(conversation_store_renew(fixture->db, &other, &held, 1, &err), &err);
    assert_false(held.is_held);
    assert_done(conversation_store_renew(fixture->db, &claim.lease.owner, &held, 1, &err), &err);
    assert_true(held.is_held);
}

static const char *stop_of(const struct store_fixture *fixture, const struct claim *claim,
                           const char *kind, struct held_lease *held)
{
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_request_stop(fixture->db, &claim->conversation.id, kind, &n_asked, &err),
        &err);
    assert_int_equal(n_asked, 1);
    *held =
        (struct held_lease){.conversation_id = claim->conversation.id, .fence = claim->lease.fence};
    assert_done(conversation_store_renew(fixture->db, &claim->lease.owner, held, 1, &err), &err);
    return held->stop_requested;
}

static void pause_does_not_replace_an_interrupt(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct held_lease held;

    assert_string_equal(stop_of(fixture, &claim, "pause", &held), "pause");
    assert_string_equal(stop_of(fixture, &claim, "interrupt", &held), "interrupt");
    assert_string_equal(stop_of(fixture, &claim, "pause", &held), "interrupt");
}

static void page_does_not_begin_at_a_strangers_conversation(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation foreign = store_create(fixture);
    struct store_fixture own = {.db = fixture->db, .user_id = test_user(fixture->db)};
    CLEANUP(conversation_done) struct conversation first = store_create(&own);
    CLEANUP(conversation_done) struct conversation second = store_create(&own);
    CLEANUP(conversation_page_done) struct conversation_page page = {.n = 0};
    struct conversation_filter filter = {
        .scope = {.user_id = own.user_id}, .from_id = foreign.id, .limit = 10};
    struct error err = ERROR_INIT;

    /* Older than the other user's: as a start it would end the page, or begin it later. */
    assert_done(conversation_store_search(own.db, &filter, &page, &err), &err);
    assert_int_equal(page.n, 2);
    assert_string_equal(page.items[0].id.text, second.id.text);
    assert_string_equal(page.items[1].id.text, first.id.text);
}

static void many_are_loaded_for_their_owner_only(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation foreign = store_create(fixture);
    struct store_fixture own = {.db = fixture->db, .user_id = test_user(fixture->db)};
    CLEANUP(conversation_done) struct conversation made = store_create(&own);
    CLEANUP(conversation_page_done) struct conversation_page page = {.n = 0};
    const struct conversation_scope scope = {.user_id = own.user_id};
    const struct uuid ids[] = {foreign.id, made.id};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_load_many(own.db, &scope, ids, 2, &page, &err), &err);
    assert_int_equal(page.n, 1);
    assert_string_equal(page.items[0].id.text, made.id.text);
}

static void assert_navigates(const struct store_fixture *fixture, const struct uuid *id,
                             enum error_code code)
{
    struct error err = ERROR_INIT;

    assert_int_equal(branch_store_navigate(fixture->db, id, NULL, &err),
                     code == ERROR_NONE ? 0 : -1);
    assert_int_equal(err.code, code);
}

/* Sets columns of the row. */
static void set_row(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

static void navigation_is_refused_by_a_request_and_by_a_lease_each(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);

    assert_navigates(fixture, &made.id, ERROR_NONE);
    set_row(&made.id, "wanted_at = now()");
    assert_navigates(fixture, &made.id, ERROR_CONFLICT);
    set_row(&made.id, "wanted_at = NULL, lease_owner = gen_random_uuid(),"
                      " lease_expires_at = now() + interval '1 hour'");
    assert_navigates(fixture, &made.id, ERROR_CONFLICT);
    set_row(&made.id, "lease_expires_at = now() - interval '1 second'");
    assert_navigates(fixture, &made.id, ERROR_NONE);
}

/* What a client does to a conversation that no worker has. */
struct edit {
    const struct store_fixture *fixture;
    struct conversation *conversation;
    int rc;
};

static void *navigate(void *context)
{
    struct edit *edit = context;
    struct error err = ERROR_INIT;

    edit->rc = branch_store_navigate(edit->fixture->db, &edit->conversation->id, NULL, &err);
    return NULL;
}

static void *write_edit(void *context)
{
    struct edit *edit = context;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NO_LEASE};
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    edit->rc =
        conversation_store_write(edit->fixture->db, edit->conversation, &events, &write, &err);
    return NULL;
}

/* Whether a worker that claims all that is there gets it. */
static bool is_claimed(const struct store_fixture *fixture, const struct uuid *id)
{
    bool is_found = false;
    bool is_claimed = true;

    while (is_claimed) {
        struct claim claim = {.conversation = CONVERSATION_INIT};
        struct uuid owner = uuid_random();
        struct error err = ERROR_INIT;

        assert_done(conversation_store_claim(fixture->db, &owner, 1000, &is_claimed, &claim, &err),
                    &err);
        is_found = is_found || (is_claimed && text_equal(claim.conversation.id.text, id->text));
        claim_done(&claim);
    }
    return is_found;
}

static void assert_locked(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "DO $$ BEGIN PERFORM 1 FROM conversations WHERE id = '%s' FOR NO KEY UPDATE"
                   " NOWAIT; RAISE 'the row is not locked';"
                   " EXCEPTION WHEN lock_not_available THEN NULL; END $$",
                   id->text);
    test_sql(sql.text);
}

/* The client's statement stops before its first row in that table; it has found the row free. */
static void assert_not_claimed_during(struct edit *edit, void *(*work)(void *), const char *table)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    const struct uuid *id = &edit->conversation->id;
    struct test_tx *tx = NULL;
    pthread_t thread = 0;

    test_sql("CREATE FUNCTION hold_insert() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM pg_advisory_xact_lock(3); RETURN NULL; END'");
    strbuf_appendf(&sql,
                   "CREATE TRIGGER hold_insert BEFORE INSERT ON %s"
                   " EXECUTE FUNCTION hold_insert()",
                   table);
    test_sql(sql.text);
    tx = test_tx_begin();
    test_tx_sql(tx, "SELECT pg_advisory_xact_lock(3)");
    assert_int_equal(pthread_create(&thread, NULL, work, edit), 0);
    test_wait_blocked();
    assert_locked(id);
    assert_false(is_claimed(edit->fixture, id));
    test_tx_commit(tx);
    assert_int_equal(pthread_join(thread, NULL), 0);
    test_sql("DROP FUNCTION hold_insert CASCADE");
    assert_int_equal(edit->rc, 0);
}

static void conversation_is_not_claimed_during_a_write_that_found_it_free(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    struct edit edit = {.fixture = fixture, .conversation = &made, .rc = -1};

    assert_not_claimed_during(&edit, write_edit, "events");
    assert_true(is_claimed(fixture, &made.id));
}

static void conversation_that_is_navigated_is_locked(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    struct edit edit = {.fixture = fixture, .conversation = &made, .rc = -1};

    assert_not_claimed_during(&edit, navigate, "branches");
}

static void hand_over_checks_fence_and_owner_each(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct held_lease held = {.conversation_id = made.id, .fence = claim.lease.fence};
    struct lease other_owner = claim.lease;
    struct lease other_fence = claim.lease;
    struct error err = ERROR_INIT;

    other_owner.owner = uuid_random();
    other_fence.fence = claim.lease.fence - 1;
    assert_done(conversation_store_hand_over(fixture->db, &other_owner, &err), &err);
    assert_done(conversation_store_hand_over(fixture->db, &other_fence, &err), &err);
    assert_done(conversation_store_renew(fixture->db, &claim.lease.owner, &held, 1, &err), &err);
    assert_true(held.is_held);
    assert_done(conversation_store_hand_over(fixture->db, &claim.lease, &err), &err);
    assert_done(conversation_store_renew(fixture->db, &claim.lease.owner, &held, 1, &err), &err);
    assert_false(held.is_held);
}

/* What was read, changed and is written back whole. */
static int write_spec(const struct store_fixture *fixture, struct conversation *conversation,
                      struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NO_LEASE, .spec = conversation->spec};

    return conversation_store_write(fixture->db, conversation, &events, &write, err);
}

static void specification_that_changed_since_it_was_read_is_not_written_over(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation first = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation second = CONVERSATION_INIT;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_load_any(fixture->db, &made.id, &first, &err), &err);
    assert_done(conversation_store_load_any(fixture->db, &made.id, &second, &err), &err);
    assert_done(write_spec(fixture, &first, &err), &err);
    assert_int_equal(write_spec(fixture, &second, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_done(write_spec(fixture, &first, &err), &err);
}

/* The only job, claimed by that worker. */
static struct job claim_job(const struct store_fixture *fixture, const struct uuid *owner)
{
    struct job job = {.id = 0};
    struct error err = ERROR_INIT;
    bool claimed = false;

    assert_done(job_store_claim(fixture->db, owner, &claimed, &job, &err), &err);
    assert_true(claimed);
    return job;
}

static bool is_job_held(const struct store_fixture *fixture, const struct uuid *owner,
                        const struct job *job)
{
    const struct job_hold hold = {.id = job->id, .owner = *owner};
    struct error err = ERROR_INIT;

    return job_store_check(fixture->db, &hold, &err) == 0 &&
           test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL") == 1;
}

static void job_is_settled_by_the_worker_that_has_it_alone(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    const struct job_request request = {.kind = "condense", .key = uuid_random()};
    const struct uuid owner = uuid_random();
    const struct uuid other = uuid_random();
    CLEANUP(job_done) struct job job = {.id = 0};
    json_auto_t *result = json_object();
    struct error err = ERROR_INIT;

    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    job = claim_job(fixture, &owner);
    assert_false(is_job_held(fixture, &other, &job));
    assert_done(job_store_finish(fixture->db, &other, &job, NULL, &err), &err);
    assert_done(job_store_finish(fixture->db, &other, &job, result, &err), &err);
    assert_done(job_store_put_back(fixture->db, &other, &job, 0, &err), &err);
    assert_true(is_job_held(fixture, &owner, &job));
    assert_done(job_store_put_back(fixture->db, &owner, &job, 0, &err), &err);
    assert_false(is_job_held(fixture, &owner, &job));
    test_sql("DELETE FROM jobs");
}

static void jobs_are_renewed_for_the_worker_that_has_them_alone(void **state)
{
    static const char SQL_LATE[] = "SELECT count(*) FROM jobs WHERE lease_expires_at <= now()";
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    const struct job_request request = {.kind = "condense", .key = uuid_random()};
    const struct uuid owner = uuid_random();
    const struct uuid other = uuid_random();
    CLEANUP(job_done) struct job job = {.id = 0};
    struct error err = ERROR_INIT;

    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    job = claim_job(fixture, &owner);
    test_sql("UPDATE jobs SET lease_expires_at = now() - interval '1 second'");
    assert_done(job_store_renew(fixture->db, &other, &err), &err);
    assert_int_equal(test_sql_count(SQL_LATE), 1);
    assert_done(job_store_renew(fixture->db, &owner, &err), &err);
    assert_int_equal(test_sql_count(SQL_LATE), 0);
    test_sql("DELETE FROM jobs");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_fence_alone_is_refused),
        cmocka_unit_test(wrong_owner_alone_is_refused),
        cmocka_unit_test(expired_lease_alone_is_refused),
        cmocka_unit_test(right_lease_writes_in_every_form),
        cmocka_unit_test(renewal_checks_fence_and_owner_each),
        cmocka_unit_test(pause_does_not_replace_an_interrupt),
        cmocka_unit_test(page_does_not_begin_at_a_strangers_conversation),
        cmocka_unit_test(many_are_loaded_for_their_owner_only),
        cmocka_unit_test(navigation_is_refused_by_a_request_and_by_a_lease_each),
        cmocka_unit_test(conversation_is_not_claimed_during_a_write_that_found_it_free),
        cmocka_unit_test(conversation_that_is_navigated_is_locked),
        cmocka_unit_test(hand_over_checks_fence_and_owner_each),
        cmocka_unit_test(specification_that_changed_since_it_was_read_is_not_written_over),
        cmocka_unit_test(job_is_settled_by_the_worker_that_has_it_alone),
        cmocka_unit_test(jobs_are_renewed_for_the_worker_that_has_them_alone),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
