/*
 * Rows of sandboxes: what each change writes and what it leaves, which rows are listed and in which
 * order, and whom a change wakes.
 */
#include "store/runtime/runtime_store.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db.h"
#include "store/hint_fixture.h"
#include "store/runtime/idle_store.h"
#include "store/runtime/runtime_key_store.h"
#include "store/runtime/sandbox_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { CALLERS = 1U << HINT_CALLERS, HOUR_MS = 3600000 };

#define AGO(time) " = now() - interval '" time "'"
#define IS_NOW(column) column " > now() - interval '10 minutes'"

static void set_row(const struct runtime *runtime, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE runtimes SET %s WHERE id = '%s'", columns, runtime->id);
    test_sql(sql.text);
}

static bool row_is(const struct runtime *runtime, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM runtimes WHERE id = '%s' AND %s", runtime->id,
                   condition);
    return test_sql_count(sql.text) == 1;
}

/* One that has run for long, and was not used. */
static struct runtime add_idle(const struct hint_fixture *fixture)
{
    struct runtime runtime = store_add_runtime(fixture->plain);

    set_row(&runtime, "last_used_at" AGO("2 hours") ", since" AGO("2 hours") ", updated_at" AGO(
                          "2 hours") ", created_at" AGO("2 hours"));
    return runtime;
}

static struct uuid add_tenant(const struct hint_fixture *fixture)
{
    const struct tenant tenant = {.user_id = fixture->plain->user_id};
    struct tenant found = TENANT_INIT;
    struct uuid hash = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_add(fixture->db, &tenant, "tenant", hash.text, &err), &err);
    assert_done(runtime_key_store_find(fixture->db, hash.text, &found, &err), &err);
    return found.id;
}

static void give_to(const struct runtime *runtime, const struct uuid *tenant_id)
{
    CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;

    strbuf_appendf(&columns, "tenant_id = '%s'", tenant_id->text);
    set_row(runtime, columns.text);
}

static void want(const struct hint_fixture *fixture, const struct runtime *runtime,
                 enum runtime_desire desired)
{
    struct error err = ERROR_INIT;

    assert_done(runtime_store_want(fixture->db, runtime->id, desired, &err), &err);
}

/* --- requests --- */

static void request_to_run_counts_as_use_and_others_do_not(void **state)
{
    static const struct {
        enum runtime_desire desired;
        const char *row;
    } cases[] = {
        {DESIRED_RUNNING, "desired = 'running' AND last_used_at > now() - interval '1 hour'"},
        {DESIRED_PAUSED, "desired = 'paused' AND last_used_at < now() - interval '1 hour'"},
        {DESIRED_STOPPED, "desired = 'stopped' AND last_used_at < now() - interval '1 hour'"},
        {DESIRED_DELETED, "desired = 'deleted' AND last_used_at < now() - interval '1 hour'"},
    };
    const struct hint_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);

        want(fixture, &runtime, cases[i].desired);
        assert_true(row_is(&runtime, cases[i].row));
        assert_true(row_is(&runtime, IS_NOW("updated_at")));
    }
}

static void one_that_its_tenant_pauses_is_held_until_it_is_to_run(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime tenants = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime own = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    const struct uuid tenant = add_tenant(fixture);
    struct error err = ERROR_INIT;

    give_to(&tenants, &tenant);
    want(fixture, &tenants, DESIRED_PAUSED);
    want(fixture, &own, DESIRED_PAUSED);
    assert_true(row_is(&tenants, "is_held"));
    assert_true(row_is(&own, "NOT is_held"));
    assert_done(runtime_store_get(fixture->db, tenants.id, &found, &err), &err);
    assert_true(found.is_held);
    want(fixture, &tenants, DESIRED_RUNNING);
    assert_true(row_is(&tenants, "NOT is_held"));
}

static struct uuid as_id(const struct runtime *runtime)
{
    struct uuid id = UUID_INIT;

    memcpy(id.text, runtime->id, strlen(runtime->id) + 1);
    return id;
}

/* Servers close the sockets that were opened with its key. */
static void only_a_deletion_ends_its_callers(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime left = add_idle(fixture);
    const struct uuid id = as_id(&runtime);
    const struct uuid left_id = as_id(&left);
    struct error err = ERROR_INIT;
    bool is_decided = false;

    want(fixture, &runtime, DESIRED_STOPPED);
    want(fixture, &runtime, DESIRED_PAUSED);
    assert_int_equal(hint_fixture_heard(fixture, &id), 0);
    want(fixture, &runtime, DESIRED_DELETED);
    assert_int_equal(hint_fixture_heard(fixture, &id), CALLERS);
    set_row(&left, "status = 'paused', desired = 'paused'");
    assert_done(idle_store_delete(fixture->db, left.id, HOUR_MS, &is_decided, &err), &err);
    assert_true(is_decided);
    assert_int_equal(hint_fixture_heard(fixture, &left_id), CALLERS);
}

