/*
 * The administrator's rows: the warm pool's configuration, keys of the Runtime API, attempts to
 * sign in, and numbers of sandboxes.
 */
#include "store/runtime/warm_config_store.h"

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/runtime/admin_store.h"
#include "store/runtime/runtime_count_store.h"
#include "store/runtime/runtime_key_store.h"
#include "store/store_fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

static int remove_all(void **state)
{
    (void)state;
    test_sql("DELETE FROM warm_configs");
    test_sql("DELETE FROM admin_logins");
    test_sql("DELETE FROM runtimes");
    test_sql("DELETE FROM runtime_keys");
    return 0;
}

/* --- the warm pool --- */

static int put(const struct store_fixture *fixture, const char *name, const char *image,
               int64_t most, struct error *err)
{
    json_auto_t *config = json_object();
    const struct warm_config row = {.name = (char[]){"x"},
                                    .image = (char *)(uintptr_t)image,
                                    .memory_bytes = 1LL << 33,
                                    .nano_cpus = 5000000000LL,
                                    .count = 7,
                                    .config = config};

    json_put_text(config, "as", image);
    row.name[0] = name[0];
    return warm_config_store_put(fixture->db, &row, most, err);
}

static void configurations_are_listed_by_name(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(warm_config_list_done) struct warm_config_list list = {.items = NULL};
    CLEANUP(mem_freep) char *text = NULL;
    struct error err = ERROR_INIT;

    assert_done(put(fixture, "b", "image:b", 9, &err), &err);
    assert_done(put(fixture, "a", "image:a", 9, &err), &err);
    assert_done(warm_config_store_list(fixture->db, &list, &err), &err);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[0].name, "a");
    assert_string_equal(list.items[0].image, "image:a");
    assert_int_equal(list.items[0].memory_bytes, 1LL << 33);
    assert_int_equal(list.items[0].nano_cpus, 5000000000LL);
    assert_int_equal(list.items[0].count, 7);
    text = json_dumps(list.items[0].config, 0);
    assert_json_at(text, "", "{\"as\": \"image:a\"}");
    assert_string_equal(list.items[1].name, "b");
}

static void number_of_configurations_is_limited_but_not_their_changes(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(warm_config_list_done) struct warm_config_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    assert_done(put(fixture, "a", "image:a", 2, &err), &err);
    assert_done(put(fixture, "b", "image:b", 2, &err), &err);
    assert_int_equal(put(fixture, "c", "image:c", 2, &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    assert_string_equal(err.message, "there can be at most 2 configurations");
    assert_done(put(fixture, "b", "image:b2", 2, &err), &err);
    assert_done(warm_config_store_list(fixture->db, &list, &err), &err);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[1].image, "image:b2");
}

static void change_replaces_all_of_a_configuration(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(warm_config_list_done) struct warm_config_list list = {.items = NULL};
    CLEANUP(mem_freep) char *text = NULL;
    struct error err = ERROR_INIT;

    test_sql("INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config,"
             " updated_at) VALUES ('a', 'image:old', 1, 2, 3, '{}', now() - interval '1 hour')");
    assert_done(put(fixture, "a", "image:a", 1, &err), &err);
    assert_done(warm_config_store_list(fixture->db, &list, &err), &err);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.items[0].image, "image:a");
    assert_int_equal(list.items[0].memory_bytes, 1LL << 33);
    assert_int_equal(list.items[0].nano_cpus, 5000000000LL);
    assert_int_equal(list.items[0].count, 7);
    text = json_dumps(list.items[0].config, 0);
    assert_json_at(text, "", "{\"as\": \"image:a\"}");
    assert_int_equal(test_sql_count("SELECT count(*) FROM warm_configs"
                                    " WHERE updated_at > now() - interval '10 minutes'"),
                     1);
}

