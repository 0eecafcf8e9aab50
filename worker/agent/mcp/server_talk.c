#include "worker/agent/mcp/server_talk.h"

#include <assert.h>
#include <stdint.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_progress.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/side_wait.h"
#include "worker/agent/mcp/server_thread.h"
#include "worker/agent/mcp/server_token.h"

enum { CONNECT_MS = 30000 };

/* Makes a session if none is open. */
static int open_session(struct server_connection *connection, struct error *err)
{
    server_connection_drop_ended(connection);
    if (connection->session == NULL && server_connection_prepare(connection, CONNECT_MS, err) < 0)
        return -1;
    return server_connection_greet(connection, err);
}

/* Wakes the conversation's thread; from any. */
static void wake(struct server_talks *talks)
{
    const uint64_t one = 1;
    ssize_t n = 0;

    /* A full eventfd wakes, too. */
    if (talks->wake_fd >= 0)
        n = write(talks->wake_fd, &one, sizeof(one));
    (void)n;
}

/* Replaces one that was not taken, of which the other thread knows. */
static void on_progress(void *owner, const struct mcp_progress *progress)
{
    struct server_talk *talk = owner;
    bool is_first = false;

    lock_take(&talk->talks->lock);
    is_first = talk->report.message == NULL;
    talk->report.done = progress->done;
    talk->report.total = progress->total;
    mem_free(talk->report.message);
    talk->report.message = mem_dup_text(progress->message);
    if (is_first) {
        talk->report.server = json_deep_copy(talk->connection.server);
        talk->talks->has_report = true;
        condition_wake_all(&talk->talks->changed);
    }
    lock_release(&talk->talks->lock);
    if (is_first)
        wake(talk->talks);
}

static int say(struct server_talk *talk, struct error *err)
{
    struct server_connection *connection = &talk->connection;
    const struct mcp_progress_watch watch = {mcp_server_call_ms(connection->server), on_progress,
                                             talk};

    if (open_session(connection, err) < 0)
        return -1;
    return mcp_session_call(connection->session, talk->tool, talk->arguments, &watch, &talk->result,
                            err);
}

/* After a refusal of the credentials: the server did not look at the call. */
static int say_with_new_token(struct server_talk *talk, struct error *err)
{
    struct server_connection *connection = &talk->connection;

    if (server_token_replace(connection, err) < 0)
        return -1;
    return say(talk, err);
}

/* Whether the server may still work on a call that nothing waits for. */
static bool is_given_up(const struct server_talk *talk, const struct error *err)
{
    return err->code == ERROR_TIMEOUT ||
           (err->code == ERROR_CANCELLED && run_control_stop(talk->control) == STOP_INTERRUPT);
}

static int call_remote(struct server_talk *talk, struct error *err)
{
    struct server_connection *connection = &talk->connection;
    int rc = server_token_settle(connection, err);

    if (rc == 0)
        rc = say(talk, err);
    if (rc < 0 && err->code == ERROR_UNAUTHENTICATED && server_token_is_of_sign_in(connection))
        rc = say_with_new_token(talk, err);
    /* Nor did a server that has forgotten the session. */
    if (rc < 0 && err->code == ERROR_STALE) {
        server_connection_close(connection);
        rc = say(talk, err);
    }
    if (rc < 0 && err->code == ERROR_STALE)
        err->code = ERROR_UNAVAILABLE;
    if (rc < 0 && connection->session != NULL && is_given_up(talk, err))
        mcp_session_tell_cancelled(connection->session);
    return rc;
}

/* --- threads --- */

static void note_end(struct server_talks *talks, struct server_talk *talk)
{
    lock_take(&talks->lock);
    talk->is_over = true;
    condition_wake_all(&talks->changed);
    lock_release(&talks->lock);
    wake(talks);
}

static void *run(void *context)
{
    struct server_talk *talk = context;
    int rc = call_remote(talk, &talk->failure);

    assert(rc == 0 || talk->result == NULL);
    note_end(talk->talks, talk);
    return NULL;
}

void server_talks_init(struct server_talks *talks, int wake_fd)
{
    *talks = (struct server_talks){.wake_fd = wake_fd};
    lock_init(&talks->lock);
    condition_init(&talks->changed);
}

void server_talks_done(struct server_talks *talks)
{
    assert(talks->n == 0);
    condition_done(&talks->changed);
    lock_done(&talks->lock);
}

