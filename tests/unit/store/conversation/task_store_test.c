/*
 * Runs that wait for sub-agents: who may be claimed when, who is counted, who stops and goes with
 * whom.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/task_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { SLOTS = 1000 };

static bool try_claim(const struct store_fixture *fixture, int64_t slots, struct claim *claim_out)
{
    struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    assert_done(conversation_store_claim(fixture->db, &owner, slots, &is_claimed, claim_out, &err),
                &err);
    return is_claimed;
}

static struct claim claim_next(const struct store_fixture *fixture, const struct uuid *id)
{
    struct claim claim = {.claim_count = 0};

    assert_true(try_claim(fixture, SLOTS, &claim));
    assert_string_equal(claim.conversation.id.text, id->text);
    return claim;
}

static void assert_none_waits(const struct store_fixture *fixture)
{
    struct claim claim = {.claim_count = 0};

    if (try_claim(fixture, SLOTS, &claim))
        fail_msg("%s was claimed", claim.conversation.id.text);
}

/* A sub-agent of that conversation, not stored yet. */
static struct conversation new_child(const struct store_fixture *fixture,
                                     const struct uuid *parent_id)
{
    struct conversation child = store_new_conversation(fixture);

    child.parent_id = *parent_id;
    child.is_sub_agent = true;
    return child;
}

/* The claimed run gives work to a new sub-agent, whose id comes back. */
static struct uuid begin_work(const struct store_fixture *fixture, const struct claim *claim)
{
    CLEANUP(conversation_done) struct conversation child =
        new_child(fixture, &claim->conversation.id);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.status = "running", .want_run = true};
    const struct task_work work = {
        .lease = &claim->lease, .child = &child, .events = &events, .write = &write};
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    assert_done(task_store_begin(fixture->db, &work, stop, &err), &err);
    return child.id;
}

static void suspend(const struct store_fixture *fixture, const struct claim *claim,
                    const struct uuid *children, size_t n)
{
    struct error err = ERROR_INIT;

    assert_done(task_store_suspend(fixture->db, &claim->lease, children, n, &err), &err);
}

/* The claimed run waits for a new sub-agent, whose id comes back. */
static struct uuid begin_wait(const struct store_fixture *fixture, const struct claim *claim)
{
    struct uuid child = begin_work(fixture, claim);

    suspend(fixture, claim, &child, 1);
    return child;
}

static void end_run(const struct store_fixture *fixture, struct claim *claim)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim->lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_write(fixture->db, &claim->conversation, &events, &end, &err),
                &err);
}

/* Two runs of which the first waits for the second; both claims are the caller's to release. */
struct pair {
    struct uuid parent;
    struct uuid child;
};

static struct pair make_pair(const struct store_fixture *fixture)
{
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);

    return (struct pair){made.id, begin_wait(fixture, &claim)};
}

static bool is_waited_for(const struct store_fixture *fixture, const struct pair *pair)
{
    struct error err = ERROR_INIT;
    bool is_waited = false;

    assert_done(
        task_store_is_waited_for(fixture->db, &pair->parent, &pair->child, &is_waited, &err), &err);
    return is_waited;
}

static void delete_it(const struct store_fixture *fixture, const struct uuid *id)
{
    struct error err = ERROR_INIT;

    assert_done(conversation_store_delete(fixture->db, &fixture->scope, id, &err), &err);
}

static void end_of_the_sub_agent_wakes_who_waits(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    CLEANUP(claim_done) struct claim child = claim_next(fixture, &pair.child);
    CLEANUP(claim_done) struct claim parent = {.claim_count = 0};

    assert_none_waits(fixture);
    end_run(fixture, &child);
    parent = claim_next(fixture, &pair.parent);
    assert_int_equal(parent.claim_count, 1);
    assert_true(is_waited_for(fixture, &pair));
    end_run(fixture, &parent);
    assert_false(is_waited_for(fixture, &pair));
    assert_none_waits(fixture);
    delete_it(fixture, &pair.parent);
}

