/*
 * Ends of sandboxes, as the back end reports them, and its way up. The loop that follows them runs
 * in the test's own thread: what it reports says when it stops.
 */
#include "runtime/bwrap/box_watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/backend/backend.h"
#include "runtime/bwrap/box.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

static const struct sandbox_config order = {
    .runtime_id = TEST_RUNTIME, .image = "own.example/x", .home = TEST_HOME};

struct follower {
    struct bwrap_fixture *fixture;
    const char *kill; /* when it is up, the first process of this box is ended; NULL: stop */
    int n_up;
    int n_down;
    int n_events;
    struct error why;        /* of the last down */
    enum error_code checked; /* while it was up, or down */
    struct backend_event last;
};

static enum error_code check(struct follower *follower, struct error *err)
{
    struct backend *backend = follower->fixture->backend;

    err->code = ERROR_NONE;
    return backend->functions->check(backend, err) < 0 ? err->code : ERROR_NONE;
}

static void stop(struct follower *follower)
{
    struct backend *backend = follower->fixture->backend;

    backend->functions->stop_following(backend);
}

static void note_up(void *context)
{
    struct follower *follower = context;
    struct error err = ERROR_INIT;
    pid_t pid = 0;
    int pidfd = -1;

    follower->n_up++;
    follower->checked = check(follower, &err);
    if (follower->kill == NULL) {
        stop(follower);
        return;
    }
    if (box_open(follower->fixture->host, follower->kill, &pidfd, &pid, &err) < 0)
        fail_msg("%s", err.message);
    fd_close(&pidfd);
    assert_int_equal(kill(pid, SIGTERM), 0);
}

/* The second time, the trial succeeds. */
static void note_down(void *context, const struct error *why)
{
    struct follower *follower = context;
    struct error err = ERROR_INIT;

    follower->n_down++;
    follower->why = *why;
    assert_int_equal(check(follower, &err), ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "sandboxes cannot be started now: bubblewrap cannot"));
    bwrap_play_trial(follower->fixture, follower->n_down == 2 ? "exit 0\n" : "exit 1\n");
}

static void note_event(void *context, const struct backend_event *event)
{
    struct follower *follower = context;

    follower->n_events++;
    follower->last = *event;
    stop(follower);
}

static void follow(struct follower *follower)
{
    const struct backend_event_sink sink = {follower, note_up, note_down, note_event};
    struct backend *backend = follower->fixture->backend;

    backend->functions->follow(backend, &sink);
}

static void start(struct bwrap_fixture *fixture, struct started_sandbox *place)
{
    if (fixture->backend->functions->start(fixture->backend, &order, place, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
}

static void it_is_unavailable_until_the_trial_succeeds(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct follower follower = {.fixture = fixture, .checked = ERROR_INTERNAL};
    struct error err = ERROR_INIT;

    assert_int_equal(check(&follower, &err), ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "sandboxes cannot be started now: bubblewrap has not been "
                                     "checked yet");
    bwrap_play_trial(fixture, "echo forbidden >&2\nexit 1\n");
    follow(&follower);
    assert_int_equal(follower.n_down, 2);
    assert_int_equal(follower.n_up, 1);
    assert_int_equal(follower.checked, ERROR_NONE);
    assert_int_equal(check(&follower, &err), ERROR_NONE);
    assert_int_equal(follower.n_events, 0);
}

static void assert_reported(const struct follower *follower, const char *box, int code)
{
    assert_int_equal(follower->n_up, 1);
    assert_int_equal(follower->n_events, 1);
    assert_int_equal(follower->last.kind, BACKEND_EVENT_ENDED);
    assert_string_equal(follower->last.container_id, box);
    assert_string_equal(follower->last.runtime_id, TEST_RUNTIME);
    assert_int_equal(follower->last.exit_code, code);
    assert_int_equal(follower->fixture->host->n_watched, 0);
}

static void end_of_a_child_is_reported_and_waited_for(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    struct follower follower = {.fixture = fixture, .kill = place.container_id};

    start(fixture, &place);
    follow(&follower);
    assert_reported(&follower, place.container_id, 143);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Its guardian is followed, since that writes why it ended. */
static void sandbox_of_an_earlier_process_is_followed(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    struct follower follower = {.fixture = fixture, .kill = place.container_id};

    start(fixture, &place);
    bwrap_restart(fixture);
    assert_int_equal(fixture->host->n_watched, 0);
    follow(&follower);
    assert_reported(&follower, place.container_id, 143);
    /* It is not this process's child. */
    assert_true(waitpid(-1, NULL, 0) > 0);
}

static void first_process_is_followed_without_its_guardian(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    struct follower follower = {.fixture = fixture, .kill = place.container_id};
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    start(fixture, &place);
    assert_int_equal(
        box_open_guardian(fixture->host, place.container_id, &pidfd, &pid, &fixture->err), 0);
    bwrap_restart(fixture);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    follow(&follower);
    assert_reported(&follower, place.container_id, -1);
}

static void each_box_is_followed_once(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    struct follower follower = {.fixture = fixture};

    start(fixture, &place);
    follow(&follower);
    assert_int_equal(follower.n_up, 1);
    assert_int_equal(fixture->host->n_watched, 1);
    assert_string_equal(fixture->host->watched[0].box, place.container_id);
    assert_true(fixture->host->watched[0].is_child);
}

static void ended_boxes_are_not_followed(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    struct follower follower = {.fixture = fixture};
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    bwrap_play(fixture, PLAY_START "echo '{\"exit-code\": 0}' >&4\n" PLAY_READY PLAY_END);
    start(fixture, &place);
    bwrap_restart(fixture);
    follow(&follower);
    assert_int_equal(fixture->host->n_watched, 0);
}

static void which_of_several_has_ended_is_told(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct sandbox_config others[2] = {order, order};
    struct started_sandbox places[3] = {{.url = ""}};
    struct follower follower = {.fixture = fixture, .kill = places[0].container_id};

    others[0].runtime_id = "bbbbbbbbbbbb";
    others[1].runtime_id = "cccccccccccc";
    start(fixture, &places[0]);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fixture->backend->functions->start(fixture->backend, &others[i],
                                                            &places[i + 1], &fixture->err),
                         0);
    follow(&follower);
    assert_string_equal(follower.last.container_id, places[0].container_id);
    assert_int_equal(fixture->host->n_watched, 2);
    assert_string_equal(fixture->host->watched[0].box, places[2].container_id);
    assert_string_equal(fixture->host->watched[1].box, places[1].container_id);
}

int test_box_watch(void)
{
    const struct CMUnitTest tests[] = {
        BWRAP_RAW_TEST(it_is_unavailable_until_the_trial_succeeds),
        BWRAP_TEST(end_of_a_child_is_reported_and_waited_for),
        BWRAP_TEST(sandbox_of_an_earlier_process_is_followed),
        BWRAP_TEST(first_process_is_followed_without_its_guardian),
        BWRAP_TEST(each_box_is_followed_once),
        BWRAP_TEST(ended_boxes_are_not_followed),
        BWRAP_TEST(which_of_several_has_ended_is_told),
    };

    return cmocka_run_group_tests_name("runtime/box_watch", tests, NULL, NULL);
}
