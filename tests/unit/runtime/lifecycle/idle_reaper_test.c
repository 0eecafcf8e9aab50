/*
 * Which sandboxes are paused, ended and deleted for lack of use.
 */
#include "runtime/lifecycle/idle_reaper.h"

#include "runtime/core/runtime_lock.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

#define ONE "aaaaaaaaaaaaaaaa"
#define TWO "bbbbbbbbbbbbbbbb"
#define IS_PAUSED "status = 'paused' AND desired = 'paused'"
#define RUNS "status = 'running' AND desired = 'running'"
#define IS_JUST_USED "last_used_at > now() - interval '30 seconds'"

static void check(struct service_fixture *fixture)
{
    struct error err = ERROR_INIT;

    if (idle_reaper_check(&fixture->service, &err) < 0)
        fail_msg("%s", err.message);
}

static void add_unused(const struct service_fixture *fixture, const char *id, const char *age)
{
    service_add_runtime(fixture, &(struct test_runtime){.id = id, .unused_age = age});
}

static void unused_sandbox_is_paused_after_the_limit_and_not_before(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.idle_s = 120;
    add_unused(fixture, ONE, "150 seconds");
    add_unused(fixture, TWO, "90 seconds");
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, IS_PAUSED));
    assert_true(service_was_told(fixture, "pause c-" ONE ";"));
    assert_true(service_row_is("runtimes", TWO, RUNS));
    assert_false(service_was_told(fixture, "c-" TWO));
}

static void limit_of_zero_pauses_nothing(void **state)
{
    struct service_fixture *fixture = *state;

    add_unused(fixture, ONE, "1 year");
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, RUNS));
}

/* A build counts as use, even without a client. */
static void sandbox_with_programs_goes_on_and_counts_as_used(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.idle_s = 120;
    fixture->backend.is_at_rest = false;
    add_unused(fixture, ONE, "150 seconds");
    check(fixture);
    assert_true(service_was_told(fixture, "look c-" ONE ";"));
    assert_true(service_row_is("runtimes", ONE, RUNS " AND " IS_JUST_USED));
    assert_false(service_was_told(fixture, "pause"));
}

static void sandbox_of_which_nothing_is_known_is_left(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.idle_s = 120;
    fixture->backend.rest_error = ERROR_UNAVAILABLE;
    add_unused(fixture, ONE, "150 seconds");
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, RUNS " AND NOT " IS_JUST_USED));
    assert_false(service_was_told(fixture, "pause"));
}

static void sandbox_that_a_thread_changes_is_left(void **state)
{
    struct service_fixture *fixture = *state;
    struct runtime_lock held = runtime_lock_take(fixture->service.locks, ONE);

    fixture->settings.idle_s = 120;
    add_unused(fixture, ONE, "150 seconds");
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, RUNS));
    runtime_lock_release(&held);
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, IS_PAUSED));
}

/* Also one with programs: but not between two commands. */
static void long_session_ends_once_it_is_unused_for_a_minute(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.max_session_s = 3600;
    fixture->backend.is_at_rest = false;
    service_add_runtime(
        fixture,
        &(struct test_runtime){.id = ONE, .since_age = "2 hours", .unused_age = "90 seconds"});
    service_add_runtime(
        fixture,
        &(struct test_runtime){.id = TWO, .since_age = "2 hours", .unused_age = "20 seconds"});
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, IS_PAUSED));
    assert_true(service_row_is("runtimes", TWO, RUNS));
}

static void paused_sandbox_loses_its_programs_after_the_limit(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.stop_after_ms = 60000;
    service_add_runtime(fixture,
                        &(struct test_runtime){ONE, "paused", "paused", "2 minutes", "2 minutes"});
    service_add_runtime(fixture,
                        &(struct test_runtime){TWO, "paused", "paused", "10 seconds", "2 minutes"});
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, IS_PAUSED " AND container_id IS NULL"));
    assert_true(service_was_told(fixture, "remove " ONE ";"));
    assert_true(service_row_is("runtimes", TWO, IS_PAUSED " AND container_id = 'c-" TWO "'"));
}

