/*
 * Conversations that others start: how many and how deep, what a sub-agent's end tells, and a start
 * that failed and is undone.
 */
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/log_fixture.h"
#include "store/conversation/task_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

static void set_row(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

static bool row_is(const struct uuid *id, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND %s", id->text,
                   condition);
    return test_sql_count(sql.text) == 1;
}

/* --- children --- */

static struct uuid add_child(const struct store_fixture *fixture, const struct uuid *parent_id)
{
    CLEANUP(conversation_done) struct conversation child = store_create(fixture);
    CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;

    strbuf_appendf(&columns, "parent_id = '%s'", parent_id->text);
    set_row(&child.id, columns.text);
    return child.id;
}

static void assert_may_start_a_child(const struct store_fixture *fixture, const struct uuid *id,
                                     const char *refusal)
{
    struct error err = ERROR_INIT;
    int rc = conversation_store_check_child(fixture->db, id, &err);

    assert_int_equal(rc, refusal == NULL ? 0 : -1);
    if (refusal != NULL) {
        assert_int_equal(err.code, ERROR_INVALID);
        assert_memory_equal(err.message, refusal, strlen(refusal));
    }
}

static void children_are_nested_three_deep(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation root = store_create(fixture);
    struct uuid id = root.id;

    for (int depth = 0; depth < CHILD_DEPTH_MAX; depth++) {
        assert_may_start_a_child(fixture, &id, NULL);
        id = add_child(fixture, &id);
    }
    assert_may_start_a_child(fixture, &id,
                             "Child conversations can be nested at most 3 deep, and this one is at"
                             " that depth");
}