static void configuration_is_removed_once(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_done(put(fixture, "a", "image:a", 2, &err), &err);
    assert_done(put(fixture, "b", "image:b", 2, &err), &err);
    assert_done(warm_config_store_remove(fixture->db, "a", &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM warm_configs WHERE name = 'b'"), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM warm_configs"), 1);
    assert_int_equal(warm_config_store_remove(fixture->db, "a", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* --- sign-ins --- */

static const struct admin_limits limits = {.window_s = 60, .most_failures = 2};

static int try_once(const struct store_fixture *fixture, const char *challenge, struct error *err)
{
    return admin_store_try(fixture->db, challenge, &limits, err);
}

static void challenge_is_tried_once(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_done(try_once(fixture, "c1", &err), &err);
    assert_int_equal(try_once(fixture, "c1", &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

static void failures_of_a_period_are_limited(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_done(try_once(fixture, "c1", &err), &err);
    assert_done(try_once(fixture, "c2", &err), &err);
    assert_int_equal(try_once(fixture, "c3", &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    assert_int_equal(test_sql_count("SELECT count(*) FROM admin_logins"), 2);
    test_sql("UPDATE admin_logins SET at = now() - interval '50 s' WHERE challenge = 'c1'");
    assert_int_equal(try_once(fixture, "c3", &err), -1);
    test_sql("UPDATE admin_logins SET at = now() - interval '61 s' WHERE challenge = 'c1'");
    assert_done(try_once(fixture, "c3", &err), &err);
}

static void success_does_not_count_as_a_failure(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_done(try_once(fixture, "c1", &err), &err);
    assert_done(try_once(fixture, "c2", &err), &err);
    assert_done(admin_store_succeed(fixture->db, "c1", &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM admin_logins WHERE is_ok"), 1);
    assert_int_equal(
        test_sql_count("SELECT count(*) FROM admin_logins WHERE is_ok AND challenge = 'c1'"), 1);
    assert_done(try_once(fixture, "c3", &err), &err);
    assert_int_equal(try_once(fixture, "c4", &err), -1);
}

static void old_attempts_are_forgotten(void **state)
{
    const struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    test_sql("INSERT INTO admin_logins (challenge, at) VALUES"
             " ('old', now() - interval '61 minutes'), ('new', now() - interval '59 minutes')");
    assert_done(try_once(fixture, "c1", &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM admin_logins WHERE challenge = 'old'"),
                     0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM admin_logins"), 2);
}

/* --- keys --- */

static void add_key(const struct store_fixture *fixture, const char *name, int64_t most)
{
    const struct tenant tenant = {.user_id = fixture->user_id, .max_runtimes = most};
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_add(fixture->db, &tenant, name, name, &err), &err);
}

/* The key's name is its hash here, too. */
static void assert_id_at(const struct store_fixture *fixture, const char *json, const char *path,
                         const char *name)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct tenant tenant = TENANT_INIT;
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_find(fixture->db, name, &tenant, &err), &err);
    strbuf_appendf(&expected, "\"%s\"", tenant.id.text);
    assert_json_at(json, path, expected.text);
}

static void live_keys_are_listed(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(admin_store_list_keys(fixture->db, 5, &json, &err), &err);
    assert_string_equal(json.text, "[]");
    add_key(fixture, "first", 3);
    add_key(fixture, "gone", 3);
    add_key(fixture, "third", 1);
    add_key(fixture, "second", 0);
    /* Keys of one moment are ordered by name. */
    test_sql("UPDATE runtime_keys SET created_at = now() WHERE name IN ('second', 'third')");
    test_sql("UPDATE runtime_keys SET revoked_at = now() WHERE name = 'gone'");
    strbuf_reset(&json);
    assert_done(admin_store_list_keys(fixture->db, 5, &json, &err), &err);
    assert_id_at(fixture, json.text, "[0].id", "first");
    assert_id_at(fixture, json.text, "[1].id", "second");
    assert_json_at(json.text, "[0].name", "\"first\"");
    assert_json_at(json.text, "[0].key_value", "null");
    assert_json_at(json.text, "[0].max_runtimes", "3");
    assert_json_at(json.text, "[0].remaining_credits", "null");
    assert_json_at(json.text, "[1].name", "\"second\"");
    assert_json_at(json.text, "[1].max_runtimes", "5");
    assert_json_at(json.text, "[2].name", "\"third\"");
    assert_json_at(json.text, "[3]", NULL);
}

static void revoked_key_has_a_number_but_finds_no_tenant(void **state)
{
    const struct store_fixture *fixture = *state;
    struct tenant tenant = TENANT_INIT;
    struct tenant again = TENANT_INIT;
    struct uuid missing = uuid_random();
    struct error err = ERROR_INIT;
    int64_t most = 0;

    add_key(fixture, "first", 3);
    assert_done(runtime_key_store_find(fixture->db, "first", &tenant, &err), &err);
    assert_string_equal(tenant.user_id.text, fixture->user_id.text);
    assert_int_equal(tenant.max_runtimes, 3);
    test_sql("UPDATE runtime_keys SET revoked_at = now()");
    assert_done(runtime_key_store_load_most(fixture->db, &tenant.id, &most, &err), &err);
    assert_int_equal(most, 3);
    assert_int_equal(runtime_key_store_find(fixture->db, "first", &again, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_false(uuid_is_set(&again.id));
    assert_int_equal(runtime_key_store_load_most(fixture->db, &missing, &most, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* --- numbers --- */

static void sandboxes_are_counted_by_tenant_and_status(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(tenant_count_list_done) struct tenant_count_list list = {.items = NULL};
    struct error err = ERROR_INIT;

    add_key(fixture, "acme", 3);
    for (int i = 0; i < 5; i++) {
        CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    }
    test_sql("WITH r AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM runtimes)"
             " UPDATE runtimes SET status = CASE WHEN n = 1 THEN 'paused' ELSE 'running' END,"
             " desired = CASE WHEN n = 5 THEN 'deleted' ELSE 'running' END,"
             " tenant_id = CASE WHEN n = 2 THEN (SELECT id FROM runtime_keys) END"
             " FROM r WHERE r.id = runtimes.id");
    assert_done(runtime_count_store_list(fixture->db, &list, &err), &err);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.items[0].tenant, "");
    assert_string_equal(list.items[0].status, "paused");
    assert_int_equal(list.items[0].count, 1);
    assert_string_equal(list.items[1].tenant, "");
    assert_string_equal(list.items[1].status, "running");
    assert_int_equal(list.items[1].count, 2);
    assert_string_equal(list.items[2].tenant, "acme");
    assert_string_equal(list.items[2].status, "running");
    assert_int_equal(list.items[2].count, 1);
}

static void missing_one_is_released(void **state)
{
    (void)state;
    warm_config_done(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(configurations_are_listed_by_name, remove_all),
        cmocka_unit_test_setup(number_of_configurations_is_limited_but_not_their_changes,
                               remove_all),
        cmocka_unit_test_setup(change_replaces_all_of_a_configuration, remove_all),
        cmocka_unit_test_setup(configuration_is_removed_once, remove_all),
        cmocka_unit_test_setup(challenge_is_tried_once, remove_all),
        cmocka_unit_test_setup(failures_of_a_period_are_limited, remove_all),
        cmocka_unit_test_setup(success_does_not_count_as_a_failure, remove_all),
        cmocka_unit_test_setup(old_attempts_are_forgotten, remove_all),
        cmocka_unit_test_setup(live_keys_are_listed, remove_all),
        cmocka_unit_test_setup(revoked_key_has_a_number_but_finds_no_tenant, remove_all),
        cmocka_unit_test_setup(sandboxes_are_counted_by_tenant_and_status, remove_all),
        cmocka_unit_test(missing_one_is_released),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