/* A paused one that is wanted again has its programs back at once: they are still there. */
static void paused_sandbox_that_is_wanted_keeps_its_programs(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.stop_after_ms = 60000;
    service_add_runtime(fixture,
                        &(struct test_runtime){ONE, "paused", "running", "2 minutes", "2 minutes"});
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, "container_id IS NOT NULL"));
    assert_false(service_was_told(fixture, "remove"));
}

static void files_are_deleted_after_the_last_limit_unless_they_are_wanted(void **state)
{
    static const struct test_runtime kept[] = {
        {"cccccccccccccccc", "stopped", "running", "2 hours", "2 hours"},
        {"dddddddddddddddd", "stopped", "stopped", "10 minutes", "2 hours"},
        {"eeeeeeeeeeeeeeee", "running", "running", "2 hours", "2 hours"},
    };
    static const struct test_runtime gone[] = {
        {ONE, "stopped", "stopped", "2 hours", "2 hours"},
        {TWO, "error", "running", "2 hours", "2 hours"},
        {"ffffffffffffffff", "paused", "paused", "2 hours", "2 hours"},
    };
    struct service_fixture *fixture = *state;

    fixture->settings.dead_s = 3600;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        service_add_runtime(fixture, &kept[i]);
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        service_add_runtime(fixture, &gone[i]);
    check(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        assert_true(service_row_is("runtimes", kept[i].id, "true"));
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        assert_false(service_row_is("runtimes", gone[i].id, "true"));
    assert_true(service_was_told(fixture, "remove_home h-" ONE ";"));
    assert_false(service_was_told(fixture, "remove_home h-cccc"));
}

static void full_disk_makes_the_limits_short(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.idle_s = 3600;
    fixture->settings.free_bytes = 1000;
    fixture->backend.space.free_bytes = 1000;
    add_unused(fixture, ONE, "90 seconds");
    service_add_runtime(fixture,
                        &(struct test_runtime){TWO, "paused", "paused", "1 second", "1 second"});
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, RUNS));
    assert_true(service_row_is("runtimes", TWO, "container_id IS NOT NULL"));
    fixture->backend.space.free_bytes = 999;
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, IS_PAUSED));
    assert_true(service_row_is("runtimes", TWO, "container_id IS NULL"));
}

/* Also where sandboxes are otherwise never paused. */
static void full_disk_gives_a_limit_where_there_was_none(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.free_bytes = 1000;
    fixture->backend.space.free_bytes = 999;
    add_unused(fixture, ONE, "90 seconds");
    add_unused(fixture, TWO, "30 seconds");
    check(fixture);
    assert_true(service_row_is("runtimes", ONE, IS_PAUSED));
    assert_true(service_row_is("runtimes", TWO, RUNS));
}

static void looks_are_a_tenth_of_the_shortest_limit_apart(void **state)
{
    static const struct {
        int64_t idle_s;
        int64_t stop_after_ms;
        int64_t interval_ms;
    } cases[] = {
        {0, 0, 30000}, {3600, 0, 30000}, {100, 0, 10000}, {100, 20000, 2000}, {1, 0, 500},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fixture->settings.idle_s = cases[i].idle_s;
        fixture->settings.stop_after_ms = cases[i].stop_after_ms;
        assert_int_equal(idle_reaper_interval_ms(&fixture->service), cases[i].interval_ms);
    }
    fixture->service.is_disk_low = true;
    assert_int_equal(idle_reaper_interval_ms(&fixture->service), 500);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, service_set_up, service_tear_down)

int idle_reaper_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unused_sandbox_is_paused_after_the_limit_and_not_before),
        TEST(limit_of_zero_pauses_nothing),
        TEST(sandbox_with_programs_goes_on_and_counts_as_used),
        TEST(sandbox_of_which_nothing_is_known_is_left),
        TEST(sandbox_that_a_thread_changes_is_left),
        TEST(long_session_ends_once_it_is_unused_for_a_minute),
        TEST(paused_sandbox_loses_its_programs_after_the_limit),
        TEST(paused_sandbox_that_is_wanted_keeps_its_programs),
        TEST(files_are_deleted_after_the_last_limit_unless_they_are_wanted),
        TEST(full_disk_makes_the_limits_short),
        TEST(full_disk_gives_a_limit_where_there_was_none),
        TEST(looks_are_a_tenth_of_the_shortest_limit_apart),
    };

    return cmocka_run_group_tests_name("runtime/idle_reaper", tests, NULL, NULL);
}
