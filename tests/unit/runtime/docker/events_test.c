/*
 * Following the engine: what is reported, and what happens when it goes.
 */
#include "runtime/docker/container_events.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "unit/runtime/docker/docker_fixture.h"

enum { PATIENCE_MS = 60000, LONG_LINE_BYTES = 1024 * 1024 };

/* What the back end reported: "up;", "down MESSAGE;", "KIND RUNTIME CONTAINER EXIT;". */
struct reports {
    struct docker_fixture *fixture;
    struct lock lock; /* guards all below */
    struct condition changed;
    struct strbuf text;
    bool is_checked_up;    /* sandboxes could be started when it reported to be up */
    bool was_up_when_down; /* or to be down */
};

static void note_locked(struct reports *reports, const char *text) REQUIRES(reports -> lock)
{
    strbuf_append(&reports->text, text);
    condition_wake_all(&reports->changed);
}

static void note_up(void *context)
{
    struct reports *reports = context;
    struct backend *backend = reports->fixture->backend;
    struct error err = ERROR_INIT;
    bool is_up = backend->functions->check(backend, &err) == 0;

    lock_take(&reports->lock);
    reports->is_checked_up = is_up;
    note_locked(reports, "up;");
    lock_release(&reports->lock);
}

static void note_down(void *context, const struct error *why)
{
    struct reports *reports = context;
    struct backend *backend = reports->fixture->backend;
    struct error err = ERROR_INIT;
    bool is_up = backend->functions->check(backend, &err) == 0;

    lock_take(&reports->lock);
    reports->was_up_when_down |= is_up;
    strbuf_appendf(&reports->text, "down %s;", why->message);
    note_locked(reports, "");
    lock_release(&reports->lock);
}

static void note_event(void *context, const struct backend_event *event)
{
    struct reports *reports = context;

    lock_take(&reports->lock);
    strbuf_appendf(&reports->text, "%d %s %s %lld;", (int)event->kind, event->runtime_id,
                   event->container_id, (long long)event->exit_code);
    note_locked(reports, "");
    lock_release(&reports->lock);
}

static void *follow(void *context)
{
    struct reports *reports = context;
    const struct backend_event_sink sink = {
        .context = reports, .up = note_up, .down = note_down, .event = note_event};

    reports->fixture->backend->functions->follow(reports->fixture->backend, &sink);
    return NULL;
}

static pthread_t start(struct reports *reports, struct docker_fixture *fixture)
{
    pthread_t thread = 0;

    reports->fixture = fixture;
    reports->text = (struct strbuf)STRBUF_INIT;
    lock_init(&reports->lock);
    condition_init(&reports->changed);
    fake_engine_set(fixture->engine, "GET /info", 200, "{}");
    fake_engine_set(fixture->engine, "GET /images/", 200, "{}");
    fake_engine_set(fixture->engine, "HEAD /containers/", 200, NULL);
    assert_int_equal(pthread_create(&thread, NULL, follow, reports), 0);
    return thread;
}

static void stop(struct reports *reports, pthread_t thread)
{
    reports->fixture->backend->functions->stop_following(reports->fixture->backend);
    assert_int_equal(pthread_join(thread, NULL), 0);
    strbuf_done(&reports->text);
    condition_done(&reports->changed);
    lock_done(&reports->lock);
}

static void await(struct reports *reports, const char *what)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    bool has_time = true;

    lock_take(&reports->lock);
    while (strstr(reports->text.text, what) == NULL && has_time)
        has_time = condition_wait_until(&reports->changed, &reports->lock, deadline_ms);
    if (strstr(reports->text.text, what) == NULL)
        print_error("reported: %s\n", reports->text.text);
    lock_release(&reports->lock);
    assert_true(has_time);
}

#define EVENT(action, id, runtime, more)                                                           \
    "{\"Action\":\"" action "\",\"Actor\":{\"ID\":\"" id "\",\"Attributes\":{"                     \
    "\"deft.runtime_id\":\"" runtime "\"" more "}}}\n"

static void hold_events(struct docker_fixture *fixture, const char *body)
{
    fake_engine_add(fixture->engine, &(struct engine_reply){
                                         .request = "GET /events", .body = body, .is_held = true});
}

static void events_of_containers_are_reported(void **state)
{
    struct docker_fixture *fixture = *state;
    struct reports reports = {.fixture = NULL};
    pthread_t thread = 0;

    hold_events(fixture,
                EVENT("die", "c-1", "r-1", ",\"exitCode\":\"3\"") "\n" EVENT(
                    "start", "c-1", "r-1", "") EVENT("oom", "c-2", "r-2", "")
                    EVENT("die", "c-9", "", "") "no JSON\n" EVENT("pause", "c-3", "r-3", "")
                        EVENT("unpause", "c-4", "r-4", "") EVENT("destroy", "c-5", "r-5", ""));
    thread = start(&reports, fixture);
    await(&reports, "r-5");
    lock_take(&reports.lock);
    assert_string_equal(reports.text.text, "up;0 r-1 c-1 3;1 r-2 c-2 -1;2 r-3 c-3 -1;"
                                           "3 r-4 c-4 -1;0 r-5 c-5 -1;");
    assert_true(reports.is_checked_up);
    lock_release(&reports.lock);
    assert_int_equal(BACKEND_EVENT_ENDED, 0);
    assert_int_equal(BACKEND_EVENT_OUT_OF_MEMORY, 1);
    assert_int_equal(BACKEND_EVENT_PAUSED, 2);
    assert_int_equal(BACKEND_EVENT_UNPAUSED, 3);
    stop(&reports, thread);
    assert_non_null(strstr(fake_engine_asked(fixture->engine), "&" FILTER_OURS ";"));
    assert_int_equal(fake_engine_count(fixture->engine, "GET /events?since="), 1);
}