static void failed_and_unwanted_ones_do_not_count_against_a_tenant(void **state)
{
    static const struct {
        const char *other;
        bool is_full;
    } cases[] = {
        {"desired = 'running', status = 'running'", true},
        {"desired = 'running', status = 'starting'", true},
        {"desired = 'running', status = 'paused'", true},
        {"desired = 'running', status = 'error'", false},
        {"desired = 'paused', status = 'running'", false},
        {"desired = 'deleted', status = 'running'", false},
    };
    const struct hint_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
        CLEANUP(runtime_done) struct runtime other = add_idle(fixture);
        struct error err = ERROR_INIT;
        int rc = 0;

        runtime.tenant_id = add_tenant(fixture);
        give_to(&runtime, &runtime.tenant_id);
        give_to(&other, &runtime.tenant_id);
        set_row(&runtime, "desired = 'paused', status = 'paused'");
        set_row(&other, cases[i].other);
        rc = runtime_store_want_within(fixture->db, &runtime, 1, &err);
        assert_int_equal(rc, cases[i].is_full ? -1 : 0);
        assert_int_equal(err.code, cases[i].is_full ? ERROR_RATE_LIMITED : ERROR_NONE);
        assert_int_equal(row_is(&runtime, "desired = 'running'"), !cases[i].is_full);
    }
}

