/*
 * Rows against containers, events of the back end, and what belongs to no row.
 */
#include "runtime/lifecycle/reconcile.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "runtime/core/runtime_lock.h"
#include "runtime/core/start_queue.h"
#include "runtime/lifecycle/reconcile_queue.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

enum { FAR_MS = 1000000000 };

#define ONE "aaaaaaaaaaaaaaaa"
#define TWO "bbbbbbbbbbbbbbbb"
#define END "refill ;"

static void *run(void *context)
{
    reconcile_run(context);
    return NULL;
}

/* Runs the reconciler once with these tasks and events; the back end is told to refill at the end.
 */
static void settle(struct service_fixture *fixture, unsigned what,
                   const struct backend_event *events, size_t n)
{
    struct service *service = &fixture->service;
    pthread_t thread = 0;

    service_forget_told(fixture);
    reconcile_queue_free(service->reconcile_queue);
    service->reconcile_queue = reconcile_queue_new();
    for (size_t i = 0; i < n; i++)
        reconcile_queue_add_event(service->reconcile_queue, &events[i]);
    reconcile_queue_add(service->reconcile_queue, what | RECONCILE_REFILL);
    assert_int_equal(pthread_create(&thread, NULL, run, service), 0);
    service_await_told(fixture, END);
    reconcile_queue_stop(service->reconcile_queue);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int set_up(void **state)
{
    struct service_fixture *fixture = NULL;

    if (service_set_up(state) < 0)
        return -1;
    fixture = *state;
    fixture->settings.reconcile_ms = FAR_MS;
    fixture->settings.orphan_grace_ms = 60000;
    fixture->settings.renew_after_ms = 60000;
    return 0;
}

static bool row_is(const char *condition)
{
    return service_row_is("runtimes", ONE, condition);
}

static void add_one(struct service_fixture *fixture, const char *status, const char *desired)
{
    service_add_runtime(fixture,
                        &(struct test_runtime){.id = ONE, .status = status, .desired = desired});
}

static void take(struct service_fixture *fixture, enum backend_event_kind kind,
                 const char *container_id)
{
    struct backend_event event = {.kind = kind, .runtime_id = ONE};

    memcpy(event.container_id, container_id, strlen(container_id));
    settle(fixture, 0, &event, 1);
}

/* --- events --- */

static void end_of_a_container_is_explained(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "running");
    take(fixture, BACKEND_EVENT_ENDED, "c-" ONE);
    assert_told(fixture, "explain c-" ONE ";remove " ONE ";" END);
    assert_true(row_is("status = 'error' AND status_detail = 'it ended' AND container_id IS NULL"));
}

static void end_of_another_container_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "running");
    take(fixture, BACKEND_EVENT_ENDED, "c-before");
    assert_told(fixture, "explain c-before;" END);
    assert_true(row_is("status = 'running' AND container_id = 'c-" ONE "'"));
}

static void member_of_the_pool_ends(void **state)
{
    struct service_fixture *fixture = *state;

    test_sql("INSERT INTO warm_sandboxes (id, image, memory_bytes, nano_cpus, fittings, home,"
             " container_id, network, url, init_key, is_ready) VALUES ('" ONE "', 'i', 1, 1, 'b',"
             " 'h-1', 'c-" ONE "', 'n-1', 'http://x', 'sealed', true)");
    take(fixture, BACKEND_EVENT_ENDED, "c-before");
    assert_true(service_row_is("warm_sandboxes", ONE, "true"));
    take(fixture, BACKEND_EVENT_ENDED, "c-" ONE);
    assert_false(service_row_is("warm_sandboxes", ONE, "true"));
}

/* The engine reports both, and its reason for the end is no help. */
static void sandbox_that_ends_after_it_ran_out_of_memory_says_so(void **state)
{
    struct service_fixture *fixture = *state;
    struct backend_event events[9] = {{.kind = BACKEND_EVENT_OUT_OF_MEMORY}};

    add_one(fixture, "running", "running");
    take(fixture, BACKEND_EVENT_OUT_OF_MEMORY, "c-" ONE);
    assert_true(row_is("status = 'running' AND status_detail ="
                       " 'a program in the sandbox ran out of memory and was ended'"));
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        events[i].kind = BACKEND_EVENT_OUT_OF_MEMORY;
        memcpy(events[i].runtime_id, TWO, sizeof(TWO));
        memcpy(events[i].container_id, "c-x", sizeof("c-x"));
    }
    /* Eight are remembered. */
    memcpy(events[0].container_id, "c-" ONE, sizeof("c-" ONE));
    memcpy(events[0].runtime_id, ONE, sizeof(ONE));
    events[8].kind = BACKEND_EVENT_ENDED;
    memcpy(events[8].container_id, "c-" ONE, sizeof("c-" ONE));
    memcpy(events[8].runtime_id, ONE, sizeof(ONE));
    settle(fixture, 0, events, ARRAY_SIZE(events));
    assert_told(fixture, "remove " ONE ";" END);
    assert_true(row_is("status = 'error' AND status_detail ="
                       " 'the sandbox ran out of memory and was ended'"));
}

