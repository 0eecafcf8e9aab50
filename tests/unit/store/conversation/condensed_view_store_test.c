/*
 * Stored views: events come back with their marks, and a view of another branch is not used.
 */
#include "store/conversation/condensed_view_store.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/event_store.h"
#include "store/db/db.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { N_NOTES = 6, CONDENSATION = N_NOTES, N_EVENTS = N_NOTES + 1 };

/* A conversation of some notes and a Condensation, and its whole history. */
struct stored_log {
    struct conversation conversation;
    struct history history;
    struct lease lease; /* of the conversation */
};

static void stored_log_done(struct stored_log *log)
{
    conversation_done(&log->conversation);
    history_done(&log->history);
}

static struct stored_log stored_log_new(const struct store_fixture *fixture)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct stored_log log = {.conversation = store_create(fixture), .history = HISTORY_INIT};
    const struct conversation_write write = {.guard = GUARD_NONE};
    json_auto_t *forgotten = json_array();
    struct error err = ERROR_INIT;

    for (int i = 0; i < N_NOTES; i++)
        (void)event_add_environment_message(&events, "a note");
    event_add_condensation(&events, &(struct condensation_parts){.forgotten = forgotten,
                                                                 .summary = "in short",
                                                                 .llm_response_id = "r"});
    assert_done(conversation_store_write(fixture->db, &log.conversation, &events, &write, &err),
                &err);
    assert_done(event_store_load_after(fixture->db, &log.conversation.id, &log.history, &err),
                &err);
    log.lease =
        (struct lease){.conversation_id = log.conversation.id, .owner = uuid_random(), .fence = 3};
    return log;
}

/* Gives the lease for that time, which may be over. */
static void lease_for(const struct stored_log *log, const char *interval)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = '%s', lease_fence = 3,"
                   " lease_expires_at = now() + interval '%s' WHERE id = '%s'",
                   log->lease.owner.text, interval, log->conversation.id.text);
    test_sql(sql.text);
}

static void end_lease(const struct stored_log *log)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL"
                   " WHERE id = '%s'",
                   log->conversation.id.text);
    test_sql(sql.text);
}

/* Leaves out the second note, and stores the rest: the third is forgotten, the summary after it. */
static void store_view(const struct store_fixture *fixture, struct stored_log *log)
{
    struct history *history = &log->history;
    struct error err = ERROR_INIT;

    json_decref(stored_event_json(&history->items[1]));
    memmove(&history->items[1], &history->items[2], (N_EVENTS - 2) * sizeof(history->items[0]));
    history->n--;
    history->items[1].is_forgotten = true;
    history->items[2].summary =
        json_object_get(stored_event_json(&history->items[CONDENSATION - 1]), "summary");
    history->gap = (struct history_gap){
        .seq = N_EVENTS, .n_iterations = 7, .ids = mem_alloc(sizeof(uint32_t)), .n_ids = 1};
    history->gap.ids[0] = UINT32_MAX;
    lease_for(log, "1 hour");
    assert_done(condensed_view_store_save(fixture->db, &log->lease, history, &err), &err);
    end_lease(log);
}

static struct history load_view(const struct store_fixture *fixture, const struct stored_log *log)
{
    struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    assert_done(condensed_view_store_load(fixture->db, &log->conversation.id, &history, &err),
                &err);
    return history;
}

static void log_without_a_view_is_loaded_whole(void **state)
{
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(*state);
    CLEANUP(history_done) struct history history = load_view(*state, &log);

    assert_int_equal(history.n, 0);
    assert_int_equal(history.last_seq, 0);
    assert_int_equal(history.gap.seq, 0);
}

static void view_comes_back_as_it_was(void **state)
{
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(*state);
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    store_view(*state, &log);
    history = load_view(*state, &log);
    assert_int_equal(history.n, N_EVENTS - 1);
    assert_int_equal(history.last_seq, N_EVENTS);
    assert_int_equal(history.gap.seq, N_EVENTS);
    assert_int_equal(history.gap.n_iterations, 7);
    assert_int_equal(history.gap.n_ids, 1);
    assert_int_equal(history.gap.ids[0], UINT32_MAX);
    for (size_t i = 0; i < history.n; i++) {
        assert_int_equal(history.items[i].seq, log.history.items[i].seq);
        assert_int_equal(history.items[i].is_forgotten, i == 1);
    }
    assert_string_equal(json_string_value(history.items[2].summary), "in short");
}