static void deleted_one_is_not_wanted_within_a_limit_either(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
    struct error err = ERROR_INIT;

    runtime.tenant_id = add_tenant(fixture);
    give_to(&runtime, &runtime.tenant_id);
    want(fixture, &runtime, DESIRED_DELETED);
    assert_int_equal(runtime_store_want_within(fixture->db, &runtime, 9, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* --- the state that the runtime service found --- */

static void update_writes_all_that_was_found(void **state)
{
    static const enum runtime_status moves[][2] = {
        {RUNTIME_RUNNING, RUNTIME_PAUSED}, /* these two are written to disk later */
        {RUNTIME_PAUSED, RUNTIME_RUNNING},
        {RUNTIME_RUNNING, RUNTIME_ERROR},
        {RUNTIME_PAUSED, RUNTIME_STARTING},
    };
    const struct hint_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
        CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
        CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
        CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;
        struct error err = ERROR_INIT;

        strbuf_appendf(&columns, "status = '%s'", runtime_status_to_string(moves[i][0]));
        set_row(&runtime, columns.text);
        runtime.status = moves[i][1];
        runtime.status_detail = mem_dup_text("words");
        runtime.container_id = mem_dup_text("container");
        runtime.url = mem_dup_text("http://url");
        runtime.restart_count = 4;
        runtime.proves = true;
        runtime.backend = "process";
        assert_done(runtime_store_update(fixture->db, &runtime, moves[i][0], &err), &err);
        assert_done(runtime_store_get(fixture->db, runtime.id, &found, &err), &err);
        assert_int_equal(found.status, moves[i][1]);
        assert_string_equal(found.status_detail, "words");
        assert_string_equal(found.container_id, "container");
        assert_string_equal(found.network, runtime.network);
        assert_string_equal(found.url, "http://url");
        assert_int_equal(found.restart_count, 4);
        assert_true(found.proves);
        assert_true(row_is(&runtime, "backend = 'process'"));
        assert_true(row_is(&runtime, IS_NOW("updated_at")));
        assert_int_equal(runtime_store_update(fixture->db, &runtime, moves[i][0], &err), -1);
        assert_int_equal(err.code, ERROR_CONFLICT);
    }
}

/* What the engine shows again is not waited for to be on disk; everything else is. */
static void only_pause_and_wake_are_written_to_disk_later(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(db_freep) struct db *db = test_db_open(1);
    CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
    struct error err = ERROR_INIT;

    test_sql("CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
             " NEW.status_detail := current_setting(''synchronous_commit''); RETURN NEW; END'");
    test_sql("CREATE TRIGGER note_commit BEFORE UPDATE ON runtimes FOR EACH ROW"
             " EXECUTE FUNCTION note_commit()");
    for (int i = 0; i < (int)RUNTIME_N_STATUSES * (int)RUNTIME_N_STATUSES; i++) {
        enum runtime_status from = (enum runtime_status)(i / RUNTIME_N_STATUSES);
        enum runtime_status to = (enum runtime_status)(i % RUNTIME_N_STATUSES);
        CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;
        bool is_soon = (from == RUNTIME_RUNNING && to == RUNTIME_PAUSED) ||
                       (from == RUNTIME_PAUSED && to == RUNTIME_RUNNING);

        strbuf_appendf(&columns, "status = '%s'", runtime_status_to_string(from));
        set_row(&runtime, columns.text);
        runtime.status = to;
        assert_done(runtime_store_update(db, &runtime, from, &err), &err);
        assert_int_equal(row_is(&runtime, "status_detail = 'off'"), is_soon);
    }
    test_sql("DROP FUNCTION note_commit CASCADE");
}

static void update_without_an_engine_keeps_the_rows(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_true(row_is(&runtime, "backend = 'docker'"));
    set_row(&runtime, "backend = 'process', proves = true");
    runtime.status = RUNTIME_ERROR;
    assert_done(runtime_store_update(fixture->db, &runtime, RUNTIME_RUNNING, &err), &err);
    assert_true(row_is(&runtime, "backend = 'process'"));
    assert_done(runtime_store_get(fixture->db, runtime.id, &found, &err), &err);
    assert_false(found.proves);
    assert_null(found.url);
}

/* `since` is when it came up or to rest; that it runs after its start counts as use. */
static void update_notes_when_it_came_up_or_to_rest(void **state)
{
    static const struct {
        enum runtime_status from;
        enum runtime_status to;
        bool is_since_new;
        bool is_use;
    } cases[] = {
        {RUNTIME_STARTING, RUNTIME_RUNNING, false, true},
        {RUNTIME_RUNNING, RUNTIME_STARTING, false, false},
        {RUNTIME_RUNNING, RUNTIME_PAUSED, true, false},
        {RUNTIME_PAUSED, RUNTIME_RUNNING, true, false},
        {RUNTIME_PAUSED, RUNTIME_STARTING, true, false},
        {RUNTIME_PAUSED, RUNTIME_STOPPED, false, false},
        {RUNTIME_STARTING, RUNTIME_ERROR, true, false},
    };
    const struct hint_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
        CLEANUP(strbuf_done) struct strbuf columns = STRBUF_INIT;
        struct error err = ERROR_INIT;

        strbuf_appendf(&columns, "status = '%s'", runtime_status_to_string(cases[i].from));
        set_row(&runtime, columns.text);
        runtime.status = cases[i].to;
        assert_done(runtime_store_update(fixture->db, &runtime, cases[i].from, &err), &err);
        assert_int_equal(row_is(&runtime, IS_NOW("since")), cases[i].is_since_new);
        assert_int_equal(row_is(&runtime, IS_NOW("last_used_at")), cases[i].is_use);
    }
}

/* --- use --- */

static void use_is_noted_of_that_one_alone(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime touched = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime used = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime other = add_idle(fixture);
    struct error err = ERROR_INIT;
    bool is_awake = false;

    assert_done(runtime_store_touch(fixture->db, touched.id, &err), &err);
    assert_done(runtime_store_use(fixture->db, used.id, &is_awake, &err), &err);
    assert_true(is_awake);
    assert_true(row_is(&touched, IS_NOW("last_used_at")));
    assert_true(row_is(&used, IS_NOW("last_used_at")));
    assert_false(row_is(&other, IS_NOW("last_used_at")));
}

static void add_conversation(const struct hint_fixture *fixture, const char *session_id,
                             const char *columns)
{
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture->plain);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET runtime_session = '%s', %s WHERE id = '%s'",
                   session_id, columns, conversation.id.text);
    test_sql(sql.text);
}

static void one_without_use_and_without_a_run_is_unused(void **state)
{
#define LEASE(time) "lease_owner = gen_random_uuid(), lease_expires_at = now() " time
    static const struct {
        int64_t idle_ms;
        const char *run;
        bool is_unused;
    } cases[] = {
        {HOUR_MS, NULL, true},
        {3 * HOUR_MS, NULL, false},
        {HOUR_MS, "wanted_at = now()", false},
        {HOUR_MS, LEASE("+ interval '1 minute'"), false},
        {HOUR_MS, LEASE("- interval '1 minute'"), true},
        {HOUR_MS, "wanted_at = NULL", true},
    };
    const struct hint_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
        struct error err = ERROR_INIT;
        bool is_unused = !cases[i].is_unused;

        add_conversation(fixture, "another session", "wanted_at = now()");
        if (cases[i].run != NULL)
            add_conversation(fixture, runtime.session_id, cases[i].run);
        assert_done(
            runtime_store_is_unused(fixture->db, runtime.id, cases[i].idle_ms, &is_unused, &err),
            &err);
        assert_int_equal(is_unused, cases[i].is_unused);
    }
}