/* The ninth container that runs out of memory takes the place of the first. */
static void old_memory_event_is_no_reason(void **state)
{
    struct service_fixture *fixture = *state;
    struct backend_event events[10] = {{.kind = BACKEND_EVENT_ENDED}};

    add_one(fixture, "running", "running");
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        bool is_one = i == 0 || i == 9;

        events[i].kind = i < 9 ? BACKEND_EVENT_OUT_OF_MEMORY : BACKEND_EVENT_ENDED;
        memcpy(events[i].runtime_id, is_one ? ONE : TWO, sizeof(ONE));
        memcpy(events[i].container_id, is_one ? "c-" ONE : "c-" TWO, sizeof("c-" ONE));
    }
    settle(fixture, 0, events, ARRAY_SIZE(events));
    assert_true(row_is("status_detail = 'it ended'"));
}

static void memory_of_another_container_is_no_reason(void **state)
{
    struct service_fixture *fixture = *state;
    struct backend_event events[] = {
        {.kind = BACKEND_EVENT_OUT_OF_MEMORY, .runtime_id = TWO, .container_id = "c-" TWO},
        {.kind = BACKEND_EVENT_ENDED, .runtime_id = ONE, .container_id = "c-" ONE},
    };

    add_one(fixture, "running", "running");
    settle(fixture, 0, events, ARRAY_SIZE(events));
    assert_true(row_is("status_detail = 'it ended'"));
}

static void pause_of_one_that_is_to_rest_is_not_noted(void **state)
{
    static const char *const rows[][2] = {{"running", "paused"}, {"running", "stopped"}};
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "running");
    fixture->backend.is_paused = true;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        strbuf_appendf(&sql, "UPDATE runtimes SET status = '%s', desired = '%s'", rows[i][0],
                       rows[i][1]);
        test_sql(sql.text);
        take(fixture, BACKEND_EVENT_PAUSED, "c-" ONE);
        assert_null(strstr(fixture->backend.told.text, "is_paused"));
        assert_true(row_is("status_detail IS NULL"));
        service_forget_told(fixture);
    }
}

static void pause_from_outside_is_noted(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "running");
    take(fixture, BACKEND_EVENT_PAUSED, "c-" ONE);
    assert_told(fixture, "is_paused c-" ONE ";" END);
    assert_true(row_is("status_detail IS NULL")); /* it was ours, and is undone already */
    fixture->backend.is_paused = true;
    take(fixture, BACKEND_EVENT_PAUSED, "c-" ONE);
    assert_true(row_is("status = 'running' AND status_detail ="
                       " 'the sandbox''s container was paused from outside'"));
    take(fixture, BACKEND_EVENT_UNPAUSED, "c-" ONE);
    assert_true(row_is("status = 'running' AND status_detail IS NULL"));
}

static void own_pauses_are_no_news(void **state)
{
    static const char *const rows[] = {"status = 'paused', desired = 'paused'",
                                       "status = 'paused', desired = 'running'"};
    struct service_fixture *fixture = *state;

    fixture->backend.is_paused = true;
    take(fixture, BACKEND_EVENT_PAUSED, "c-" ONE); /* there is no such row */
    assert_told(fixture, END);
    add_one(fixture, "paused", "paused");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        strbuf_appendf(&sql, "UPDATE runtimes SET %s", rows[i]);
        test_sql(sql.text);
        take(fixture, BACKEND_EVENT_PAUSED, "c-" ONE);
        assert_told(fixture, END);
        assert_true(row_is("status_detail IS NULL"));
    }
}

/* --- rows against containers --- */

enum { UNSEEN = SEEN_N_STATES };

struct settle_case {
    const char *status;
    const char *desired;
    int seen; /* enum seen_state, or UNSEEN */
    const char *told;
    const char *row;
};