static void view_of_another_branch_is_not_used(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(fixture);
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    store_view(fixture, &log);
    assert_done(branch_store_navigate(fixture->db, &log.conversation.id,
                                      log.history.items[0].id.text, &err),
                &err);
    history = load_view(fixture, &log);
    assert_int_equal(history.n, 0);
    assert_int_equal(history.branch_seq, N_EVENTS + 1);
    assert_int_equal(history.parent_seq, 1);
}

static void place_view(const struct stored_log *log, int64_t branch_seq, int64_t parent_seq)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE condensed_views SET branch_seq = %lld, parent_seq = %lld"
                   " WHERE conversation_id = '%s'",
                   (long long)branch_seq, (long long)parent_seq, log->conversation.id.text);
    test_sql(sql.text);
}

/* A branch without events may be replaced by one that begins at the same event, after another. */
static void branch_of_a_view_is_its_beginning_and_what_comes_before(void **state)
{
    static const struct {
        int64_t branch_seq;
        int64_t parent_seq;
        size_t n;
    } cases[] = {{N_EVENTS + 1, 2, 0}, {N_EVENTS, 1, 0}, {N_EVENTS + 1, 1, N_EVENTS - 1}};
    const struct store_fixture *fixture = *state;
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(fixture);
    struct error err = ERROR_INIT;

    store_view(fixture, &log);
    assert_done(branch_store_navigate(fixture->db, &log.conversation.id,
                                      log.history.items[0].id.text, &err),
                &err);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;

        place_view(&log, cases[i].branch_seq, cases[i].parent_seq);
        history = load_view(fixture, &log);
        assert_int_equal(history.n, cases[i].n);
    }
}

static void view_that_lacks_an_event_is_not_used(void **state)
{
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(*state);
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    store_view(*state, &log);
    strbuf_appendf(&sql, "DELETE FROM events WHERE conversation_id = '%s' AND seq = 4",
                   log.conversation.id.text);
    test_sql(sql.text);
    history = load_view(*state, &log);
    assert_int_equal(history.n, 0);
    assert_int_equal(history.last_seq, 0);
}

static void view_of_a_deleted_conversation_is_not_stored(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &log.conversation.id, &err),
                &err);
    store_view(fixture, &log);
    strbuf_appendf(&sql, "SELECT count(*) FROM condensed_views WHERE conversation_id = '%s'",
                   log.conversation.id.text);
    assert_int_equal(test_sql_count(sql.text), 0);
}

static void assert_not_stored(const struct store_fixture *fixture, const struct stored_log *log,
                              const struct lease *lease)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(condensed_view_store_save(fixture->db, lease, &log->history, &err), &err);
    strbuf_appendf(&sql, "SELECT count(*) FROM condensed_views WHERE conversation_id = '%s'",
                   log->conversation.id.text);
    assert_int_equal(test_sql_count(sql.text), 0);
}

/* A worker that lost its lease may have loaded what a client has left since. */
static void view_is_not_stored_by_a_wrong_owner_fence_or_time_each(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(stored_log_done) struct stored_log log = stored_log_new(fixture);
    struct lease other = log.lease;
    struct lease older = log.lease;

    other.owner = uuid_random();
    older.fence = 2;
    log.history.gap.seq = N_EVENTS;
    lease_for(&log, "1 hour");
    assert_not_stored(fixture, &log, &other);
    assert_not_stored(fixture, &log, &older);
    lease_for(&log, "-1 second");
    assert_not_stored(fixture, &log, &log.lease);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_without_a_view_is_loaded_whole),
        cmocka_unit_test(view_comes_back_as_it_was),
        cmocka_unit_test(view_of_another_branch_is_not_used),
        cmocka_unit_test(branch_of_a_view_is_its_beginning_and_what_comes_before),
        cmocka_unit_test(view_that_lacks_an_event_is_not_used),
        cmocka_unit_test(view_of_a_deleted_conversation_is_not_stored),
        cmocka_unit_test(view_is_not_stored_by_a_wrong_owner_fence_or_time_each),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests_name("condensed_view_store", tests, store_set_up,
                                       store_tear_down);
}
