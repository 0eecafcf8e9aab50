/*
 * Runs that wait until their model's server is in order: when they may be claimed again, what the
 * claim tells of the outage, and what clients are shown.
 */
#include "store/conversation/outage_store.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/task_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { SLOTS = 1000, NEXT_MS = 3600000, LASTED_MS = 5000, HOUR_MS = 3600000 };

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

static void assert_none_is_due(const struct store_fixture *fixture)
{
    struct claim claim = {.claim_count = 0};

    if (try_claim(fixture, SLOTS, &claim))
        fail_msg("%s was claimed", claim.conversation.id.text);
}

static int begin_wait(const struct store_fixture *fixture, const struct claim *claim,
                      int64_t n_waits, char stop[STOP_WORD_BYTES], struct error *err)
{
    const struct outage_wait wait = {.lease = &claim->lease,
                                     .lasted_ms = LASTED_MS,
                                     .next_ms = NEXT_MS,
                                     .n_waits = n_waits,
                                     .asked_seq = claim->conversation.last_seq,
                                     .reason = "it is down"};

    return outage_store_wait(fixture->db, &wait, stop, err);
}

static void wait_with(const struct store_fixture *fixture, const struct claim *claim,
                      int64_t n_waits)
{
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    assert_done(begin_wait(fixture, claim, n_waits, stop, &err), &err);
}

static void add_event(const struct store_fixture *fixture, const struct uuid *id, bool is_agents)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_done) struct conversation read = CONVERSATION_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    assert_done(conversation_store_load_any(fixture->db, id, &read, &err), &err);
    if (is_agents)
        (void)event_add_agent_message(&events, "an answer", NULL, "r1");
    else
        (void)event_add_environment_message(&events, "words");
    assert_done(conversation_store_write(fixture->db, &read, &events, &write, &err), &err);
}

/* A stored conversation whose run waits. */
static struct uuid make_waiting(const struct store_fixture *fixture)
{
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};

    /* What the agent said before is no sign of its model now. */
    add_event(fixture, &made.id, true);
    claim = claim_next(fixture, &made.id);
    assert_int_equal(claim.n_model_waits, 0);
    assert_int_equal(claim.model_out_ms, 0);
    wait_with(fixture, &claim, 1);
    return made.id;
}

static void change(const struct uuid *id, const char *table, const char *column, const char *what)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE %s SET %s WHERE %s = '%s'", table, what, column, id->text);
    test_sql(sql.text);
}

static void age_outage(const struct uuid *id, const char *what)
{
    change(id, "model_outages", "conversation_id", what);
}

static void delete_it(const struct store_fixture *fixture, const struct uuid *id)
{
    struct error err = ERROR_INIT;

    assert_done(conversation_store_delete(fixture->db, &fixture->scope, id, &err), &err);
}

static void run_waits_until_its_next_attempt_is_due(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};

    assert_none_is_due(fixture);
    age_outage(&id, "next_at = now()");
    claim = claim_next(fixture, &id);
    assert_int_equal(claim.n_model_waits, 1);
    assert_int_equal(claim.claim_count, 1);
    assert_true(claim.model_out_ms >= LASTED_MS && claim.model_out_ms < HOUR_MS);
    delete_it(fixture, &id);
}

static void second_wait_goes_on_with_the_outage(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    CLEANUP(claim_done) struct claim again = {.claim_count = 0};

    age_outage(&id, "next_at = now(), began_at = began_at - interval '1 hour'");
    claim = claim_next(fixture, &id);
    wait_with(fixture, &claim, 2);
    assert_none_is_due(fixture);
    age_outage(&id, "next_at = now()");
    again = claim_next(fixture, &id);
    assert_int_equal(again.n_model_waits, 2);
    assert_true(again.model_out_ms >= HOUR_MS + LASTED_MS);
    delete_it(fixture, &id);
}

/* Such as a message: the model is asked at once, in the same outage. */
static void new_event_ends_the_wait_but_not_the_outage(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};

    add_event(fixture, &id, false);
    claim = claim_next(fixture, &id);
    assert_int_equal(claim.n_model_waits, 1);
    delete_it(fixture, &id);
}

/* The worker died before it could tell: nothing else removes the row. */
static void answer_ends_the_outage(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};

    add_event(fixture, &id, true);
    claim = claim_next(fixture, &id);
    assert_int_equal(claim.n_model_waits, 0);
    assert_int_equal(claim.model_out_ms, 0);
    delete_it(fixture, &id);
}

static void outage_of_an_earlier_run_does_not_count(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    CLEANUP(claim_done) struct claim again = {.claim_count = 0};

    change(&id, "conversations", "id", "wanted_at = wanted_at + interval '1 second'");
    claim = claim_next(fixture, &id);
    assert_int_equal(claim.n_model_waits, 0);
    age_outage(&id, "began_at = began_at - interval '1 hour'");
    wait_with(fixture, &claim, 1);
    age_outage(&id, "next_at = now()");
    again = claim_next(fixture, &id);
    assert_true(again.model_out_ms >= LASTED_MS && again.model_out_ms < HOUR_MS);
    delete_it(fixture, &id);
}

