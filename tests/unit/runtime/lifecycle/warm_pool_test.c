/*
 * Which members of the warm pool stay, and which are removed.
 */
#include "runtime/lifecycle/warm_pool.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/start_spec.h"
#include "store/runtime/runtime_count_store.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/warm_store.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

enum { PATIENCE_MS = 60000, N_LOOKS = 100 };

#define GOOD "aaaaaaaaaaaaaaaa"
#define OTHER "bbbbbbbbbbbbbbbb"

/* A ready member as the settings want it; columns: further ones to set, as SQL. */
static void add_member(const char *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO warm_sandboxes (id, image, memory_bytes, nano_cpus, fittings, home,"
                   " image_id, container_id, network, url, init_key, is_ready) VALUES ('%s',"
                   " '" TEST_IMAGE "', 1000, 2000, '" TEST_BUILD "', 'h-%s', 'sha256:1', 'c-%s',"
                   " 'n-%s', 'http://10.1.2.3:8000', 'sealed', true);"
                   " UPDATE warm_sandboxes SET %s WHERE id = '%s'",
                   id, id, id, id, columns, id);
    test_sql(sql.text);
}

static bool is_member(const char *id)
{
    return service_row_is("warm_sandboxes", id, "true");
}

static void *run_pool(void *context)
{
    warm_pool_run(context);
    return NULL;
}

/* Runs the pool until it has that many members, all ready and of the present build. */
static void run_until(struct service_fixture *fixture, int64_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    pthread_t thread = 0;

    assert_int_equal(pthread_create(&thread, NULL, run_pool, &fixture->service), 0);
    warm_pool_wake(fixture->service.pool);
    while (clock_monotonic_ms() < deadline_ms &&
           (test_sql_count("SELECT count(*) FROM warm_sandboxes") != n ||
            test_sql_count("SELECT count(*) FROM warm_sandboxes WHERE is_ready"
                           " AND fittings = '" TEST_BUILD "'") != n))
        ;
    warm_pool_stop(fixture->service.pool);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clock_monotonic_ms() < deadline_ms);
}

static void pool_is_filled_to_its_least_size(void **state)
{
    struct service_fixture *fixture = *state;

    run_until(fixture, 1);
    assert_true(service_was_told(fixture, "start " TEST_IMAGE ";"));
}

static void fitting_member_stays(void **state)
{
    add_member(GOOD, "is_ready = true");
    run_until(*state, 1);
    assert_true(is_member(GOOD));
    assert_false(service_was_told(*state, "start"));
}

/* A claim of one would hand out a sandbox with an older deft-action. */
static void member_of_another_build_is_replaced(void **state)
{
    add_member(OTHER, "fittings = 'action-1'");
    run_until(*state, 1);
    assert_false(is_member(OTHER));
    assert_true(service_was_told(*state, "remove " OTHER ";"));
    assert_true(service_was_told(*state, "remove_home h-" OTHER ";"));
    assert_true(service_was_told(*state, "start " TEST_IMAGE ";"));
}

static void member_whose_start_was_cut_off_is_replaced(void **state)
{
    add_member(OTHER, "is_ready = false");
    run_until(*state, 1);
    assert_false(is_member(OTHER));
    assert_true(service_was_told(*state, "start " TEST_IMAGE ";"));
}

static void members_that_are_not_wanted_are_removed(void **state)
{
    add_member(GOOD, "created_at = now() - interval '1 hour'");
    add_member(OTHER, "is_ready = true"); /* one too many */
    add_member("cccccccccccccccc", "image = 'another:1'");
    add_member("dddddddddddddddd", "memory_bytes = 1001");
    add_member("eeeeeeeeeeeeeeee", "nano_cpus = 2001");
    run_until(*state, 1);
    assert_true(is_member(GOOD));
    assert_false(service_was_told(*state, "start"));
}

static void stored_configuration_replaces_that_of_the_settings(void **state)
{
    test_sql("INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config)"
             " VALUES ('default', 'another:1', 1000, 2000, 2, '{}')");
    add_member(GOOD, "is_ready = true");
    run_until(*state, 2);
    assert_false(is_member(GOOD));
    assert_int_equal(
        test_sql_count("SELECT count(*) FROM warm_sandboxes WHERE image = 'another:1'"), 2);
}

/* --- claims --- */

static int fill(void *context, const struct warm_sandbox *member, struct runtime *runtime_out,
                struct error *err)
{
    (void)context;
    (void)member;
    (void)runtime_out;
    return error_set(err, ERROR_CONFLICT, "it was offered");
}

