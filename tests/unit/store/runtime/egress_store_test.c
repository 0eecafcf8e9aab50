/*
 * The store's rules for egress policies: a key's policy overrides its user's; if neither is set,
 * the result says so.
 */
#include "store/runtime/egress_store.h"

#include "base/text.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/runtime/runtime_key_store.h"
#include "store/runtime/runtime_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"

static const char SQL_SET_USER[] =
    "UPDATE users SET egress = $2, egress_allow = $3 WHERE id = $1::uuid";
static const char SQL_SET_KEY[] =
    "UPDATE runtime_keys SET egress = $2, egress_allow = $3 WHERE id = $1::uuid";

static void set(const struct store_fixture *fixture, const char *sql, const struct uuid *id,
                const char *mode, const char *list)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_query(fixture->db, sql, DB_PARAMS(id->text, mode, list), &rows, &err), &err);
}

static struct tenant add_key(const struct store_fixture *fixture)
{
    struct tenant tenant = {.user_id = fixture->user_id};
    struct uuid hash = uuid_random();
    struct error err = ERROR_INIT;

    assert_done(runtime_key_store_add(fixture->db, &tenant, "egress", hash.text, &err), &err);
    assert_done(runtime_key_store_find(fixture->db, hash.text, &tenant, &err), &err);
    return tenant;
}

static void found(const struct store_fixture *fixture, const struct uuid *tenant_id,
                  const char *mode, const char *list)
{
    CLEANUP(egress_choice_done) struct egress_choice choice = EGRESS_CHOICE_INIT;
    struct error err = ERROR_INIT;

    assert_done(egress_store_find(fixture->db, tenant_id, &fixture->user_id, &choice, &err), &err);
    if (mode == NULL)
        assert_null(choice.mode);
    else
        assert_string_equal(choice.mode, mode);
    assert_string_equal(choice.list, list);
}

static void key_counts_before_its_user(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct tenant tenant = add_key(fixture);
    const struct uuid none = UUID_INIT;

    found(fixture, &tenant.id, NULL, "");
    set(fixture, SQL_SET_USER, &fixture->user_id, "list", "a.org");
    found(fixture, &tenant.id, "list", "a.org");
    found(fixture, &none, "list", "a.org");
    set(fixture, SQL_SET_KEY, &tenant.id, "none", NULL);
    found(fixture, &tenant.id, "none", "");
    found(fixture, &none, "list", "a.org");
    set(fixture, SQL_SET_USER, &fixture->user_id, NULL, NULL);
    found(fixture, &none, NULL, "");
}

static void each_sandbox_in_a_network_is_listed_with_its_own(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(egress_network_list_done) struct egress_network_list networks =
        EGRESS_NETWORK_LIST_INIT;
    struct error err = ERROR_INIT;
    bool is_there = false;

    set(fixture, SQL_SET_USER, &fixture->user_id, "none", NULL);
    assert_done(egress_store_list(fixture->db, &networks, &err), &err);
    for (size_t i = 0; i < networks.n; i++) {
        if (!text_equal(networks.items[i].network, runtime.network))
            continue;
        is_there = true;
        assert_string_equal(networks.items[i].choice.mode, "none");
        assert_string_equal(networks.items[i].choice.list, "");
    }
    assert_true(is_there);
    set(fixture, SQL_SET_USER, &fixture->user_id, NULL, NULL);
}

static void missing_one_is_released(void **state)
{
    (void)state;
    egress_choice_done(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_counts_before_its_user),
        cmocka_unit_test(each_sandbox_in_a_network_is_listed_with_its_own),
        cmocka_unit_test(missing_one_is_released),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