static void lost_sub_agent_is_claimed_before_who_waits(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct pair pair = make_pair(fixture);
    CLEANUP(claim_done) struct claim lost = claim_next(fixture, &pair.child);
    CLEANUP(claim_done) struct claim again = {.claim_count = 0};

    strbuf_appendf(&sql, "UPDATE conversations SET lease_expires_at = now() WHERE id = '%s'",
                   pair.child.text);
    test_sql(sql.text);
    again = claim_next(fixture, &pair.child);
    assert_int_equal(again.lease.fence, lost.lease.fence + 1);
    delete_it(fixture, &pair.parent);
    assert_none_waits(fixture);
}

static void deleted_sub_agent_wakes_who_waits(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    CLEANUP(claim_done) struct claim parent = {.claim_count = 0};

    delete_it(fixture, &pair.child);
    parent = claim_next(fixture, &pair.parent);
    delete_it(fixture, &pair.parent);
}

static void sub_agents_go_with_their_parent(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    CLEANUP(claim_done) struct claim child = claim_next(fixture, &pair.child);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(uuid_list_done) struct uuid_list below = {NULL, 0};
    struct uuid grandchild = begin_wait(fixture, &child);
    struct error err = ERROR_INIT;

    assert_done(conversation_store_list_sub_agents(fixture->db, &pair.parent, &below, &err), &err);
    assert_int_equal(below.n, 2);
    delete_it(fixture, &pair.parent);
    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id IN ('%s', '%s', '%s')",
                   pair.parent.text, pair.child.text, grandchild.text);
    assert_int_equal(test_sql_count(sql.text), 0);
    assert_none_waits(fixture);
}

static void one_slot_is_enough_for_both(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    CLEANUP(conversation_done) struct conversation other = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim child = {.claim_count = 0};
    CLEANUP(claim_done) struct claim parent = {.claim_count = 0};
    CLEANUP(claim_done) struct claim none = {.claim_count = 0};

    assert_true(try_claim(fixture, 1, &child));
    assert_string_equal(child.conversation.id.text, pair.child.text);
    assert_false(try_claim(fixture, 1, &none));
    end_run(fixture, &child);
    assert_true(try_claim(fixture, 1, &parent));
    assert_string_equal(parent.conversation.id.text, pair.parent.text);
    delete_it(fixture, &pair.parent);
    delete_it(fixture, &other.id);
}

static void who_waits_takes_no_room(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    const struct run_seeker seeker = {.user_id = &fixture->user_id};
    const struct run_limits one_more = {.n_slots = 1, .n_queued = 1};
    const struct run_limits full = {.n_slots = 1, .n_queued = 0};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_check_room(fixture->db, &seeker, &one_more, &err), &err);
    assert_int_equal(conversation_store_check_room(fixture->db, &seeker, &full, &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    delete_it(fixture, &pair.parent);
}

static void stop_reaches_all_who_wait_for_each_other(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    CLEANUP(claim_done) struct claim first = claim_next(fixture, &pair.child);
    struct uuid grandchild = begin_wait(fixture, &first);
    CLEANUP(claim_done) struct claim last = {.claim_count = 0};
    CLEANUP(claim_done) struct claim child = {.claim_count = 0};
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_request_stop(fixture->db, &pair.parent, "interrupt", &n_asked, &err),
        &err);
    assert_int_equal(n_asked, 3);
    /* Without a slot, too: what is to stop runs nothing. */
    assert_true(try_claim(fixture, 0, &last));
    assert_string_equal(last.conversation.id.text, grandchild.text);
    assert_string_equal(last.stop_requested, "interrupt");
    end_run(fixture, &last);
    child = claim_next(fixture, &pair.child);
    assert_string_equal(child.stop_requested, "interrupt");
    delete_it(fixture, &pair.parent);
}

