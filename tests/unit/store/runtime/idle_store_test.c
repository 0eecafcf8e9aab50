/*
 * Which sandboxes have been idle, up or at rest for too long, and what may still be decided then.
 */
#include "store/runtime/idle_store.h"

#include "base/strbuf.h"
#include "store/conversation/conversation_store.h"
#include "store/runtime/runtime_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { HOUR_MS = 3600000 };

static const struct idle_limits hours = {HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS, 4 * HOUR_MS,
                                         HOUR_MS / 2};

static int remove_all(void **state)
{
    (void)state;
    test_sql("DELETE FROM runtimes");
    test_sql("DELETE FROM conversations");
    return 0;
}

static struct runtime add(const struct store_fixture *fixture, const char *assignments)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct runtime runtime = store_add_runtime(fixture);

    strbuf_appendf(&sql, "UPDATE runtimes SET %s WHERE id = '%s'", assignments, runtime.id);
    test_sql(sql.text);
    return runtime;
}

/* The kind as which the only sandbox is found: "" if it is not, its kinds with a comma otherwise.
 */
static void assert_found(const struct store_fixture *fixture, const struct idle_limits *limits,
                         const char *expected)
{
    CLEANUP(idle_list_done) struct idle_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf kinds = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(idle_store_find(fixture->db, limits, &list, &err), &err);
    strbuf_append(&kinds, "");
    for (size_t i = 0; i < list.n; i++)
        strbuf_appendf(&kinds, "%s,", idle_kind_to_string(list.items[i].kind));
    assert_string_equal(kinds.text, expected);
}

#define AGO(time) " = now() - interval '" time "'"
#define LEASED "lease_owner = gen_random_uuid()"
#define UP "status = 'running', desired = 'running'"

/* Each limit from both of its sides. */
static void each_limit_finds_its_kind(void **state)
{
    static const struct {
        const char *row;
        const char *found;
    } cases[] = {
        {UP ", last_used_at" AGO("59 minutes") ", since" AGO("59 minutes"), ""},
        {UP ", last_used_at" AGO("61 minutes") ", since" AGO("61 minutes"), "idle,"},
        {UP ", last_used_at" AGO("29 minutes") ", since" AGO("9 hours"), ""},
        {UP ", last_used_at" AGO("31 minutes") ", since" AGO("119 minutes"), ""},
        {UP ", last_used_at" AGO("31 minutes") ", since" AGO("121 minutes"), "long_up,"},
        {"status = 'running', desired = 'paused', last_used_at" AGO("9 hours"), ""},
        {"status = 'starting', last_used_at" AGO("9 hours"), ""},
        {"status = 'paused', desired = 'paused', container_id = 'c', since" AGO("179 minutes"), ""},
        {"status = 'paused', desired = 'paused', container_id = 'c', since" AGO("181 minutes"),
         "held,"},
        {"status = 'paused', desired = 'running', container_id = 'c', since" AGO("181 minutes"),
         ""},
        {"status = 'paused', desired = 'paused', container_id = NULL, since" AGO("239 minutes"),
         ""},
        {"status = 'paused', desired = 'paused', container_id = NULL, since" AGO("241 minutes"),
         "dead,"},
        {"status = 'stopped', desired = 'stopped', since" AGO("241 minutes"), "dead,"},
        {"status = 'stopped', desired = 'running', since" AGO("241 minutes"), ""},
        {"status = 'error', desired = 'running', since" AGO("241 minutes"), "dead,"},
        {"status = 'error', desired = 'running', since" AGO("239 minutes"), ""},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

        (void)remove_all(state);
        runtime = add(fixture, cases[i].row);
        assert_found(fixture, &hours, cases[i].found);
    }
}

static void limit_of_zero_finds_nothing(void **state)
{
    static const struct idle_limits none = {0, 0, 0, 0, 0};
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime up =
        add(fixture, UP ", last_used_at" AGO("9 days") ", since" AGO("9 days"));
    CLEANUP(runtime_done) struct runtime paused = add(
        fixture, "status = 'paused', desired = 'paused', container_id = 'c', since" AGO("9 days"));

    assert_found(fixture, &none, "");
    assert_found(fixture, &(struct idle_limits){1, 0, 0, 0, 0}, "idle,");
    assert_found(fixture, &(struct idle_limits){0, 1, 0, 0, 0}, "long_up,");
    assert_found(fixture, &(struct idle_limits){0, 0, 1, 0, 0}, "held,");
    assert_found(fixture, &(struct idle_limits){0, 0, 0, 1, 0}, "dead,");
}