static enum error_code claim(struct service_fixture *fixture, const struct start_spec *spec)
{
    const struct warm_taker taker = {.fill = fill};
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(warm_pool_claim(&fixture->service, spec, &taker, &runtime, &err), -1);
    return err.code;
}

static void claim_is_offered_only_what_is_the_same(void **state)
{
    static const char *const other[] = {"fittings = 'action-1'", "image = 'another:1'",
                                        "memory_bytes = 999", "nano_cpus = 1999",
                                        "is_ready = false"};
    struct start_spec spec = {
        .image = (char *)(uintptr_t)TEST_IMAGE, .memory_bytes = 1000, .nano_cpus = 2000};

    for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
        add_member(OTHER, other[i]);
        assert_int_equal(claim(*state, &spec), ERROR_NOT_FOUND);
        test_sql("DELETE FROM warm_sandboxes");
    }
    add_member(GOOD, "is_ready = true");
    assert_int_equal(claim(*state, &spec), ERROR_CONFLICT);
    assert_true(is_member(GOOD));
}

#define RESOLVED_BUILD TEST_BUILD " 192.0.2.53"

/* Under network rules, a member must have been started with deft's name server. */
static void claim_needs_the_same_name_server(void **state)
{
    struct service_fixture *fixture = *state;
    const struct start_spec spec = {
        .image = (char *)(uintptr_t)TEST_IMAGE, .memory_bytes = 1000, .nano_cpus = 2000};

    fixture->settings.has_network_rules = 1;
    add_member(OTHER, "is_ready = true");
    assert_int_equal(claim(fixture, &spec), ERROR_NOT_FOUND);
    test_sql("UPDATE warm_sandboxes SET fittings = '" RESOLVED_BUILD "'");
    assert_int_equal(claim(fixture, &spec), ERROR_CONFLICT);
    fixture->settings.has_network_rules = 0;
    assert_int_equal(claim(fixture, &spec), ERROR_NOT_FOUND);
}

static void assert_claims_counted(struct service_fixture *fixture, const char *lines)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct tenant_count_list none = {.items = NULL};

    metrics_append(fixture->service.metrics, &none, &fixture->backend.space, &text);
    assert_non_null(strstr(text.text, lines));
}

#define MISSES "# TYPE deft_warm_miss_total counter\n"
#define MISSED(reason, n) "deft_warm_miss_total{reason=\"" reason "\"} " n "\n"

/* A miss of a class that the pool keeps is one that a larger pool would have avoided. */
static void miss_is_counted_by_its_reason(void **state)
{
    struct service_fixture *fixture = *state;
    struct start_spec spec = {
        .image = (char *)(uintptr_t)TEST_IMAGE, .memory_bytes = 1000, .nano_cpus = 2000};

    assert_int_equal(claim(fixture, &spec), ERROR_NOT_FOUND);
    assert_claims_counted(fixture, MISSES MISSED("none_ready", "1") MISSED("class", "0"));
    spec.image = (char *)(uintptr_t)"another:1";
    assert_int_equal(claim(fixture, &spec), ERROR_NOT_FOUND);
    assert_claims_counted(fixture, MISSES MISSED("none_ready", "1") MISSED("class", "1"));
    /* That one was offered, and refused. */
    spec.image = (char *)(uintptr_t)TEST_IMAGE;
    add_member(GOOD, "is_ready = true");
    assert_int_equal(claim(fixture, &spec), ERROR_CONFLICT);
    assert_claims_counted(fixture, MISSES MISSED("none_ready", "1") MISSED("class", "1"));
    assert_claims_counted(fixture, "\ndeft_warm_hit_total 0\n");
}

/* --- the engine's side --- */

static void reconcile(struct service_fixture *fixture, const char *id, enum seen_state seen)
{
    CLEANUP(warm_list_done) struct warm_list members = {.items = NULL};
    struct seen_sandbox container = {.state = seen};
    const struct seen_list list = {&container, seen != SEEN_N_STATES};
    struct error err = ERROR_INIT;

    memcpy(container.runtime_id, id, 17);
    assert_int_equal(warm_store_list(fixture->service.db, &members, &err), 0);
    warm_pool_reconcile(&fixture->service, &members, &list);
}