static void run_that_is_to_stop_does_not_begin_to_wait(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    CLEANUP(conversation_done) struct conversation child = new_child(fixture, &made.id);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.status = "running", .want_run = true};
    const struct task_work work = {
        .lease = &claim.lease, .child = &child, .events = &events, .write = &write};
    size_t n_asked = 0;
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    assert_done(conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err),
                &err);
    assert_int_equal(task_store_begin(fixture->db, &work, stop, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_string_equal(stop, "pause");
    assert_int_equal(conversation_store_check(fixture->db, &fixture->scope, &child.id, &err), -1);
    delete_it(fixture, &made.id);
}

static void lost_lease_begins_no_wait(void **state)
{
    struct store_fixture *fixture = *state;
    struct pair pair = make_pair(fixture);
    CLEANUP(claim_done) struct claim lost = claim_next(fixture, &pair.child);
    struct error err = ERROR_INIT;

    lost.lease.fence--;
    assert_int_equal(task_store_suspend(fixture->db, &lost.lease, &pair.parent, 1, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    delete_it(fixture, &pair.parent);
}

/* --- several sub-agents --- */

/* A run that waits for two; the caller deletes the parent. */
struct family {
    struct uuid parent;
    struct uuid children[2];
};

static struct family make_family(const struct store_fixture *fixture)
{
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    struct family family = {.parent = made.id};

    for (size_t i = 0; i < 2; i++)
        family.children[i] = begin_work(fixture, &claim);
    suspend(fixture, &claim, family.children, 2);
    return family;
}

static bool is_suspended(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND is_suspended",
                   id->text);
    return test_sql_count(sql.text) == 1;
}

static void run_stays_leased_until_it_is_suspended(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    struct uuid first = begin_work(fixture, &claim);
    CLEANUP(claim_done) struct claim child = claim_next(fixture, &first);
    CLEANUP(claim_done) struct claim again = {.claim_count = 0};

    assert_none_waits(fixture);
    /* Its worker died: another one takes it at once, and begins the rest. */
    store_expire_lease(&made.id);
    again = claim_next(fixture, &made.id);
    suspend(fixture, &again, &first, 1);
    assert_none_waits(fixture);
    delete_it(fixture, &made.id);
}

static void end_of_either_sub_agent_wakes_the_run(void **state)
{
    struct store_fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        struct family family = make_family(fixture);
        CLEANUP(claim_done) struct claim first = {.claim_count = 0};
        CLEANUP(claim_done) struct claim second = {.claim_count = 0};
        CLEANUP(claim_done) struct claim parent = {.claim_count = 0};

        assert_true(try_claim(fixture, SLOTS, &first));
        assert_true(try_claim(fixture, SLOTS, &second));
        assert_none_waits(fixture);
        end_run(fixture, i == 0 ? &first : &second);
        parent = claim_next(fixture, &family.parent);
        assert_false(is_suspended(&family.parent));
        /* It waits for the other one only. */
        suspend(fixture, &parent, i == 0 ? &second.conversation.id : &first.conversation.id, 1);
        assert_none_waits(fixture);
        for (size_t k = 0; k < 2; k++)
            assert_true(is_waited_for(fixture, &(struct pair){family.parent, family.children[k]}));
        delete_it(fixture, &family.parent);
    }
}

static void stop_waits_for_all_sub_agents(void **state)
{
    struct store_fixture *fixture = *state;
    struct family family = make_family(fixture);
    CLEANUP(claim_done) struct claim first = {.claim_count = 0};
    CLEANUP(claim_done) struct claim second = {.claim_count = 0};
    CLEANUP(claim_done) struct claim parent = {.claim_count = 0};
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_request_stop(fixture->db, &family.parent, "pause", &n_asked, &err),
        &err);
    assert_int_equal(n_asked, 3);
    assert_true(try_claim(fixture, 0, &first));
    assert_true(try_claim(fixture, 0, &second));
    assert_string_equal(second.stop_requested, "pause");
    end_run(fixture, &first);
    assert_none_waits(fixture);
    end_run(fixture, &second);
    parent = claim_next(fixture, &family.parent);
    assert_string_equal(parent.stop_requested, "pause");
    delete_it(fixture, &family.parent);
}

/* Its worker has it: it has stored one result and gives more work. */
static void stop_of_a_run_that_has_begun_to_wait_reaches_its_sub_agents(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    struct uuid child = begin_work(fixture, &claim);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_request_stop(fixture->db, &made.id, "interrupt", &n_asked, &err),
                &err);
    assert_int_equal(n_asked, 2);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND stop_requested ="
                   " 'interrupt'",
                   child.text);
    assert_int_equal(test_sql_count(sql.text), 1);
    /* It may wait still: the stop is there when it is claimed. */
    suspend(fixture, &claim, &child, 1);
    delete_it(fixture, &made.id);
}