static void containers_are_brought_to_their_rows(void **state)
{
    static const struct settle_case cases[] = {
        {"running", "running", SEEN_RUNNING, "", "status = 'running'"},
        {"running", "running", SEEN_PAUSED, "", "status = 'running'"},
        {"running", "running", SEEN_ENDED, "explain c-" ONE ";remove " ONE ";",
         "status = 'error' AND status_detail = 'it ended'"},
        {"running", "running", UNSEEN, "explain c-" ONE ";remove " ONE ";",
         "status = 'error' AND status_detail = 'it ended'"},
        {"running", "paused", SEEN_RUNNING, "pause c-" ONE ";", "status = 'paused'"},
        {"running", "stopped", SEEN_RUNNING, "remove " ONE ";", "status = 'stopped'"},
        {"paused", "paused", SEEN_PAUSED, "", "status = 'paused'"},
        {"paused", "paused", SEEN_RUNNING, "pause c-" ONE ";", "status = 'paused'"},
        {"paused", "paused", UNSEEN, "remove " ONE ";",
         "status = 'paused' AND container_id IS NULL"},
        {"stopped", "stopped", SEEN_RUNNING, "remove " ONE ";", "status = 'stopped'"},
        {"stopped", "stopped", UNSEEN, "", "status = 'stopped'"},
        {"error", "running", SEEN_ENDED, "remove " ONE ";", "status = 'error'"},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf told = STRBUF_INIT;

        test_sql("DELETE FROM runtimes");
        fixture->backend.n_seen = 0;
        add_one(fixture, cases[i].status, cases[i].desired);
        if (cases[i].seen != UNSEEN)
            service_see(fixture, ONE, (enum seen_state)cases[i].seen)->created_at_s =
                clock_utc_us() / 1000000;
        settle(fixture, RECONCILE_ALL, NULL, 0);
        lock_take(&fixture->backend.lock);
        strbuf_append(&told, fixture->backend.told.text);
        lock_release(&fixture->backend.lock);
        if (strncmp(told.text, cases[i].told, strlen(cases[i].told)) != 0 ||
            strstr(told.text, "tidied ;" END) == NULL || !row_is(cases[i].row))
            fail_msg("%zu: %s", i, told.text);
        if (cases[i].told[0] == '\0')
            assert_int_equal(strncmp(told.text, "kept_", 5), 0);
    }
}

static void rows_are_carried_out_between_the_lists(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "stopped");
    service_add_runtime(fixture, &(struct test_runtime){.id = TWO});
    settle(fixture, RECONCILE_DESIRED, NULL, 0);
    assert_told(fixture, "remove " ONE ";" END); /* nobody is lost, and nothing is swept */
    test_sql("UPDATE runtimes SET status = 'starting', desired = 'running'");
    settle(fixture, RECONCILE_DESIRED, NULL, 0);
    assert_true(start_queue_has(fixture->service.starts, ONE));
    assert_true(start_queue_has(fixture->service.starts, TWO));
    assert_told(fixture, END);
}

static void deleted_row_goes_with_its_files(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "deleted");
    settle(fixture, RECONCILE_DESIRED, NULL, 0);
    assert_told(fixture, "remove " ONE ";remove_home h-" ONE ";" END);
    assert_false(row_is("true"));
}

static void sandbox_that_is_being_changed_is_left_alone(void **state)
{
    struct service_fixture *fixture = *state;
    struct runtime_lock held = {.locks = NULL};

    add_one(fixture, "running", "stopped");
    held = runtime_lock_take(fixture->service.locks, ONE);
    settle(fixture, RECONCILE_DESIRED, NULL, 0);
    runtime_lock_release(&held);
    assert_told(fixture, END);
    assert_true(row_is("status = 'running'"));
}

/* Without a list nobody knows what is lost. */
static void nothing_is_lost_while_the_list_is_unknown(void **state)
{
    struct service_fixture *fixture = *state;

    add_one(fixture, "running", "running");
    fixture->backend.list_error = ERROR_UNAVAILABLE;
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_told(fixture, END);
    assert_true(row_is("status = 'running'"));
}

/* --- what belongs to no row --- */

static void orphans_are_removed_after_a_while(void **state)
{
    struct service_fixture *fixture = *state;
    int64_t now_s = clock_utc_us() / 1000000;

    test_sql("INSERT INTO warm_sandboxes (id, image, memory_bytes, nano_cpus, fittings, home,"
             " container_id, network, url, init_key, is_ready) VALUES ('" TWO "', 'i', 1, 1, 'b',"
             " 'h-w', 'c-" TWO "', 'n-w', 'http://x', 'sealed', true)");
    add_one(fixture, "running", "running");
    service_see(fixture, ONE, SEEN_RUNNING)->created_at_s = now_s - 1000;
    service_see(fixture, TWO, SEEN_RUNNING)->created_at_s = now_s - 1000;
    service_see(fixture, "cccccccccccccccc", SEEN_ENDED)->created_at_s = now_s - 1000;
    service_see(fixture, "dddddddddddddddd", SEEN_RUNNING)->created_at_s = now_s;
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_told(fixture, "remove_container c-cccccccccccccccc;"
                         "kept_network n-w;kept_network n-" ONE ";kept_home h-w;kept_home h-" ONE
                         ";tidied ;" END);
}

