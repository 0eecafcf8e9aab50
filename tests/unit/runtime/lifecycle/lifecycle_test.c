/*
 * The states of a runtime's row and container, and which of the two changes first.
 */
#include "runtime/lifecycle/lifecycle.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "runtime/core/start_spec.h"
#include "runtime/lifecycle/lifecycle_create.h"
#include "store/runtime/runtime_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

#define ONE "aaaaaaaaaaaaaaaa"
#define HAS_CONTAINER "container_id = 'c-" ONE "'"

static void add(const struct service_fixture *fixture, const char *status, const char *desired)
{
    service_add_runtime(fixture,
                        &(struct test_runtime){.id = ONE, .status = status, .desired = desired});
}

static bool row_is(const char *condition)
{
    return service_row_is("runtimes", ONE, condition);
}

static enum error_code request(struct service_fixture *fixture, enum runtime_verb verb)
{
    struct error err = ERROR_INIT;

    return lifecycle_request(&fixture->service, verb, ONE, &err) < 0 ? err.code : ERROR_NONE;
}

static void pause_is_applied_only_while_it_is_wanted(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add(fixture, "running", "running");
    assert_int_equal(lifecycle_apply(&fixture->service, VERB_PAUSE, ONE, &err), 0);
    assert_true(row_is("status = 'running'"));
    assert_false(service_was_told(fixture, "pause"));
    assert_int_equal(request(fixture, VERB_PAUSE), ERROR_NONE);
    assert_true(row_is("status = 'paused' AND desired = 'paused' AND " HAS_CONTAINER));
    assert_true(service_was_told(fixture, "pause c-" ONE ";"));
}

static void sandbox_that_cannot_be_paused_is_ended(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->backend.pause_error = ERROR_UNSUPPORTED;
    add(fixture, "running", "running");
    assert_int_equal(request(fixture, VERB_PAUSE), ERROR_NONE);
    assert_true(row_is("status = 'paused' AND container_id IS NULL AND network IS NULL"));
    assert_true(service_was_told(fixture, "remove " ONE ";"));
    assert_false(service_was_told(fixture, "remove_home"));
}

/* The reconciler pauses it when the engine is back. */
static void sandbox_is_not_ended_because_the_engine_is_away(void **state)
{
    static const enum error_code away[] = {ERROR_UNAVAILABLE, ERROR_TIMEOUT};
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add(fixture, "running", "running");
    for (size_t i = 0; i < ARRAY_SIZE(away); i++) {
        fixture->backend.pause_error = away[i];
        test_sql("UPDATE runtimes SET status = 'running', desired = 'running'");
        assert_int_equal(request(fixture, VERB_PAUSE), away[i]);
        assert_true(row_is("status = 'paused' AND " HAS_CONTAINER));
    }
    assert_false(service_was_told(fixture, "remove"));
    fixture->backend.pause_error = ERROR_NONE;
    assert_int_equal(lifecycle_pause_again(&fixture->service, ONE, &err), 0);
    assert_true(row_is("status = 'paused' AND " HAS_CONTAINER));
}

static void deleted_runtime_cannot_be_asked_for_again(void **state)
{
    struct service_fixture *fixture = *state;

    add(fixture, "running", "deleted");
    for (enum runtime_verb verb = VERB_START; verb < N_VERBS; verb++) {
        if (verb != VERB_LOSE)
            assert_int_equal(request(fixture, verb), ERROR_NOT_FOUND);
    }
    assert_true(row_is("status = 'running' AND desired = 'deleted'"));
}

static void pause_of_a_stopped_runtime_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;

    add(fixture, "stopped", "stopped");
    assert_int_equal(request(fixture, VERB_PAUSE), ERROR_NONE);
    assert_true(row_is("status = 'stopped' AND desired = 'stopped'"));
}

static void stop_ends_the_container_and_keeps_the_files(void **state)
{
    struct service_fixture *fixture = *state;

    add(fixture, "running", "running");
    assert_int_equal(request(fixture, VERB_STOP), ERROR_NONE);
    assert_true(row_is("status = 'stopped' AND container_id IS NULL AND url IS NULL"));
    assert_true(service_was_told(fixture, "remove " ONE ";"));
    assert_false(service_was_told(fixture, "remove_home"));
}

static void deletion_ends_the_container_and_the_files(void **state)
{
    struct service_fixture *fixture = *state;

    add(fixture, "running", "running");
    assert_int_equal(request(fixture, VERB_DELETE), ERROR_NONE);
    assert_false(row_is("true"));
    assert_true(service_was_told(fixture, "remove " ONE ";remove_home h-" ONE ";"));
}

static void lose(struct service_fixture *fixture, const char *container_id)
{
    struct error err = ERROR_INIT;

    if (lifecycle_record_loss(&fixture->service, ONE, container_id, "it was killed", &err) < 0)
        fail_msg("%s", err.message);
}

static void loss_counts_for_the_present_container_alone(void **state)
{
    struct service_fixture *fixture = *state;

    add(fixture, "running", "running");
    lose(fixture, "c-before");
    assert_true(row_is("status = 'running' AND " HAS_CONTAINER));
    lose(fixture, "c-" ONE);
    assert_true(row_is("status = 'error' AND status_detail = 'it was killed'"
                       " AND container_id IS NULL"));
    assert_true(service_was_told(fixture, "remove " ONE ";"));
}