static void home_is_set_once(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime other = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    set_row(&runtime, "spec = '{\"image\": \"i\", \"home\": \"\"}'");
    assert_done(runtime_store_set_home(fixture->db, runtime.id, "0a1b", &err), &err);
    assert_int_equal(runtime_store_set_home(fixture->db, runtime.id, "2c3d", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_done(runtime_store_get(fixture->db, runtime.id, &found, &err), &err);
    assert_string_equal(json_text_or(found.spec, "home", ""), "0a1b");
    assert_string_equal(json_text_or(found.spec, "image", ""), "i");
    assert_true(row_is(&other, "spec = '{}'"));
    assert_int_equal(runtime_store_set_home(fixture->db, "missing", "2c3d", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

/* --- lists --- */

/* The ids of a list, each with a comma; frees the list. */
static void assert_ids(struct runtime_list *list, const struct runtime *const *expected, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf ids = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf wanted = STRBUF_INIT;

    strbuf_append(&ids, "");
    strbuf_append(&wanted, "");
    for (size_t i = 0; i < list->n; i++)
        strbuf_appendf(&ids, "%s,", list->items[i].id);
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&wanted, "%s,", expected[i]->id);
    runtime_list_done(list);
    assert_int_equal(list->n, 0);
    assert_null(list->items);
    assert_string_equal(ids.text, wanted.text);
}

#define ASSERT_IDS(list, ...)                                                                      \
    assert_ids(list, (const struct runtime *const[]){__VA_ARGS__},                                 \
               sizeof((const struct runtime *const[]){__VA_ARGS__}) / sizeof(struct runtime *))

static void lists_have_their_rows_in_order(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime second = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime stopped = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime failed = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime doomed = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime first = add_idle(fixture);
    const struct uuid tenant = add_tenant(fixture);
    struct runtime_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    test_sql("DELETE FROM runtimes WHERE created_at > now() - interval '1 hour'");
    set_row(&first, "desired = 'paused', created_at" AGO("9 days") ", updated_at" AGO("2 days"));
    set_row(&second, "desired = 'paused', created_at" AGO("8 days") ", updated_at" AGO("3 days"));
    set_row(&stopped, "status = 'stopped', desired = 'stopped', created_at" AGO("7 days"));
    set_row(&failed, "status = 'error', created_at" AGO("6 days"));
    set_row(&doomed, "status = 'error', desired = 'deleted', created_at" AGO("5 days"));
    give_to(&second, &tenant);
    give_to(&stopped, &tenant);
    give_to(&first, &tenant);
    test_sql("DELETE FROM runtimes WHERE created_at > now() - interval '4 days'");
    assert_done(runtime_store_list(fixture->db, &list, &err), &err);
    ASSERT_IDS(&list, &first, &second, &failed, &doomed);
    assert_done(runtime_store_list_all(fixture->db, &list, &err), &err);
    ASSERT_IDS(&list, &first, &second, &stopped, &failed, &doomed);
    assert_done(runtime_store_list_tenant(fixture->db, &tenant, &list, &err), &err);
    ASSERT_IDS(&list, &first, &second);
    assert_done(runtime_store_list_unsettled(fixture->db, &list, &err), &err);
    ASSERT_IDS(&list, &second, &first, &doomed);
}

static void newest_runtime_of_each_session_is_read(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime old = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime newest = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime oldest = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime alone = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime unasked = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime found = RUNTIME_INIT;
    const char *const ids[] = {"session-b", "missing", "session-a"};
    struct runtime_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    set_row(&old, "status = 'stopped', session_id = 'session-a', created_at" AGO("2 days"));
    set_row(&newest, "session_id = 'session-a', created_at" AGO("1 day"));
    set_row(&oldest, "status = 'stopped', session_id = 'session-a', created_at" AGO("3 days"));
    set_row(&alone, "session_id = 'session-b'");
    assert_done(runtime_store_get_sessions(fixture->db, ids, ARRAY_SIZE(ids), &list, &err), &err);
    ASSERT_IDS(&list, &newest, &alone);
    assert_done(runtime_store_get_session(fixture->db, "session-a", &found, &err), &err);
    assert_string_equal(found.id, newest.id);
    assert_done(runtime_store_get_sessions(fixture->db, ids, 0, &list, &err), &err);
    assert_int_equal(list.n, 0);
    runtime_list_done(&list);
}

/* --- a user's own --- */

static void users_sandboxes_are_paged_newest_first(void **state)
{
    const struct hint_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime last = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime first = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime second = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime third = add_idle(fixture);
    const struct uuid *user_id = &fixture->plain->user_id;
    struct sandbox_cursor from = {.created_at_us = 0};
    struct runtime_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    test_sql("DELETE FROM runtimes WHERE created_at < now() - interval '3 hours'");
    test_sql("UPDATE runtimes SET tenant_id = NULL, desired = 'deleted'");
    set_row(&first, "desired = 'running', created_at = '2030-01-03T00:00:00Z'");
    set_row(&second, "desired = 'running', id = 'twin-b', created_at = '2030-01-02T00:00:00.5Z'");
    set_row(&third, "desired = 'running', id = 'twin-a', created_at = '2030-01-02T00:00:00.5Z'");
    set_row(&last, "desired = 'running', created_at = '2030-01-01T00:00:00Z'");
    memcpy(second.id, "twin-b", sizeof("twin-b"));
    memcpy(third.id, "twin-a", sizeof("twin-a"));
    assert_done(sandbox_store_search(fixture->db, user_id, &from, 1, &list, &err), &err);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[0].id, first.id);
    from.created_at_us = list.items[1].created_at_us;
    memcpy(from.id, list.items[1].id, sizeof(from.id));
    runtime_list_done(&list);
    assert_done(sandbox_store_search(fixture->db, user_id, &from, 9, &list, &err), &err);
    ASSERT_IDS(&list, &second, &third, &last);
    memcpy(from.id, third.id, sizeof(from.id));
    assert_done(sandbox_store_search(fixture->db, user_id, &from, 9, &list, &err), &err);
    ASSERT_IDS(&list, &third, &last);
    /* The rows of this test are of another time than those of others. */
    test_sql("DELETE FROM runtimes WHERE created_at > '2029-01-01'");
}

static void of_many_ids_only_the_users_own_are_read(void **state)
{
    const struct hint_fixture *fixture = *state;
    struct store_fixture stranger = {.db = fixture->db, .user_id = test_user(fixture->db)};
    CLEANUP(runtime_done) struct runtime own = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime unasked = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime deleted = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime tenants = add_idle(fixture);
    CLEANUP(runtime_done) struct runtime foreign = store_add_runtime(&stranger);
    const char *const ids[] = {foreign.id, deleted.id, tenants.id, "missing", own.id};
    const struct uuid tenant = add_tenant(fixture);
    struct runtime_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    want(fixture, &deleted, DESIRED_DELETED);
    give_to(&tenants, &tenant);
    assert_done(sandbox_store_get_many(fixture->db, &fixture->plain->user_id, ids, ARRAY_SIZE(ids),
                                       &list, &err),
                &err);
    ASSERT_IDS(&list, &own);
    assert_done(
        sandbox_store_get_many(fixture->db, &stranger.user_id, ids, ARRAY_SIZE(ids), &list, &err),
        &err);
    ASSERT_IDS(&list, &foreign);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_to_run_counts_as_use_and_others_do_not),
        cmocka_unit_test(one_that_its_tenant_pauses_is_held_until_it_is_to_run),
        cmocka_unit_test(only_a_deletion_ends_its_callers),
        cmocka_unit_test(failed_and_unwanted_ones_do_not_count_against_a_tenant),
        cmocka_unit_test(deleted_one_is_not_wanted_within_a_limit_either),
        cmocka_unit_test(update_writes_all_that_was_found),
        cmocka_unit_test(only_pause_and_wake_are_written_to_disk_later),
        cmocka_unit_test(update_without_an_engine_keeps_the_rows),
        cmocka_unit_test(update_notes_when_it_came_up_or_to_rest),
        cmocka_unit_test(use_is_noted_of_that_one_alone),
        cmocka_unit_test(one_without_use_and_without_a_run_is_unused),
        cmocka_unit_test(home_is_set_once),
        cmocka_unit_test(lists_have_their_rows_in_order),
        cmocka_unit_test(newest_runtime_of_each_session_is_read),
        cmocka_unit_test(users_sandboxes_are_paged_newest_first),
        cmocka_unit_test(of_many_ids_only_the_users_own_are_read),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, hint_fixture_set_up, hint_fixture_tear_down);
}
