#include "gateway/core/connection.h"

#include <libwebsockets.h>

#include "base/clock.h"
#include "gateway/core/frame.h"

struct close_row {
    int code;
    const char *reason;
};

static const struct close_row closes[CONNECTION_N_ENDS] = {
    [CONNECTION_OPEN] = {1000, ""},
    [CONNECTION_UNAUTHENTICATED] = {4001, "Authentication failed"},
    [CONNECTION_TOO_MANY_KEYS] = {1013, "Too many wrong keys; try again in a minute"},
    [CONNECTION_NOT_FOUND] = {4004, "Conversation not found"},
    [CONNECTION_TOO_MANY] = {1013, "Too many connections for this conversation"},
    [CONNECTION_TOO_MANY_BASH] = {1013, "Too many bash event connections"},
    [CONNECTION_UNMASKED] = {1002, "Client frames must be masked"},
    [CONNECTION_TOO_LARGE] = {1009, "Message too large"},
    [CONNECTION_TOO_NOISY] = {1008, "Too many bad messages"},
    [CONNECTION_TOO_SLOW] = {1013, "slow_consumer"},
    [CONNECTION_UNAVAILABLE] = {1013, "The database is unavailable; try again"},
};

int connection_close_code(enum connection_end end, const char **reason_out)
{
    *reason_out = closes[end].reason;
    return closes[end].code;
}

void connection_done(struct connection *connection)
{
    connection_stop_waiting(connection);
    while (connection->n_replies > 0)
        frame_release(connection->replies[--connection->n_replies]);
}

/* --- turns --- */

void connection_wake(struct connection *connection)
{
    (void)lws_callback_on_writable(connection->wsi);
    if (connection->is_waiting)
        return;
    connection->is_waiting = true;
    connection->waiting_since_ms = clock_monotonic_ms();
    TAILQ_INSERT_TAIL(connection->queue, connection, turn);
}

void connection_stop_waiting(struct connection *connection)
{
    if (!connection->is_waiting)
        return;
    connection->is_waiting = false;
    TAILQ_REMOVE(connection->queue, connection, turn);
}

struct connection *connection_take_slow(struct connection_queue *queue, int64_t now_ms,
                                        int64_t slow_ms)
{
    struct connection *first = TAILQ_FIRST(queue);

    if (first == NULL || now_ms - first->waiting_since_ms < slow_ms)
        return NULL;
    connection_stop_waiting(first);
    return first;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    if (connection->end == CONNECTION_OPEN)
        connection->end = end;
    connection_wake(connection);
}

/* --- replies --- */

void connection_reply(struct connection *connection, struct frame *frame)
{
    if (connection->n_replies == CONNECTION_REPLIES) {
        frame_release(frame);
        connection_close(connection, CONNECTION_TOO_NOISY);
        return;
    }
    connection->replies[connection->n_replies++] = frame;
    connection_wake(connection);
}

struct frame *connection_take_reply(struct connection *connection)
{
    struct frame *first = connection->replies[0];

    connection->n_replies--;
    for (size_t i = 0; i < connection->n_replies; i++)
        connection->replies[i] = connection->replies[i + 1];
    return first;
}