/* Both runs have the place in the queue of the run that gives the work. */
static void outage_of_a_sub_agents_earlier_run_does_not_count(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(conversation_done) struct conversation parent = store_create_wanted(fixture);
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(claim_done) struct claim caller = {.claim_count = 0};
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    const struct conversation_write write = {.guard = GUARD_NONE, .want_run = true};
    const struct task_work work = {
        .lease = &caller.lease, .child = &child, .events = &events, .write = &write};
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    change(&parent.id, "conversations", "id", "wanted_at = '2020-01-01T00:00:00Z'");
    age_outage(&id, "wanted_at = '2020-01-01T00:00:00Z'");
    change(&id, "conversations", "id", "wanted_at = NULL");
    caller = claim_next(fixture, &parent.id);
    assert_done(conversation_store_load_any(fixture->db, &id, &child, &err), &err);
    event_add_pause(&events);
    assert_done(task_store_go_on(fixture->db, &work, stop, &err), &err);
    claim = claim_next(fixture, &id);
    assert_int_equal(claim.n_model_waits, 0);
    assert_int_equal(claim.model_out_ms, 0);
    delete_it(fixture, &id);
    delete_it(fixture, &parent.id);
}

static void run_that_waits_takes_no_slot(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(conversation_done) struct conversation other = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    CLEANUP(claim_done) struct claim none = {.claim_count = 0};

    assert_true(try_claim(fixture, 1, &claim));
    assert_string_equal(claim.conversation.id.text, other.id.text);
    /* Its attempt needs one, as any run. */
    age_outage(&id, "next_at = now()");
    assert_false(try_claim(fixture, 1, &none));
    delete_it(fixture, &id);
    delete_it(fixture, &other.id);
}

static void assert_place(const struct store_fixture *fixture, const struct uuid *id,
                         int64_t expected)
{
    struct error err = ERROR_INIT;
    int64_t place = -1;

    assert_done(conversation_store_queue_place(fixture->db, id, 0, &place, &err), &err);
    assert_int_equal(place, expected);
}

static void run_that_waits_is_in_no_queue(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(conversation_done) struct conversation other = store_create_wanted(fixture);

    assert_place(fixture, &id, 0);
    assert_place(fixture, &other.id, 1);
    age_outage(&id, "next_at = now()");
    assert_place(fixture, &id, 1);
    assert_place(fixture, &other.id, 2);
    delete_it(fixture, &id);
    delete_it(fixture, &other.id);
}

static void stop_request_ends_the_wait(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};

    change(&id, "conversations", "id", "stop_requested = 'pause'");
    claim = claim_next(fixture, &id);
    assert_string_equal(claim.stop_requested, "pause");
    delete_it(fixture, &id);
}

static void run_that_is_to_stop_does_not_begin_to_wait(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    change(&made.id, "conversations", "id", "stop_requested = 'interrupt'");
    assert_int_equal(begin_wait(fixture, &claim, 1, stop, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_string_equal(stop, "interrupt");
    delete_it(fixture, &made.id);
}

static void lost_lease_begins_no_wait(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_next(fixture, &made.id);
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    claim.lease.fence--;
    assert_int_equal(begin_wait(fixture, &claim, 1, stop, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(test_sql_count("SELECT count(*) FROM model_outages"), 0);
    delete_it(fixture, &made.id);
}

static json_t *shown(const struct store_fixture *fixture, const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    assert_done(outage_store_append_json(fixture->db, id, &text, &err), &err);
    if (text.len > 0)
        assert_done(json_parse(text.text, text.len, &json, &err), &err);
    return json;
}

static void wait_is_shown_while_it_lasts(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = make_waiting(fixture);
    CLEANUP(claim_done) struct claim claim = {.claim_count = 0};
    json_auto_t *json = NULL;

    age_outage(&id, "began_at = '2026-01-02 03:04:05+00', next_at = '2026-01-02 03:05:06.5+00'");
    json = shown(fixture, &id);
    assert_string_equal(json_text_or(json, "since", ""), "2026-01-02T03:04:05.000000Z");
    assert_string_equal(json_text_or(json, "next_attempt_at", ""), "2026-01-02T03:05:06.500000Z");
    assert_int_equal(json_int_or(json, "waits", 0), 1);
    assert_string_equal(json_text_or(json, "reason", ""), "it is down");
    claim = claim_next(fixture, &id);
    assert_null(shown(fixture, &id));
    store_expire_lease(&id);
    json_decref(json);
    json = shown(fixture, &id);
    assert_non_null(json);
    add_event(fixture, &id, true);
    assert_null(shown(fixture, &id));
    delete_it(fixture, &id);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_waits_until_its_next_attempt_is_due),
        cmocka_unit_test(second_wait_goes_on_with_the_outage),
        cmocka_unit_test(new_event_ends_the_wait_but_not_the_outage),
        cmocka_unit_test(answer_ends_the_outage),
        cmocka_unit_test(outage_of_an_earlier_run_does_not_count),
        cmocka_unit_test(outage_of_a_sub_agents_earlier_run_does_not_count),
        cmocka_unit_test(run_that_waits_takes_no_slot),
        cmocka_unit_test(run_that_waits_is_in_no_queue),
        cmocka_unit_test(stop_request_ends_the_wait),
        cmocka_unit_test(run_that_is_to_stop_does_not_begin_to_wait),
        cmocka_unit_test(lost_lease_begins_no_wait),
        cmocka_unit_test(wait_is_shown_while_it_lasts),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