static void found_sandbox_has_its_id_and_container(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(idle_list_done) struct idle_list list = {.items = NULL};
    CLEANUP(runtime_done) struct runtime late =
        add(fixture, UP ", container_id = 'late', last_used_at" AGO("2 hours"));
    CLEANUP(runtime_done) struct runtime early =
        add(fixture, UP ", container_id = 'early', last_used_at" AGO("3 hours"));
    struct error err = ERROR_INIT;

    assert_done(idle_store_find(fixture->db, &hours, &list, &err), &err);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[0].id, early.id);
    assert_string_equal(list.items[0].container_id, "early");
    assert_string_equal(list.items[1].id, late.id);
    assert_string_equal(list.items[1].container_id, "late");
}

/* A conversation in the sandbox, and a change of its row. */
static void add_run(const struct store_fixture *fixture, const struct runtime *runtime,
                    const char *assignments)
{
    CLEANUP(conversation_done) struct conversation run = store_create(fixture);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET runtime_session = '%s', %s WHERE id = '%s'",
                   runtime->session_id, assignments, run.id.text);
    test_sql(sql.text);
}

/* A run that is requested, in progress or ended lately counts as use. */
static void run_in_it_counts_as_use(void **state)
{
    static const struct {
        const char *run;
        bool is_used;
    } cases[] = {
        {"wanted_at = now(), updated_at" AGO("9 hours"), true},
        {LEASED ", lease_expires_at = now() + interval '1 minute', updated_at" AGO("9 hours"),
         true},
        {LEASED ", lease_expires_at = now() - interval '1 minute', updated_at" AGO("9 hours"),
         false},
        {"updated_at" AGO("59 minutes"), true},
        {"updated_at" AGO("61 minutes"), false},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
        struct error err = ERROR_INIT;
        bool is_decided = false;

        (void)remove_all(state);
        runtime = add(fixture, UP ", last_used_at" AGO("9 hours"));
        add_run(fixture, &runtime, cases[i].run);
        assert_found(fixture, &hours, cases[i].is_used ? "" : "idle,");
        assert_done(idle_store_pause(fixture->db, runtime.id, HOUR_MS, &is_decided, &err), &err);
        assert_int_equal(is_decided, !cases[i].is_used);
        assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes WHERE desired = 'paused'"),
                         !cases[i].is_used);
    }
}

static void only_what_is_left_is_deleted(void **state)
{
    static const struct {
        const char *row;
        const char *run;
        bool is_deleted;
    } cases[] = {
        {"status = 'paused', desired = 'paused', since" AGO("61 minutes"), NULL, true},
        {"status = 'paused', desired = 'paused', since" AGO("59 minutes"), NULL, false},
        {"status = 'paused', desired = 'running', since" AGO("61 minutes"), NULL, false},
        {"status = 'running', desired = 'paused', since" AGO("61 minutes"), NULL, false},
        {"status = 'error', desired = 'running', since" AGO("61 minutes"), NULL, true},
        {"status = 'paused', desired = 'paused', since" AGO("61 minutes"), "wanted_at = now()",
         false},
        {"status = 'paused', desired = 'paused', since" AGO("61 minutes"),
         "updated_at" AGO("1 second"), true},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
        struct error err = ERROR_INIT;
        bool is_decided = false;

        (void)remove_all(state);
        runtime = add(fixture, cases[i].row);
        if (cases[i].run != NULL)
            add_run(fixture, &runtime, cases[i].run);
        assert_done(idle_store_delete(fixture->db, runtime.id, HOUR_MS, &is_decided, &err), &err);
        assert_int_equal(is_decided, cases[i].is_deleted);
        assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes WHERE desired = 'deleted'"),
                         cases[i].is_deleted);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_limit_finds_its_kind, remove_all),
        cmocka_unit_test_setup(limit_of_zero_finds_nothing, remove_all),
        cmocka_unit_test_setup(found_sandbox_has_its_id_and_container, remove_all),
        cmocka_unit_test_setup(run_in_it_counts_as_use, remove_all),
        cmocka_unit_test_setup(only_what_is_left_is_deleted, remove_all),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