/* Their caller has no worker, is not suspended, and waits for a slot, which they have. */
static void stop_of_a_run_whose_worker_is_gone_reaches_its_sub_agents(void **state)
{
    struct store_fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
        CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
        struct uuid id = begin_work(fixture, &claim);
        CLEANUP(claim_done) struct claim child = claim_next(fixture, &id);
        CLEANUP(claim_done) struct claim parent = {.claim_count = 0};
        size_t n_asked = 0;
        struct error err = ERROR_INIT;

        if (i == 0)
            store_expire_lease(&made.id);
        else
            assert_done(conversation_store_hand_over(fixture->db, &claim.lease, &err), &err);
        assert_done(conversation_store_request_stop(fixture->db, &made.id, "pause", &n_asked, &err),
                    &err);
        assert_int_equal(n_asked, 2);
        assert_true(try_claim(fixture, 1, &parent));
        assert_string_equal(parent.conversation.id.text, made.id.text);
        assert_string_equal(parent.stop_requested, "pause");
        delete_it(fixture, &made.id);
    }
}

static void each_of_several_counts_as_a_run_and_one_slot_is_enough(void **state)
{
    struct store_fixture *fixture = *state;
    struct family family = make_family(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    const struct run_seeker seeker = {.user_id = &fixture->user_id};
    const struct run_limits three = {.n_slots = 1, .n_queued = 2};
    const struct run_limits two = {.n_slots = 1, .n_queued = 1};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_check_room(fixture->db, &seeker, &three, &err), &err);
    assert_int_equal(conversation_store_check_room(fixture->db, &seeker, &two, &err), -1);
    strbuf_appendf(&sql, "UPDATE conversations SET wanted_at = now() WHERE id = '%s'",
                   family.parent.text);
    test_sql(sql.text);
    for (size_t i = 0; i < 3; i++) {
        CLEANUP(claim_done) struct claim next = {.claim_count = 0};
        CLEANUP(claim_done) struct claim none = {.claim_count = 0};

        assert_true(try_claim(fixture, 1, &next));
        assert_int_equal(text_equal(next.conversation.id.text, family.parent.text), i == 2);
        assert_false(try_claim(fixture, 1, &none));
        end_run(fixture, &next);
    }
    delete_it(fixture, &family.parent);
}

/* --- races --- */

struct stopper {
    const struct store_fixture *fixture;
    struct uuid id;
    size_t n_asked;
    pthread_t thread;
};

static void *stop_it(void *argument)
{
    struct stopper *stopper = argument;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_request_stop(stopper->fixture->db, &stopper->id, "pause",
                                                &stopper->n_asked, &err),
                &err);
    return NULL;
}

/* In either order: a sub-agent that was created is asked to stop, too. */
static void stop_and_wait_at_the_same_moment_leave_nobody_running(void **state)
{
    struct store_fixture *fixture = *state;

    for (int i = 0; i < 30; i++) {
        CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
        CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
        CLEANUP(conversation_done) struct conversation child = new_child(fixture, &made.id);
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
        const struct conversation_write write = {.status = "running", .want_run = true};
        const struct task_work work = {
            .lease = &claim.lease, .child = &child, .events = &events, .write = &write};
        struct stopper stopper = {.fixture = fixture, .id = made.id};
        char stop[STOP_WORD_BYTES] = "";
        struct error err = ERROR_INIT;
        int rc = 0;

        assert_int_equal(pthread_create(&stopper.thread, NULL, stop_it, &stopper), 0);
        rc = task_store_begin(fixture->db, &work, stop, &err);
        assert_int_equal(pthread_join(stopper.thread, NULL), 0);
        assert_true(rc == 0 || err.code == ERROR_CANCELLED);
        assert_int_equal(stopper.n_asked, rc == 0 ? 2 : 1);
        strbuf_appendf(&sql,
                       "SELECT count(*) FROM conversations WHERE id IN ('%s', '%s')"
                       " AND wanted_at IS NOT NULL AND stop_requested IS NULL",
                       made.id.text, child.id.text);
        assert_int_equal(test_sql_count(sql.text), 0);
        delete_it(fixture, &made.id);
    }
}