static void conversation_starts_a_hundred_others(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation root = store_create(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct uuid child = UUID_INIT;

    strbuf_appendf(
        &sql,
        "INSERT INTO conversations (id, user_id, parent_id, runtime_kind, runtime_session,"
        " spec, execution_status, stats, agent_state) SELECT gen_random_uuid(), user_id, id, "
        "runtime_kind,"
        " runtime_session, spec, execution_status, stats, agent_state"
        " FROM conversations, generate_series(1, %d) WHERE id = '%s'",
        CHILDREN_MAX - 1, root.id.text);
    test_sql(sql.text);
    assert_may_start_a_child(fixture, &root.id, NULL);
    child = add_child(fixture, &root.id);
    assert_may_start_a_child(fixture, &root.id,
                             "A conversation can start at most 100 others, and this one has started"
                             " that many");
    assert_may_start_a_child(fixture, &child, NULL);
}

static void only_sub_agents_are_listed_and_all_below(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation root = store_create(fixture);
    const struct uuid child = add_child(fixture, &root.id);
    const struct uuid agent = add_child(fixture, &root.id);
    const struct uuid below = add_child(fixture, &agent);
    const struct uuid hidden = add_child(fixture, &child);
    CLEANUP(uuid_list_done) struct uuid_list list = {NULL, 0};
    struct error err = ERROR_INIT;

    set_row(&agent, "is_sub_agent = true");
    set_row(&below, "is_sub_agent = true");
    set_row(&hidden, "is_sub_agent = true");
    assert_done(conversation_store_list_sub_agents(fixture->db, &root.id, &list, &err), &err);
    assert_int_equal(list.n, 2);
    for (size_t i = 0; i < list.n; i++)
        assert_true(strcmp(list.items[i].text, agent.text) == 0 ||
                    strcmp(list.items[i].text, below.text) == 0);
    assert_string_not_equal(list.items[0].text, list.items[1].text);
    uuid_list_done(&list);
    assert_int_equal(list.n, 0);
    assert_null(list.items);
}

/* --- a start that is undone --- */

#define PENDING "agent_state = '{\"worktree\": {\"status\": \"pending\"}}'"

static bool undo(const struct store_fixture *fixture, const struct conversation_scope *scope,
                 const struct uuid *id)
{
    struct error err = ERROR_INIT;
    bool is_undone = false;

    assert_done(conversation_store_undo_start(fixture->db, scope, id, &is_undone, &err), &err);
    return is_undone;
}

static void start_that_failed_is_undone_unless_something_came_of_it(void **state)
{
    static const struct {
        const char *row;
        const char *session;
        bool is_strangers;
        bool is_undone;
    } cases[] = {
        {PENDING, NULL, false, true},
        {PENDING, "u-test", false, true},
        {PENDING, "another session", false, false},
        {PENDING, NULL, true, false},
        {"agent_state = '{}'", NULL, false, false},
        {PENDING ", last_user_message_id = gen_random_uuid()", NULL, false, false},
        {PENDING ", wanted_at = now()", NULL, false, false},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(conversation_done) struct conversation made = store_create(fixture);
        CLEANUP(conversation_done) struct conversation other = store_create(fixture);
        const struct conversation_scope scope = {
            .user_id = cases[i].is_strangers ? test_user(fixture->db) : fixture->user_id,
            .runtime_session = cases[i].session};

        set_row(&other.id, PENDING);
        set_row(&made.id, cases[i].row);
        assert_int_equal(undo(fixture, &scope, &made.id), cases[i].is_undone);
        assert_int_equal(row_is(&made.id, "true"), !cases[i].is_undone);
        assert_true(row_is(&other.id, "true"));
    }
}

static void start_of_nothing_is_not_undone(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct uuid unknown = uuid_random();

    assert_false(undo(fixture, &fixture->scope, &unknown));
}

/* --- the end of a sub-agent --- */

static void assert_end(const struct test_log *log, size_t words_seq, size_t failure_seq)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf failure = STRBUF_INIT;
    const size_t seqs[] = {words_seq, failure_seq};
    const struct strbuf *const texts[] = {&words, &failure};
    struct error err = ERROR_INIT;

    assert_done(
        task_store_read_end(log->fixture->db, &log->conversation.id, &words, &failure, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        json_auto_t *event = json_loads(texts[i]->len > 0 ? texts[i]->text : "{}", 0, NULL);

        assert_string_equal(json_text_or(event, "id", ""),
                            seqs[i] > 0 ? log->ids[seqs[i]].text : "");
    }
}

/* f: the call of `finish`; e: an error that ended the run. */
static void end_is_what_came_since_the_last_message_to_it(void **state)
{
    CLEANUP(test_log_done) struct test_log log = test_log_new(*state);

    assert_end(&log, 0, 0);
    test_log_add(&log, "a");
    assert_end(&log, 1, 0);
    test_log_add(&log, "ua");
    assert_end(&log, 3, 0);
    test_log_add(&log, "acr");
    assert_end(&log, 4, 0);
    test_log_add(&log, "f");
    assert_end(&log, 7, 0);
    test_log_add(&log, "ees");
    assert_end(&log, 7, 9);
    test_log_add(&log, "u");
    assert_end(&log, 0, 0);
    test_log_add(&log, "e");
    assert_end(&log, 0, 12);
    /* A pause is the user's, too, but no message. */
    test_log_add(&log, "p");
    assert_end(&log, 0, 12);
}

/* --- a sub-agent that has worked already --- */

#define WAITS_FOR                                                                                  \
    "(SELECT string_agg(child_id::text, ',') FROM task_waits WHERE conversation_id = id) = '%s'"
#define WAITS_FOR_NONE                                                                             \
    "NOT EXISTS (SELECT FROM task_waits WHERE conversation_id = id) AND lease_owner IS NOT NULL"

struct pair {
    struct claim parent;
    struct conversation child;
};

static void pair_done(struct pair *pair)
{
    claim_done(&pair->parent);
    conversation_done(&pair->child);
}

static struct pair make_pair(const struct store_fixture *fixture)
{
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);

    set_row(&made.id, "wanted_at = '2020-01-01T00:00:00Z', claim_count = 3");
    return (struct pair){store_claim(fixture, &made), store_create(fixture)};
}