static void add_talk(struct server_talks *talks, struct server_talk *talk)
{
    lock_take(&talks->lock);
    assert(talks->n < TOOL_CONCURRENCY_MAX);
    talks->items[talks->n++] = talk;
    lock_release(&talks->lock);
}

static void remove_talk(struct server_talks *talks, const struct server_talk *talk)
{
    size_t at = 0;

    lock_take(&talks->lock);
    while (talks->items[at] != talk)
        at++;
    talks->items[at] = talks->items[--talks->n];
    lock_release(&talks->lock);
}

void server_talk_start(struct server_talks *talks, struct server_talk *talk)
{
    talk->talks = talks;
    add_talk(talks, talk);
    if (server_thread_start(talk->connection.context, &talk->thread, run, talk, &talk->failure) <
        0) {
        remove_talk(talks, talk);
        talk->talks = NULL;
    }
}

void server_talk_join(struct server_talk *talk)
{
    if (talk->talks == NULL)
        return;
    (void)pthread_join(talk->thread, NULL);
    remove_talk(talk->talks, talk);
    talk->talks = NULL;
}

void server_talks_cancel(struct server_talks *talks)
{
    lock_take(&talks->lock);
    /* Once: after it, a server may be told that nobody waits for its reply. */
    for (size_t i = 0; i < talks->n && !talks->is_cancelled; i++)
        cancel_set(&talks->items[i]->connection.cancel);
    talks->is_cancelled = true;
    condition_wake_all(&talks->changed);
    lock_release(&talks->lock);
}

static bool have_over_locked(struct server_talks *talks) REQUIRES(talks -> lock);

static bool have_over_locked(struct server_talks *talks)
{
    for (size_t i = 0; i < talks->n; i++) {
        if (talks->items[i]->is_over)
            return true;
    }
    return false;
}

bool server_talks_have_over(struct server_talks *talks)
{
    bool have_over = false;

    lock_take(&talks->lock);
    have_over = have_over_locked(talks);
    lock_release(&talks->lock);
    return have_over;
}

bool server_talk_is_over(const struct server_talk *talk)
{
    bool is_over = false;

    lock_take(&talk->talks->lock);
    is_over = talk->is_over;
    lock_release(&talk->talks->lock);
    return is_over;
}

static void cancel_talks(void *talks)
{
    server_talks_cancel(talks);
}

/* --- reports --- */

void talk_report_done(struct talk_report *report)
{
    if (report == NULL)
        return;
    mem_free(report->message);
    json_decref(report->server);
}

void server_talk_take_report(struct server_talk *talk, struct talk_report *report_out)
{
    lock_take(&talk->talks->lock);
    *report_out = talk->report;
    talk->report = (struct talk_report){.message = NULL};
    lock_release(&talk->talks->lock);
}

void server_talks_see_reports(struct server_talks *talks)
{
    lock_take(&talks->lock);
    talks->has_report = false;
    lock_release(&talks->lock);
}

/* Waits until one is over or all are cancelled (true), a report has come, or the time has passed.
 */
static bool wait_once(struct server_talks *talks, int64_t until_ms, bool *is_cancelled_out)
{
    bool is_waiting = true;
    bool have_over = false;

    lock_take(&talks->lock);
    have_over = have_over_locked(talks);
    while (!have_over && !talks->is_cancelled && !talks->has_report && is_waiting) {
        is_waiting = condition_wait_until(&talks->changed, &talks->lock, until_ms);
        have_over = have_over_locked(talks);
    }
    *is_cancelled_out = talks->is_cancelled;
    lock_release(&talks->lock);
    return have_over || *is_cancelled_out;
}

int server_talks_wait(struct server_talks *talks, struct run_control *control,
                      const struct side_wait *side, struct error *err)
{
    struct http_call *none = NULL;
    bool is_cancelled = false;
    int64_t left_ms = 0;

    if (run_control_begin_wait(control, WAIT_TOOL, cancel_talks, talks, err) < 0)
        return -1;
    do
        left_ms = side->settle(side->what, &none);
    while (!wait_once(talks, clock_monotonic_ms() + left_ms, &is_cancelled));
    run_control_end_wait(control);
    return is_cancelled ? error_set(err, ERROR_CANCELLED, "The calls were cancelled") : 0;
}