static void line_that_is_too_long_is_left_out(void **state)
{
    struct docker_fixture *fixture = *state;
    struct reports reports = {.fixture = NULL};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    pthread_t thread = 0;

    strbuf_append(&body, "{\"Action\":\"die\",\"Actor\":{\"ID\":\"c-long\",\"Attributes\":{"
                         "\"deft.runtime_id\":\"r-long\",\"more\":\"");
    while (body.len < 4UL * LONG_LINE_BYTES)
        strbuf_append(&body, "0123456789abcdef");
    strbuf_append(&body, "\"}}}\n" EVENT("die", "c-1", "r-1", ""));
    hold_events(fixture, body.text);
    thread = start(&reports, fixture);
    await(&reports, "r-1");
    lock_take(&reports.lock);
    assert_string_equal(reports.text.text, "up;0 r-1 c-1 -1;");
    lock_release(&reports.lock);
    stop(&reports, thread);
}

static void engine_is_prepared_before_it_counts_as_up(void **state)
{
    struct docker_fixture *fixture = *state;
    struct reports reports = {.fixture = NULL};
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    assert_int_equal(fixture->backend->functions->check(fixture->backend, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "sandboxes cannot be started now: the container engine has "
                                     "not been checked yet");
    hold_events(fixture, "");
    fake_engine_set(fixture->engine, "POST /volumes/create", 201, NULL);
    fake_engine_add(
        fixture->engine,
        &(struct engine_reply){.request = "POST /volumes/create", .status = 500, .n_times = 1});
    thread = start(&reports, fixture);
    await(&reports, "up;");
    lock_take(&reports.lock);
    assert_string_equal(reports.text.text, "down making the volume with deft-action: the container "
                                           "engine replied 500: nothing;up;");
    lock_release(&reports.lock);
    assert_int_equal(fake_engine_count(fixture->engine, "GET /info"), 2);
    stop(&reports, thread);
}

static void lost_engine_is_followed_again(void **state)
{
    struct docker_fixture *fixture = *state;
    struct reports reports = {.fixture = NULL};
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    hold_events(fixture, "");
    fake_engine_add(fixture->engine, &(struct engine_reply){.request = "GET /events",
                                                            .body = EVENT("die", "c", "r", ""),
                                                            .n_times = 1});
    thread = start(&reports, fixture);
    await(&reports, "up;0 r c -1;down the connection to the container engine was lost;");
    lock_take(&reports.lock);
    assert_false(reports.was_up_when_down);
    lock_release(&reports.lock);
    await(&reports, "lost;up;");
    assert_int_equal(fixture->backend->functions->check(fixture->backend, &err), 0);
    stop(&reports, thread);
}

/* An engine that hangs looks like an idle one. */
static void engine_that_hangs_is_found_by_a_ping(void **state)
{
    struct docker_fixture *fixture = *state;
    struct reports reports = {.fixture = NULL};
    pthread_t thread = 0;

    hold_events(fixture, "");
    fake_engine_set(fixture->engine, "HEAD /_ping", 500, NULL);
    thread = start(&reports, fixture);
    await(&reports, "up;");
    assert_true(fake_engine_wait(fixture->engine, "GET /events", 1));
    fixture->backend->functions->ping(fixture->backend);
    await(&reports, "up;down the connection to the container engine was lost");
    await(&reports, "cancelled;up;");
    fake_engine_set(fixture->engine, "HEAD /_ping", 200, NULL);
    fixture->backend->functions->ping(fixture->backend);
    assert_int_equal(fake_engine_count(fixture->engine, "HEAD /_ping"), 2);
    assert_true(fake_engine_wait(fixture->engine, "GET /events", 2));
    stop(&reports, thread);
    assert_int_equal(fake_engine_count(fixture->engine, "GET /events"), 2);
    fake_engine_set(fixture->engine, "HEAD /_ping", 500, NULL);
    fixture->backend->functions->ping(fixture->backend);
}

static void stop_ends_a_wait_for_the_engine(void **state)
{
    struct docker_fixture *fixture = *state;
    struct reports reports = {.fixture = NULL};
    pthread_t thread = 0;

    fixture->docker->engine.socket = "/nonexistent/socket";
    thread = start(&reports, fixture);
    await(&reports, "down ");
    await(&reports, ";down ");
    stop(&reports, thread);
}

static void stopped_back_end_is_not_followed(void **state)
{
    struct docker_fixture *fixture = *state;
    const struct backend_event_sink sink = {.context = NULL};

    fixture->backend->functions->stop_following(fixture->backend);
    fixture->backend->functions->follow(fixture->backend, &sink);
    assert_asked(fixture, "");
}

int docker_events_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(events_of_containers_are_reported),
        DOCKER_TEST(line_that_is_too_long_is_left_out),
        DOCKER_TEST(engine_is_prepared_before_it_counts_as_up),
        DOCKER_TEST(lost_engine_is_followed_again),
        DOCKER_TEST(engine_that_hangs_is_found_by_a_ping),
        DOCKER_TEST(stop_ends_a_wait_for_the_engine),
        DOCKER_TEST(stopped_back_end_is_not_followed),
    };

    return cmocka_run_group_tests_name("runtime/docker/container_events", tests, NULL, NULL);
}
