#include "worker/agent/mcp/server_talk.h"

#include <assert.h>
#include <stdint.h>
#include <unistd.h>

#include "client/mcp.h"
#include "client/mcp_session.h"
#include "model/tools/mcp_config.h"
#include "worker/agent/core/run_control.h"
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

static int say(struct server_talk *talk, struct error *err)
{
    struct server_connection *connection = &talk->connection;

    if (open_session(connection, err) < 0)
        return -1;
    mcp_set_timeout(mcp_session_connection(connection->session),
                    mcp_server_call_ms(connection->server));
    return mcp_session_call(connection->session, talk->tool, talk->arguments, NULL, &talk->result,
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
    if (rc < 0 && err->code == ERROR_CANCELLED && connection->session != NULL &&
        run_control_stop(talk->control) == STOP_INTERRUPT)
        mcp_session_tell_cancelled(connection->session);
    return rc;
}

/* --- threads --- */

static void note_end(struct server_talks *talks, struct server_talk *talk)
{
    const uint64_t one = 1;
    ssize_t n = 0;

    lock_take(&talks->lock);
    talk->is_over = true;
    condition_wake_all(&talks->ended);
    lock_release(&talks->lock);
    /* A full eventfd wakes, too. */
    if (talks->wake_fd >= 0)
        n = write(talks->wake_fd, &one, sizeof(one));
    (void)n;
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
    condition_init(&talks->ended);
}

void server_talks_done(struct server_talks *talks)
{
    assert(talks->n == 0);
    condition_done(&talks->ended);
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
    condition_wake_all(&talks->ended);
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

int server_talks_wait(struct server_talks *talks, struct run_control *control, struct error *err)
{
    bool is_cancelled = false;

    if (run_control_begin_wait(control, WAIT_TOOL, cancel_talks, talks, err) < 0)
        return -1;
    lock_take(&talks->lock);
    while (!have_over_locked(talks) && !talks->is_cancelled)
        condition_wait(&talks->ended, &talks->lock);
    is_cancelled = talks->is_cancelled;
    lock_release(&talks->lock);
    run_control_end_wait(control);
    return is_cancelled ? error_set(err, ERROR_CANCELLED, "The calls were cancelled") : 0;
}