static void helper_left_by_a_crash_is_removed(void **state)
{
    struct service_fixture *fixture = *state;

    service_see(fixture, "", SEEN_CREATED)->created_at_s = 0;
    fixture->backend.remove_error = ERROR_UNAVAILABLE;
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_told(fixture, "remove_container c-;tidied ;" END);
}

/* --- renewal --- */

static void idle_sandbox_of_an_older_build_is_renewed(void **state)
{
    struct service_fixture *fixture = *state;
    struct seen_sandbox *seen = NULL;

    fixture->backend.start_error = ERROR_INVALID;
    service_add_runtime(fixture, &(struct test_runtime){.id = ONE, .unused_age = "2 minutes"});
    seen = service_see(fixture, ONE, SEEN_RUNNING);
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_false(service_was_told(fixture, "remove"));
    seen->is_outdated = true;
    fixture->backend.is_at_rest = false;
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_true(service_was_told(fixture, "look c-" ONE ";"));
    assert_false(service_was_told(fixture, "remove"));
    fixture->backend.is_at_rest = true;
    test_sql("UPDATE runtimes SET last_used_at = now()");
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_false(service_was_told(fixture, "look"));
    test_sql("UPDATE runtimes SET last_used_at = now() - interval '2 minutes'");
    settle(fixture, RECONCILE_ALL, NULL, 0);
    assert_true(service_was_told(fixture, "look c-" ONE ";remove " ONE ";start " TEST_IMAGE ";"));
    assert_true(row_is("status = 'error'"));
}

static void unused_sandbox_is_paused_when_its_turn_comes(void **state)
{
    struct service_fixture *fixture = *state;

    fixture->settings.idle_s = 120;
    service_add_runtime(fixture, &(struct test_runtime){.id = ONE, .unused_age = "150 seconds"});
    settle(fixture, RECONCILE_IDLE, NULL, 0);
    assert_told(fixture, "look c-" ONE ";pause c-" ONE ";" END);
    assert_true(row_is("status = 'paused' AND desired = 'paused'"));
}

/* --- the loop --- */

static pthread_t begin(struct service_fixture *fixture, unsigned what)
{
    pthread_t thread = 0;

    reconcile_queue_add(fixture->service.reconcile_queue, what);
    assert_int_equal(pthread_create(&thread, NULL, run, &fixture->service), 0);
    return thread;
}