static void sub_agent_that_goes_on_gets_its_task_and_the_parents_place(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(pair_done) struct pair pair = make_pair(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *agent_state = json_loads("{\"task\": 1}", 0, NULL);
    const struct conversation_write write = {
        .guard = GUARD_NONE, .status = "running", .want_run = true};
    const struct task_work work = {.lease = &pair.parent.lease,
                                   .agent_state = agent_state,
                                   .child = &pair.child,
                                   .events = &events,
                                   .write = &write};
    CLEANUP(strbuf_done) struct strbuf waits = STRBUF_INIT;
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    set_row(&pair.parent.conversation.id, "updated_at = now() - interval '1 hour'");
    assert_done(task_store_go_on(fixture->db, &work, stop, &err), &err);
    assert_string_equal(stop, "");
    strbuf_appendf(&waits,
                   WAITS_FOR
                   " AND lease_owner IS NOT NULL AND NOT is_suspended AND"
                   " claim_count = 0 AND agent_state::jsonb = '{\"task\": 1}' AND"
                   " updated_at > now() - interval '10 minutes' AND wanted_at IS NOT NULL",
                   pair.child.id.text);
    assert_true(row_is(&pair.parent.conversation.id, waits.text));
    assert_true(row_is(&pair.child.id, "wanted_at = '2020-01-01T00:00:00Z' AND"
                                       " execution_status = 'running'"));
    store_assert_gapless(fixture, &pair.child.id, 1);
}

/* It keeps a better place than its parent's. */
static void suspension_changes_the_parent_alone(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(pair_done) struct pair pair = make_pair(fixture);
    CLEANUP(strbuf_done) struct strbuf waits = STRBUF_INIT;
    struct error err = ERROR_INIT;

    set_row(&pair.child.id, "wanted_at = '2019-01-01T00:00:00Z'");
    set_row(&pair.parent.conversation.id,
            "agent_state = '{\"kept\": 1}', updated_at = now() - interval '1 hour'");
    assert_done(task_store_suspend(fixture->db, &pair.parent.lease, &pair.child.id, 1, &err), &err);
    strbuf_appendf(&waits,
                   WAITS_FOR " AND lease_owner IS NULL AND lease_expires_at IS NULL AND"
                             " is_suspended AND claim_count = 0 AND agent_state = '{\"kept\": 1}'"
                             " AND updated_at > now() - interval '10 minutes'",
                   pair.child.id.text);
    assert_true(row_is(&pair.parent.conversation.id, waits.text));
    assert_true(row_is(&pair.child.id, "wanted_at = '2019-01-01T00:00:00Z'"));
}

/* The commit of the first attempt was done, but its answer was lost. */
static void work_that_is_given_again_is_given_once(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(pair_done) struct pair pair = make_pair(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list again = EVENT_LIST_INIT;
    json_auto_t *agent_state = json_loads("{\"task\": 1}", 0, NULL);
    const struct conversation_write write = {.guard = GUARD_NONE, .want_run = true};
    struct task_work work = {.lease = &pair.parent.lease,
                             .agent_state = agent_state,
                             .child = &pair.child,
                             .events = &events,
                             .write = &write};
    size_t n_asked = 0;
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    event_add_pause(&again);
    assert_done(task_store_go_on(fixture->db, &work, stop, &err), &err);
    /* A stop that came after it does not make it undone. */
    assert_done(conversation_store_request_stop(fixture->db, &pair.parent.conversation.id, "pause",
                                                &n_asked, &err),
                &err);
    work.events = &again;
    assert_done(task_store_go_on(fixture->db, &work, stop, &err), &err);
    store_assert_gapless(fixture, &pair.child.id, 1);
}

/* Another client wrote to the child since it was read: the parent does not wait. */
static void task_for_a_child_that_changed_is_refused_whole(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(pair_done) struct pair pair = make_pair(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list others = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE, .want_run = true};
    const struct conversation_write plain = {.guard = GUARD_NONE};
    const struct task_work work = {
        .lease = &pair.parent.lease, .child = &pair.child, .events = &events, .write = &write};
    struct conversation seen = pair.child;
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    event_add_pause(&others);
    assert_done(conversation_store_write(fixture->db, &seen, &others, &plain, &err), &err);
    assert_int_equal(task_store_go_on(fixture->db, &work, stop, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_true(row_is(&pair.parent.conversation.id, WAITS_FOR_NONE));
    store_assert_gapless(fixture, &pair.child.id, 1);
}

static void child_whose_id_is_taken_is_not_begun(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(pair_done) struct pair pair = make_pair(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE, .want_run = true};
    const struct task_work work = {
        .lease = &pair.parent.lease, .child = &pair.child, .events = &events, .write = &write};
    char stop[STOP_WORD_BYTES] = "";
    struct error err = ERROR_INIT;

    assert_int_equal(task_store_begin(fixture->db, &work, stop, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_non_null(strstr(err.message, "already exists"));
    assert_true(row_is(&pair.parent.conversation.id, WAITS_FOR_NONE));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_nested_three_deep),
        cmocka_unit_test(conversation_starts_a_hundred_others),
        cmocka_unit_test(only_sub_agents_are_listed_and_all_below),
        cmocka_unit_test(start_that_failed_is_undone_unless_something_came_of_it),
        cmocka_unit_test(start_of_nothing_is_not_undone),
        cmocka_unit_test(end_is_what_came_since_the_last_message_to_it),
        cmocka_unit_test(sub_agent_that_goes_on_gets_its_task_and_the_parents_place),
        cmocka_unit_test(suspension_changes_the_parent_alone),
        cmocka_unit_test(work_that_is_given_again_is_given_once),
        cmocka_unit_test(task_for_a_child_that_changed_is_refused_whole),
        cmocka_unit_test(child_whose_id_is_taken_is_not_begun),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