/* It is stored after the stop has read the tree and before it has the locks. */
static void sub_agent_that_starts_during_a_stop_is_reached(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    CLEANUP(conversation_done) struct conversation child = store_create_wanted(fixture);
    CLEANUP(strbuf_done) struct strbuf hold = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf wait = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf stopped = STRBUF_INIT;
    struct stopper stopper = {.fixture = fixture, .id = made.id};
    struct test_tx *tx = test_tx_begin();

    strbuf_appendf(&hold, "SELECT 1 FROM conversations WHERE id = '%s' FOR NO KEY UPDATE",
                   made.id.text);
    strbuf_appendf(&wait, "INSERT INTO task_waits VALUES ('%s', '%s')", made.id.text,
                   child.id.text);
    strbuf_appendf(&stopped,
                   "SELECT count(*) FROM conversations WHERE id IN ('%s', '%s')"
                   " AND stop_requested = 'pause'",
                   made.id.text, child.id.text);
    test_tx_sql(tx, hold.text);
    assert_int_equal(pthread_create(&stopper.thread, NULL, stop_it, &stopper), 0);
    test_wait_blocked();
    test_tx_sql(tx, wait.text);
    test_tx_commit(tx);
    assert_int_equal(pthread_join(stopper.thread, NULL), 0);
    assert_int_equal(stopper.n_asked, 2);
    assert_int_equal(test_sql_count(stopped.text), 2);
    delete_it(fixture, &made.id);
    delete_it(fixture, &child.id);
}

static void assert_begins_no_wait(const struct store_fixture *fixture, const struct lease *lease)
{
    CLEANUP(conversation_done) struct conversation child =
        new_child(fixture, &lease->conversation_id);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.status = "running", .want_run = true};
    const struct task_work work = {
        .lease = lease, .child = &child, .events = &events, .write = &write};
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    assert_int_equal(task_store_begin(fixture->db, &work, stop, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
}

static void wait_is_refused_by_a_wrong_owner_fence_or_time_each(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    struct lease other_owner = claim.lease;
    struct lease other_fence = claim.lease;

    other_owner.owner = uuid_random();
    assert_begins_no_wait(fixture, &other_owner);
    other_fence.fence--;
    assert_begins_no_wait(fixture, &other_fence);
    store_expire_lease(&made.id);
    assert_begins_no_wait(fixture, &claim.lease);
    delete_it(fixture, &made.id);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_of_the_sub_agent_wakes_who_waits),
        cmocka_unit_test(lost_sub_agent_is_claimed_before_who_waits),
        cmocka_unit_test(deleted_sub_agent_wakes_who_waits),
        cmocka_unit_test(sub_agents_go_with_their_parent),
        cmocka_unit_test(one_slot_is_enough_for_both),
        cmocka_unit_test(who_waits_takes_no_room),
        cmocka_unit_test(stop_reaches_all_who_wait_for_each_other),
        cmocka_unit_test(run_that_is_to_stop_does_not_begin_to_wait),
        cmocka_unit_test(lost_lease_begins_no_wait),
        cmocka_unit_test(run_stays_leased_until_it_is_suspended),
        cmocka_unit_test(end_of_either_sub_agent_wakes_the_run),
        cmocka_unit_test(stop_waits_for_all_sub_agents),
        cmocka_unit_test(stop_of_a_run_that_has_begun_to_wait_reaches_its_sub_agents),
        cmocka_unit_test(stop_of_a_run_whose_worker_is_gone_reaches_its_sub_agents),
        cmocka_unit_test(each_of_several_counts_as_a_run_and_one_slot_is_enough),
        cmocka_unit_test(stop_and_wait_at_the_same_moment_leave_nobody_running),
        cmocka_unit_test(sub_agent_that_starts_during_a_stop_is_reached),
        cmocka_unit_test(wait_is_refused_by_a_wrong_owner_fence_or_time_each),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