/* Its next use starts it again, so no action is needed. */
static void loss_of_a_paused_sandbox_is_no_error(void **state)
{
    struct service_fixture *fixture = *state;

    add(fixture, "paused", "paused");
    lose(fixture, "c-" ONE);
    assert_true(row_is("status <> 'error' AND status_detail IS NULL AND container_id IS NULL"));
}

static void detail_is_kept_for_the_present_container_while_it_runs(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add(fixture, "running", "running");
    assert_int_equal(
        lifecycle_set_detail(&fixture->service, ONE, "c-before", "out of memory", &err), 0);
    assert_true(row_is("status_detail IS NULL"));
    assert_int_equal(lifecycle_set_detail(&fixture->service, ONE, "c-" ONE, "out of memory", &err),
                     0);
    assert_true(row_is("status = 'running' AND status_detail = 'out of memory'"));
    assert_int_equal(lifecycle_set_detail(&fixture->service, ONE, "c-" ONE, NULL, &err), 0);
    assert_true(row_is("status = 'running' AND status_detail IS NULL"));
}

static void container_is_removed_only_of_a_runtime_at_rest(void **state)
{
    static const struct {
        const char *status;
        const char *desired;
        bool is_removed;
    } cases[] = {
        {"running", "running", false}, {"starting", "running", false}, {"running", "paused", false},
        {"paused", "running", false},  {"paused", "paused", true},     {"stopped", "stopped", true},
        {"error", "running", true},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;

        add(fixture, cases[i].status, cases[i].desired);
        assert_int_equal(lifecycle_remove_container(&fixture->service, ONE, &err), 0);
        if (row_is("container_id IS NULL") != cases[i].is_removed)
            fail_msg("%s, %s", cases[i].status, cases[i].desired);
        test_sql("DELETE FROM runtimes");
    }
}

/* Only its tenant wakes it: not a command on a socket, a run, or a preview. */
static void runtime_that_its_tenant_paused_is_not_started_for_others(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    struct error err = ERROR_INIT;

    add(fixture, "paused", "paused");
    test_sql("UPDATE runtimes SET is_held = true");
    spec.session_id = mem_dup_text("s-" ONE);
    spec.image = mem_dup_text(TEST_IMAGE);
    assert_int_equal(lifecycle_create(&fixture->service, &spec, &runtime, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "the sandbox is paused");
    err = (struct error)ERROR_INIT;
    assert_int_equal(lifecycle_resume(&fixture->service, ONE, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_true(row_is("status = 'paused' AND desired = 'paused' AND is_held"));
}

/* Its tenant chose the image: deft's own default is no reason to take another one. */
static void image_of_a_tenants_runtime_stays(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    add(fixture, "paused", "paused");
    strbuf_appendf(&sql,
                   "WITH k AS (INSERT INTO runtime_keys (user_id, name, key_hash)"
                   " VALUES ('%s', '" ONE "', '" ONE "') RETURNING id)"
                   " UPDATE runtimes SET tenant_id = k.id FROM k",
                   fixture->owner_id.text);
    test_sql(sql.text);
    spec.session_id = mem_dup_text("s-" ONE);
    spec.image = mem_dup_text("other:1");
    assert_int_equal(lifecycle_create(&fixture->service, &spec, &runtime, &err), 0);
    assert_string_equal(runtime.id, ONE);
    assert_told(fixture, "resume c-" ONE ";");
    assert_true(row_is("image = '" TEST_IMAGE "' AND status = 'running'"));
    test_sql("DELETE FROM runtime_keys WHERE name = '" ONE "'");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, service_set_up, service_tear_down)

int lifecycle_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pause_is_applied_only_while_it_is_wanted),
        TEST(sandbox_that_cannot_be_paused_is_ended),
        TEST(sandbox_is_not_ended_because_the_engine_is_away),
        TEST(deleted_runtime_cannot_be_asked_for_again),
        TEST(pause_of_a_stopped_runtime_changes_nothing),
        TEST(stop_ends_the_container_and_keeps_the_files),
        TEST(deletion_ends_the_container_and_the_files),
        TEST(loss_counts_for_the_present_container_alone),
        TEST(loss_of_a_paused_sandbox_is_no_error),
        TEST(detail_is_kept_for_the_present_container_while_it_runs),
        TEST(container_is_removed_only_of_a_runtime_at_rest),
        TEST(runtime_that_its_tenant_paused_is_not_started_for_others),
        TEST(image_of_a_tenants_runtime_stays),
    };

    return cmocka_run_group_tests_name("runtime/lifecycle", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    (void)argc;
    test_need_postgres(argv);
    json_setup();
    return admin_auth_tests() + api_tests() + build_api_tests() + build_queue_tests() +
           egress_service_tests() + http_front_tests() + idle_reaper_tests() + image_name_tests() +
           create_race_tests() + lifecycle_tests() + reconcile_tests() + start_tests() +
           warm_api_tests() + warm_pool_tests();
}