static void end(struct service_fixture *fixture, pthread_t thread)
{
    reconcile_queue_stop(fixture->service.reconcile_queue);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void refill_goes_on_until_it_is_full(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    fixture->backend.is_full = false;
    thread = begin(fixture, RECONCILE_REFILL);
    service_await_told(fixture, END END);
    end(fixture, thread);
    assert_told(fixture, END END);
}

static void everything_is_checked_again_after_the_interval(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    fixture->settings.reconcile_ms = 1;
    add_one(fixture, "running", "running");
    service_see(fixture, ONE, SEEN_RUNNING);
    thread = begin(fixture, 0);
    service_await_told(fixture, "kept_home h-" ONE ";tidied ;" END "kept_network");
    end(fixture, thread);
}

/* As nothing is known of its programs, each look asks for them. */
static void idle_sandboxes_are_looked_at_once_in_an_interval(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    fixture->settings.idle_s = 1200;
    fixture->backend.rest_error = ERROR_UNAVAILABLE;
    fixture->backend.is_full = false;
    service_add_runtime(fixture, &(struct test_runtime){.id = ONE, .unused_age = "1 hour"});
    thread = begin(fixture, RECONCILE_REFILL);
    service_await_told(fixture, END END);
    end(fixture, thread);
    assert_told(fixture, "look c-" ONE ";" END END);
}

/* Each tick tries again to remove the row's container, which shows the ticks. */
static void refill_for_later_is_made_once_with_the_next_tick(void **state)
{
    struct service_fixture *fixture = *state;
    pthread_t thread = 0;

    fixture->backend.remove_error = ERROR_UNAVAILABLE;
    add_one(fixture, "running", "deleted");
    thread = begin(fixture, RECONCILE_REFILL_LATER);
    service_await_told(fixture, "remove " ONE ";remove " ONE ";" END "remove " ONE ";");
    end(fixture, thread);
    assert_told(fixture, "remove " ONE ";remove " ONE ";" END "remove " ONE ";");
}

/* It says when it is there again; until then its containers only seem to be gone. */
static void nothing_is_settled_without_the_back_end(void **state)
{
    struct service_fixture *fixture = *state;
    struct backend_event event = {.kind = BACKEND_EVENT_ENDED, .runtime_id = TWO};
    pthread_t thread = 0;

    fixture->backend.check_error = ERROR_UNAVAILABLE;
    fixture->settings.idle_s = 1;
    memcpy(event.container_id, "c-x", sizeof("c-x"));
    service_add_runtime(fixture, &(struct test_runtime){.id = ONE, .unused_age = "1 hour"});
    thread = begin(fixture, RECONCILE_ALL | RECONCILE_IDLE | RECONCILE_REFILL);
    for (int i = 0; i < 2; i++) { /* the second one comes when the first turn is over */
        service_forget_told(fixture);
        reconcile_queue_add_event(fixture->service.reconcile_queue, &event);
        service_await_told(fixture, "explain c-x;");
    }
    end(fixture, thread);
    assert_told(fixture, "explain c-x;");
    assert_true(row_is("status = 'running' AND desired = 'running'"));
}

/* A check of everything makes up for events that do not fit. */
static void events_that_do_not_fit_become_a_check(void **state)
{
    struct service_fixture *fixture = *state;
    struct reconcile_queue *queue = fixture->service.reconcile_queue;
    struct backend_event *events = mem_alloc_array(RECONCILE_QUEUE_NEWS_MAX, sizeof(*events));
    struct backend_event event = {.kind = BACKEND_EVENT_ENDED};
    size_t n = 1;

    assert_int_equal(reconcile_queue_take(queue, 0, events, &n), 0);
    assert_int_equal(n, 0);
    for (int i = 0; i < RECONCILE_QUEUE_NEWS_MAX; i++) {
        event.exit_code = i;
        reconcile_queue_add_event(queue, &event);
    }
    assert_int_equal(reconcile_queue_take(queue, 0, events, &n), 0);
    assert_int_equal(n, RECONCILE_QUEUE_NEWS_MAX);
    assert_int_equal(events[0].exit_code, 0);
    assert_int_equal(events[n - 1].exit_code, n - 1);
    for (int i = 0; i <= RECONCILE_QUEUE_NEWS_MAX; i++)
        reconcile_queue_add_event(queue, &event);
    reconcile_queue_add(queue, RECONCILE_IDLE);
    assert_int_equal(reconcile_queue_take(queue, 0, events, &n), RECONCILE_ALL | RECONCILE_IDLE);
    assert_int_equal(n, RECONCILE_QUEUE_NEWS_MAX);
    assert_int_equal(reconcile_queue_take(queue, 0, events, &n), 0);
    assert_int_equal(n, 0);
    assert_false(reconcile_queue_is_stopping(queue));
    reconcile_queue_stop(queue);
    assert_true(reconcile_queue_is_stopping(queue));
    assert_int_equal(reconcile_queue_take(queue, INT64_MAX, events, &n), 0);
    reconcile_queue_free(NULL);
    mem_free(events);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, service_tear_down)

int reconcile_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(end_of_a_container_is_explained),
        TEST(end_of_another_container_changes_nothing),
        TEST(member_of_the_pool_ends),
        TEST(sandbox_that_ends_after_it_ran_out_of_memory_says_so),
        TEST(old_memory_event_is_no_reason),
        TEST(memory_of_another_container_is_no_reason),
        TEST(pause_from_outside_is_noted),
        TEST(pause_of_one_that_is_to_rest_is_not_noted),
        TEST(own_pauses_are_no_news),
        TEST(containers_are_brought_to_their_rows),
        TEST(rows_are_carried_out_between_the_lists),
        TEST(deleted_row_goes_with_its_files),
        TEST(sandbox_that_is_being_changed_is_left_alone),
        TEST(nothing_is_lost_while_the_list_is_unknown),
        TEST(orphans_are_removed_after_a_while),
        TEST(helper_left_by_a_crash_is_removed),
        TEST(idle_sandbox_of_an_older_build_is_renewed),
        TEST(unused_sandbox_is_paused_when_its_turn_comes),
        TEST(refill_goes_on_until_it_is_full),
        TEST(everything_is_checked_again_after_the_interval),
        TEST(idle_sandboxes_are_looked_at_once_in_an_interval),
        TEST(refill_for_later_is_made_once_with_the_next_tick),
        TEST(nothing_is_settled_without_the_back_end),
        TEST(events_that_do_not_fit_become_a_check),
    };

    return cmocka_run_group_tests_name("runtime/reconcile", tests, NULL, NULL);
}
