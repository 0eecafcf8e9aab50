/*
 * Runs that are requested: which is claimed next, who waits at which place, who may request one
 * more, and how one is stopped.
 */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { MANY = 1000 };

#define AGO(time) "now() - interval '" time "'"
#define LEASED "lease_owner = gen_random_uuid(), lease_expires_at = now() + interval '1 hour'"

static int remove_all(void **state)
{
    (void)state;
    test_sql("DELETE FROM conversations");
    test_sql("UPDATE users SET run_slots = NULL, run_queue = NULL");
    return 0;
}

static void set_row(const struct conversation *conversation, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns,
                   conversation->id.text);
    test_sql(sql.text);
}

static bool row_is(const struct conversation *conversation, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND %s",
                   conversation->id.text, condition);
    return test_sql_count(sql.text) == 1;
}

static struct conversation add(const struct store_fixture *fixture, const char *columns)
{
    struct conversation conversation = store_create_wanted(fixture);

    set_row(&conversation, columns);
    return conversation;
}

static struct store_fixture another_user(const struct store_fixture *fixture)
{
    struct store_fixture other = {.db = fixture->db, .user_id = test_user(fixture->db)};

    other.scope.user_id = other.user_id;
    return other;
}

/* --- claims --- */

static bool claim(const struct store_fixture *fixture, int64_t slots, struct claim *claim_out)
{
    const struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    assert_done(conversation_store_claim(fixture->db, &owner, slots, &is_claimed, claim_out, &err),
                &err);
    if (is_claimed)
        assert_string_equal(claim_out->lease.owner.text, owner.text);
    return is_claimed;
}

static void assert_claims(const struct store_fixture *fixture, int64_t slots,
                          const struct conversation *expected)
{
    CLEANUP(claim_done) struct claim next = {.claim_count = 0};

    assert_int_equal(claim(fixture, slots, &next), expected != NULL);
    if (expected != NULL)
        assert_string_equal(next.conversation.id.text, expected->id.text);
}

static void run_that_waits_longest_is_claimed_first(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation third = add(fixture, "wanted_at = now()");
    CLEANUP(conversation_done) struct conversation first =
        add(fixture, "wanted_at = " AGO("3 minutes"));
    CLEANUP(conversation_done) struct conversation leased =
        add(fixture, "wanted_at = " AGO("4 minutes") ", " LEASED);
    CLEANUP(conversation_done) struct conversation lost =
        add(fixture, "wanted_at = " AGO("2 minutes") ", lease_owner = gen_random_uuid(),"
                                                     " lease_expires_at = " AGO("1 second"));
    CLEANUP(conversation_done) struct conversation idle = add(fixture, "wanted_at = NULL");

    assert_claims(fixture, MANY, &first);
    assert_claims(fixture, MANY, &lost);
    assert_claims(fixture, MANY, &third);
    assert_claims(fixture, MANY, NULL);
}

static void claim_tells_all_of_the_lease(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made =
        add(fixture, "lease_fence = 7, claim_count = 2, is_leaf_known = true, stop_requested ="
                     " 'interrupt'");
    CLEANUP(claim_done) struct claim taken = {.claim_count = 0};
    CLEANUP(strbuf_done) struct strbuf lease = STRBUF_INIT;
    struct error err = ERROR_INIT;
    int64_t fence = 0;

    assert_true(claim(fixture, MANY, &taken));
    assert_string_equal(taken.lease.conversation_id.text, made.id.text);
    assert_int_equal(taken.lease.fence, 8);
    assert_int_equal(taken.claim_count, 3);
    assert_string_equal(taken.stop_requested, "interrupt");
    assert_true(taken.conversation.is_leased);
    assert_true(taken.conversation.is_wanted);
    strbuf_appendf(&lease,
                   "lease_owner = '%s' AND lease_fence = 8 AND claim_count = 3 AND NOT"
                   " is_leaf_known AND lease_expires_at BETWEEN now() + interval '%d milliseconds'"
                   " - interval '1 minute' AND now() + interval '%d milliseconds'",
                   taken.lease.owner.text, LEASE_MS, LEASE_MS);
    assert_true(row_is(&made, lease.text));
    assert_done(conversation_store_load_fence(fixture->db, &made.id, &fence, &err), &err);
    assert_int_equal(fence, 8);
}