static void member_without_a_running_container_is_removed(void **state)
{
    static const enum seen_state gone[] = {SEEN_CREATED, SEEN_PAUSED, SEEN_ENDED, SEEN_N_STATES};

    for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
        add_member(OTHER, "is_ready = true");
        reconcile(*state, OTHER, SEEN_RUNNING);
        assert_true(is_member(OTHER));
        reconcile(*state, OTHER, gone[i]);
        assert_false(is_member(OTHER));
    }
    add_member(OTHER, "is_ready = false");
    reconcile(*state, OTHER, SEEN_ENDED);
    assert_true(is_member(OTHER));
}

static void member_whose_image_has_changed_is_removed_once_that_is_known(void **state)
{
    struct service_fixture *fixture = *state;

    add_member(OTHER, "image_id = 'sha256:0'");
    fixture->backend.find_error = ERROR_UNAVAILABLE;
    reconcile(fixture, OTHER, SEEN_RUNNING);
    assert_true(is_member(OTHER));
    fixture->backend.find_error = ERROR_NONE;
    reconcile(fixture, OTHER, SEEN_RUNNING);
    assert_false(is_member(OTHER));
}

static void end_of_another_container_removes_no_member(void **state)
{
    struct service_fixture *fixture = *state;

    add_member(GOOD, "is_ready = true");
    warm_pool_lose(&fixture->service, GOOD, "c-before");
    assert_true(is_member(GOOD));
    assert_true(warm_pool_has(&fixture->service, GOOD));
    warm_pool_lose(&fixture->service, GOOD, "c-" GOOD);
    assert_false(is_member(GOOD));
    assert_false(warm_pool_has(&fixture->service, GOOD));
}

/* A home is removed after the container that uses it. */
static void home_of_a_container_that_stays_is_kept(void **state)
{
    struct service_fixture *fixture = *state;

    add_member(GOOD, "is_ready = true");
    fixture->backend.remove_error = ERROR_UNAVAILABLE;
    warm_pool_lose(&fixture->service, GOOD, "c-" GOOD);
    assert_false(is_member(GOOD));
    assert_told(fixture, "remove " GOOD ";");
    fixture->backend.remove_error = ERROR_NONE;
    add_member(GOOD, "is_ready = true");
    warm_pool_lose(&fixture->service, GOOD, "c-" GOOD);
    assert_told(fixture, "remove " GOOD ";remove_home h-" GOOD ";");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, service_set_up, service_tear_down)

/* It could not be claimed, and nothing would know of its container. */
static void member_that_cannot_be_stored_is_removed(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    test_sql("CREATE FUNCTION test_refuse() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN RAISE ''as the test wants it''; END';"
             "CREATE TRIGGER test_refuse BEFORE UPDATE ON warm_sandboxes FOR EACH ROW"
             " EXECUTE FUNCTION test_refuse()");
    assert_int_equal(pthread_create(&thread, NULL, run_pool, &fixture->service), 0);
    service_await_told(fixture, "remove_home h-new;");
    /* The next attempt is not made at once, even if a claim asks for it. */
    for (int i = 0; i < N_LOOKS; i++) {
        warm_pool_wake(fixture->service.pool);
        assert_int_equal(test_sql_count("SELECT count(*) FROM warm_sandboxes"), 0);
    }
    warm_pool_stop(fixture->service.pool);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(service_was_told(fixture, "keep_home h-new;start " TEST_IMAGE ";remove "));
    assert_false(service_was_told(fixture, "keep_network"));
    assert_false(service_was_told(fixture, "remove_home h-new;keep_home h-new;"));
}

static int tear_down_refusing(void **state)
{
    test_sql("DROP FUNCTION IF EXISTS test_refuse CASCADE");
    return service_tear_down(state);
}

int warm_pool_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pool_is_filled_to_its_least_size),
        TEST(fitting_member_stays),
        TEST(member_of_another_build_is_replaced),
        TEST(member_whose_start_was_cut_off_is_replaced),
        TEST(members_that_are_not_wanted_are_removed),
        TEST(stored_configuration_replaces_that_of_the_settings),
        TEST(claim_is_offered_only_what_is_the_same),
        TEST(claim_needs_the_same_name_server),
        TEST(miss_is_counted_by_its_reason),
        TEST(member_without_a_running_container_is_removed),
        TEST(member_whose_image_has_changed_is_removed_once_that_is_known),
        TEST(end_of_another_container_removes_no_member),
        TEST(home_of_a_container_that_stays_is_kept),
        cmocka_unit_test_setup_teardown(member_that_cannot_be_stored_is_removed, service_set_up,
                                        tear_down_refusing),
    };

    return cmocka_run_group_tests_name("runtime/warm_pool", tests, NULL, NULL);
}