static void fence_of_an_unknown_conversation_is_not_found(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    const struct uuid unknown = uuid_random();
    struct error err = ERROR_INIT;
    int64_t fence = 3;

    assert_done(conversation_store_load_fence(fixture->db, &made.id, &fence, &err), &err);
    assert_int_equal(fence, 0);
    assert_int_equal(conversation_store_load_fence(fixture->db, &unknown, &fence, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void users_own_number_of_slots_counts(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct store_fixture other = another_user(fixture);
    CLEANUP(conversation_done) struct conversation runs = add(fixture, LEASED);
    CLEANUP(conversation_done) struct conversation waits = add(fixture, "wanted_at = now()");
    CLEANUP(conversation_done) struct conversation others =
        add(&other, "wanted_at = now() + interval '1 minute'");

    assert_claims(fixture, 1, &others);
    test_sql("UPDATE users SET run_slots = 1");
    assert_claims(fixture, MANY, NULL);
    test_sql("UPDATE users SET run_slots = 2");
    assert_claims(fixture, 0, &waits);
}

/* It gets no slot, but its end must be told. */
/* A worker that claims. */
struct claimant {
    const struct store_fixture *fixture;
    struct claim claim;
    bool is_claimed;
};

static void *claim_one(void *context)
{
    struct claimant *claimant = context;

    claimant->is_claimed = claim(claimant->fixture, MANY, &claimant->claim);
    return NULL;
}

/* The run of another user, that is: a user's claims wait for each other. */
static void next_run_is_claimed_while_another_worker_claims_the_first(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct store_fixture other = another_user(fixture);
    CLEANUP(conversation_done) struct conversation first =
        add(fixture, "wanted_at = " AGO("3 minutes"));
    CLEANUP(conversation_done) struct conversation second =
        add(&other, "wanted_at = " AGO("2 minutes"));
    struct claimant slow = {.fixture = fixture, .claim = {.claim_count = 0}};
    struct claimant quick = {.fixture = fixture, .claim = {.claim_count = 0}};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_tx *tx = NULL;
    pthread_t thread = 0;

    strbuf_appendf(&sql,
                   "CREATE FUNCTION hold_claim() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
                   " IF OLD.id = ''%s'' THEN PERFORM pg_advisory_xact_lock(4); END IF;"
                   " RETURN NEW; END'",
                   first.id.text);
    test_sql(sql.text);
    test_sql("CREATE TRIGGER hold_claim BEFORE UPDATE ON conversations FOR EACH ROW"
             " EXECUTE FUNCTION hold_claim()");
    tx = test_tx_begin();
    test_tx_sql(tx, "SELECT pg_advisory_xact_lock(4)");
    assert_int_equal(pthread_create(&thread, NULL, claim_one, &slow), 0);
    test_wait_blocked();
    (void)claim_one(&quick);
    test_tx_commit(tx);
    assert_int_equal(pthread_join(thread, NULL), 0);
    test_sql("DROP FUNCTION hold_claim CASCADE");
    assert_true(quick.is_claimed);
    assert_string_equal(quick.claim.conversation.id.text, second.id.text);
    assert_true(slow.is_claimed);
    assert_string_equal(slow.claim.conversation.id.text, first.id.text);
    claim_done(&quick.claim);
    claim_done(&slow.claim);
}

static void run_that_is_to_stop_needs_no_slot(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation waits = add(fixture, "wanted_at = now()");
    CLEANUP(conversation_done) struct conversation stops =
        add(fixture, "stop_requested = 'pause', wanted_at = now() + interval '1 minute'");

    assert_claims(fixture, 0, &stops);
    assert_claims(fixture, 0, NULL);
    assert_true(row_is(&waits, "lease_owner IS NULL"));
}

static void lease_that_is_handed_over_is_claimed_anew(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = add(fixture, "claim_count = 4");
    CLEANUP(claim_done) struct claim taken = {.claim_count = 0};
    struct error err = ERROR_INIT;

    assert_true(claim(fixture, MANY, &taken));
    assert_done(conversation_store_hand_over(fixture->db, &taken.lease, &err), &err);
    assert_true(row_is(&made, "lease_owner IS NULL AND lease_expires_at IS NULL AND"
                              " claim_count = 0 AND wanted_at IS NOT NULL"));
    assert_claims(fixture, MANY, &made);
}

static void heartbeat_tells_what_is_held_and_what_is_to_stop(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = add(fixture, "wanted_at = now()");
    CLEANUP(claim_done) struct claim taken = {.claim_count = 0};
    struct held_lease held[2] = {{.is_held = true}, {.is_held = true}};
    struct error err = ERROR_INIT;

    assert_true(claim(fixture, MANY, &taken));
    held[0].conversation_id = uuid_random();
    held[1].conversation_id = made.id;
    held[1].fence = taken.lease.fence;
    set_row(&made, "lease_expires_at = now() + interval '1 second'");
    assert_done(conversation_store_renew(fixture->db, &taken.lease.owner, held, 2, &err), &err);
    assert_false(held[0].is_held);
    assert_true(held[1].is_held);
    assert_string_equal(held[1].stop_requested, "");
    assert_false(row_is(&made, "lease_expires_at < now() + interval '2 seconds'"));
    set_row(&made, "stop_requested = 'interrupt'");
    assert_done(conversation_store_renew(fixture->db, &taken.lease.owner, held, 2, &err), &err);
    assert_string_equal(held[1].stop_requested, "interrupt");
    set_row(&made, "stop_requested = 'pause'");
    assert_done(conversation_store_renew(fixture->db, &taken.lease.owner, held, 2, &err), &err);
    assert_string_equal(held[1].stop_requested, "pause");
    set_row(&made, LEASED);
    assert_done(conversation_store_renew(fixture->db, &taken.lease.owner, held, 2, &err), &err);
    assert_false(held[1].is_held);
}

/* --- places --- */

static void assert_place(const struct store_fixture *fixture, const struct conversation *of,
                         int64_t slots, int64_t expected)
{
    struct error err = ERROR_INIT;
    int64_t place = -1;

    assert_done(conversation_store_queue_place(fixture->db, &of->id, slots, &place, &err), &err);
    assert_int_equal(place, expected);
}

static void run_that_waits_has_a_place_in_its_users_queue(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct store_fixture other = another_user(fixture);
    CLEANUP(conversation_done) struct conversation runs = add(fixture, LEASED);
    CLEANUP(conversation_done) struct conversation second =
        add(fixture, "wanted_at = " AGO("1 minute"));
    CLEANUP(conversation_done) struct conversation first =
        add(fixture, "wanted_at = " AGO("2 minutes") ", lease_owner = gen_random_uuid(),"
                                                     " lease_expires_at = " AGO("1 second"));
    CLEANUP(conversation_done) struct conversation waits =
        add(fixture, "wanted_at = " AGO("3 minutes") ", is_suspended = true");
    CLEANUP(conversation_done) struct conversation idle = add(fixture, "wanted_at = NULL");
    CLEANUP(conversation_done) struct conversation others =
        add(&other, "wanted_at = " AGO("9 minutes"));

    assert_place(fixture, &first, 1, 1);
    assert_place(fixture, &second, 1, 2);
    assert_place(fixture, &runs, 1, 0);
    assert_place(fixture, &waits, 1, 0);
    assert_place(fixture, &idle, 1, 0);
    assert_place(fixture, &others, 1, 0);
    assert_place(fixture, &others, 0, 1);
    /* There is a slot: a worker takes it any moment. */
    assert_place(fixture, &first, 2, 0);
    test_sql("UPDATE users SET run_slots = 1");
    assert_place(fixture, &second, MANY, 2);
}

/* --- room --- */

static enum error_code check_room(const struct store_fixture *fixture, const struct uuid *id,
                                  int64_t slots, int64_t queued)
{
    const struct run_seeker seeker = {.user_id = &fixture->user_id, .conversation_id = id};
    const struct run_limits limits = {.n_slots = slots, .n_queued = queued};
    struct error err = ERROR_INIT;

    if (conversation_store_check_room(fixture->db, &seeker, &limits, &err) == 0)
        return ERROR_NONE;
    assert_string_equal(err.message, "Conversation run limit reached. Retry the request later.");
    return err.code;
}

static void user_may_request_as_many_runs_as_run_and_wait(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct store_fixture other = another_user(fixture);
    CLEANUP(conversation_done) struct conversation runs = add(fixture, LEASED);
    CLEANUP(conversation_done) struct conversation waits = add(fixture, "wanted_at = now()");
    CLEANUP(conversation_done) struct conversation gives_way = add(fixture, "is_suspended = true");
    CLEANUP(conversation_done) struct conversation idle = add(fixture, "wanted_at = NULL");
    struct store_fixture nobody = *fixture;

    assert_int_equal(check_room(fixture, NULL, 1, 2), ERROR_NONE);
    assert_int_equal(check_room(fixture, NULL, 2, 1), ERROR_NONE);
    assert_int_equal(check_room(fixture, NULL, 1, 1), ERROR_RATE_LIMITED);
    assert_int_equal(check_room(fixture, &idle.id, 2, 0), ERROR_RATE_LIMITED);
    /* One that is requested already keeps its place. */
    assert_int_equal(check_room(fixture, &waits.id, 0, 0), ERROR_NONE);
    assert_int_equal(check_room(&other, NULL, 1, 0), ERROR_NONE);
    assert_int_equal(check_room(&other, NULL, 0, 0), ERROR_RATE_LIMITED);
    test_sql("UPDATE users SET run_slots = 1, run_queue = 2");
    assert_int_equal(check_room(fixture, NULL, 0, 0), ERROR_NONE);
    test_sql("UPDATE users SET run_slots = 1, run_queue = 1");
    assert_int_equal(check_room(fixture, NULL, MANY, MANY), ERROR_RATE_LIMITED);
    nobody.user_id = uuid_random();
    assert_int_equal(check_room(&nobody, NULL, MANY, MANY), ERROR_RATE_LIMITED);
}

/* --- stops --- */

static size_t request_stop(const struct store_fixture *fixture, const struct conversation *of)
{
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_request_stop(fixture->db, &of->id, "pause", &n_asked, &err),
                &err);
    return n_asked;
}

static void only_a_run_that_somebody_has_is_asked_to_stop(void **state)
{
    static const struct {
        const char *row;
        size_t n;
    } cases[] = {
        {LEASED, 1},
        {"is_suspended = true", 1},
        {"wanted_at = now()", 0},
        {"lease_owner = gen_random_uuid(), lease_expires_at = " AGO("1 second"), 0},
        {"wanted_at = NULL, " LEASED, 0},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(conversation_done) struct conversation made = add(fixture, cases[i].row);

        assert_int_equal(request_stop(fixture, &made), cases[i].n);
        assert_int_equal(row_is(&made, "stop_requested = 'pause'"), cases[i].n);
    }
}

/* One waits for another, which has no worker yet. */
static void stop_reaches_a_sub_agent_that_waits_for_a_slot(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation child = add(fixture, "wanted_at = now()");
    CLEANUP(conversation_done) struct conversation parent = add(fixture, "wanted_at = now()");
    CLEANUP(strbuf_done) struct strbuf waits = STRBUF_INIT;

    strbuf_appendf(&waits, "INSERT INTO task_waits VALUES ('%s', '%s')", parent.id.text,
                   child.id.text);
    test_sql(waits.text);
    set_row(&parent, "is_suspended = true");
    assert_int_equal(request_stop(fixture, &parent), 2);
    assert_true(row_is(&child, "stop_requested = 'pause'"));
}

static void wait_ends_with_the_run_or_at_its_deadline(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation idle = add(fixture, "wanted_at = NULL");
    CLEANUP(conversation_done) struct conversation waits = add(fixture, "wanted_at = now()");
    const int64_t passed_ms = clock_monotonic_ms() - 1;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_wait_stopped(fixture->db, &idle.id, passed_ms, &err), &err);
    assert_int_equal(conversation_store_wait_stopped(fixture->db, &waits.id, passed_ms, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(
        conversation_store_wait_stopped(fixture->db, &waits.id, clock_monotonic_ms() + 20, &err),
        -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
}

static void *set_idle(void *argument)
{
    set_row(argument, "wanted_at = NULL");
    return NULL;
}

static void wait_sees_the_end_of_the_run(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = add(fixture, "wanted_at = now()");
    pthread_t thread = 0;
    struct error err = ERROR_INIT;

    assert_int_equal(pthread_create(&thread, NULL, set_idle, &made), 0);
    assert_done(
        conversation_store_wait_stopped(fixture->db, &made.id, clock_monotonic_ms() + 60000, &err),
        &err);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(run_that_waits_longest_is_claimed_first, remove_all),
        cmocka_unit_test_setup(claim_tells_all_of_the_lease, remove_all),
        cmocka_unit_test_setup(fence_of_an_unknown_conversation_is_not_found, remove_all),
        cmocka_unit_test_setup(users_own_number_of_slots_counts, remove_all),
        cmocka_unit_test_setup(next_run_is_claimed_while_another_worker_claims_the_first,
                               remove_all),
        cmocka_unit_test_setup(run_that_is_to_stop_needs_no_slot, remove_all),
        cmocka_unit_test_setup(lease_that_is_handed_over_is_claimed_anew, remove_all),
        cmocka_unit_test_setup(heartbeat_tells_what_is_held_and_what_is_to_stop, remove_all),
        cmocka_unit_test_setup(run_that_waits_has_a_place_in_its_users_queue, remove_all),
        cmocka_unit_test_setup(user_may_request_as_many_runs_as_run_and_wait, remove_all),
        cmocka_unit_test_setup(only_a_run_that_somebody_has_is_asked_to_stop, remove_all),
        cmocka_unit_test_setup(stop_reaches_a_sub_agent_that_waits_for_a_slot, remove_all),
        cmocka_unit_test_setup(wait_ends_with_the_run_or_at_its_deadline, remove_all),
        cmocka_unit_test_setup(wait_sees_the_end_of_the_run, remove_all),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
