#include "store/db/db_pipe.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/db/db.h"
#include "store/db/db_pipe_query.h"
#include "store/db/db_query.h"
#include "store/db/db_ticket.h"

enum { PREPARED_MAX = 32, RECONNECT_MS = 1000, CONNECT_MS = 5000, NS_PER_MS = 1000000 };

enum pipe_state {
    PIPE_DOWN,
    PIPE_CONNECTING,
    PIPE_UP,
};

struct db_pipe {
    char *url;
    char *application;
    int64_t statement_timeout_ms;
    struct db_pipe_listener listener;
    enum pipe_state state;
    bool is_resting; /* after a failed attempt, until the timer fires */
    bool is_broken;  /* found where no error can be returned */
    PGconn *conn;
    int epoll_fd; /* of conn's socket and timer_fd */
    int timer_fd;
    struct ticket_line line;
    const char *prepared[PREPARED_MAX];
    size_t n_prepared;
};

/* --- life --- */

int db_pipe_open(const struct db_options *options, struct db_pipe **pipe_out, struct error *err)
{
    struct db_pipe *pipe = NEW(struct db_pipe);
    struct epoll_event event = {.events = EPOLLIN};

    pipe->url = mem_dup_text(options->url);
    pipe->application = mem_dup_text(options->application);
    pipe->statement_timeout_ms = options->statement_timeout_ms;
    pipe->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    pipe->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    event.data.fd = pipe->timer_fd;
    if (pipe->epoll_fd < 0 || pipe->timer_fd < 0 ||
        epoll_ctl(pipe->epoll_fd, EPOLL_CTL_ADD, pipe->timer_fd, &event) < 0) {
        error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
        db_pipe_free(pipe);
        return -1;
    }
    *pipe_out = pipe;
    return 0;
}

void db_pipe_free(struct db_pipe *pipe)
{
    if (pipe == NULL)
        return;
    ticket_line_drop(&pipe->line);
    PQfinish(pipe->conn);
    fd_close(&pipe->timer_fd);
    fd_close(&pipe->epoll_fd);
    mem_free(pipe->url);
    mem_free(pipe->application);
    mem_free(pipe);
}

int db_pipe_fd(const struct db_pipe *pipe)
{
    return pipe->epoll_fd;
}

void db_pipe_listen(struct db_pipe *pipe, const struct db_pipe_listener *listener)
{
    pipe->listener = *listener;
}

/* --- the connection --- */

/* Makes db_pipe_fd() readable after that time; 0: now. */
static void set_timer(struct db_pipe *pipe, int64_t after_ms)
{
    struct itimerspec spec = {
        .it_value = {.tv_sec = after_ms / 1000, .tv_nsec = after_ms % 1000 * NS_PER_MS + 1}};

    (void)timerfd_settime(pipe->timer_fd, 0, &spec, NULL);
}

/* libpq may have opened another socket with the same number: then epoll has dropped the old one. */
static void watch(struct db_pipe *pipe, uint32_t events)
{
    int fd = PQsocket(pipe->conn);
    struct epoll_event event = {.events = events, .data.fd = fd};

    if (fd >= 0 && epoll_ctl(pipe->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        (void)epoll_ctl(pipe->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void drop_connection(struct db_pipe *pipe, struct error *why_out)
{
    error_set(why_out, ERROR_UNAVAILABLE, "PostgreSQL: %.160s",
              pipe->conn != NULL ? PQerrorMessage(pipe->conn) : "out of memory");
    PQfinish(TAKE_PTR(pipe->conn));
    pipe->is_broken = false;
    pipe->n_prepared = 0;
}

static void on_refused(struct db_pipe *pipe)
{
    struct error why = ERROR_INIT;

    drop_connection(pipe, &why);
    log_warning("database.unreachable", LOG_ERROR(&why));
    pipe->state = PIPE_DOWN;
    pipe->is_resting = true;
    set_timer(pipe, RECONNECT_MS);
    ticket_line_fail(&pipe->line, &why);
}

static void on_broken(struct db_pipe *pipe)
{
    struct error why = ERROR_INIT;

    drop_connection(pipe, &why);
    log_warning("database.lost", LOG_ERROR(&why));
    pipe->state = PIPE_DOWN;
    set_timer(pipe, 0);
    ticket_line_sort_out(&pipe->line, &why);
}

static void connect_again(struct db_pipe *pipe)
{
    struct error err = ERROR_INIT;

    if (pipe->state != PIPE_DOWN || pipe->is_resting)
        return;
    if (db_connect_start(pipe->url, pipe->application, pipe->statement_timeout_ms, &pipe->conn,
                         &err) < 0) {
        on_refused(pipe);
        return;
    }
    pipe->state = PIPE_CONNECTING;
    set_timer(pipe, CONNECT_MS); /* libpq has no timeout when non-blocking */
    watch(pipe, EPOLLOUT);
}

/* --- asking --- */

/*
 * The number of a statement on this connection; *is_new_out when it must be prepared there first.
 */
static size_t find_prepared(struct db_pipe *pipe, const char *sql, bool *is_new_out)
{
    size_t i = 0;

    while (i < pipe->n_prepared && pipe->prepared[i] != sql)
        i++;
    assert(i < PREPARED_MAX);
    *is_new_out = i == pipe->n_prepared;
    if (*is_new_out)
        pipe->prepared[pipe->n_prepared++] = sql;
    return i;
}

static bool send_ticket(struct db_pipe *pipe, struct db_ticket *ticket)
{
    const char *values[TICKET_MAX_VALUES];
    size_t n = ticket->question.params.n;
    char name[16];

    (void)snprintf(name, sizeof(name), "s%zu",
                   find_prepared(pipe, ticket->question.sql, &ticket->prepares));
    for (size_t i = 0; i < n; i++)
        values[i] = ticket->is_null[i] ? NULL : ticket->values.text + ticket->starts[i];
    if (ticket->prepares && PQsendPrepare(pipe->conn, name, ticket->question.sql, 0, NULL) == 0)
        return false;
    return PQsendQueryPrepared(pipe->conn, name, (int)n, values, NULL, NULL, 0) != 0 &&
           PQpipelineSync(pipe->conn) != 0;
}

/* Sends queued questions; errors show when the pipe is pumped. */
static void send_all(struct db_pipe *pipe)
{
    int left = 0;

    if (pipe->state != PIPE_UP)
        return;
    while (pipe->line.unsent != NULL) {
        if (!send_ticket(pipe, pipe->line.unsent)) {
            pipe->is_broken = true;
            set_timer(pipe, 0);
            return;
        }
        pipe->line.unsent = pipe->line.unsent->next;
    }
    left = PQflush(pipe->conn);
    watch(pipe, left == 1 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void db_pipe_ask(struct db_pipe *pipe, const struct db_question *question)
{
    ticket_line_add(&pipe->line, ticket_new(question));
    if (pipe->state == PIPE_DOWN && !pipe->is_resting)
        set_timer(pipe, 0);
    send_all(pipe);
}

/* --- listening --- */

static void on_listening(void *owner, const PGresult *rows, const struct error *err)
{
    struct db_pipe *pipe = owner;

    (void)rows;
    if (err == NULL)
        pipe->listener.connected(pipe->listener.owner);
}

/* The LISTEN statements go first; the last one's answer means that all are in force. */
static void listen_first(struct db_pipe *pipe)
{
    struct ticket_line front = {NULL, NULL, NULL};

    for (const char *const *sql = pipe->listener.listens; sql != NULL && *sql != NULL; sql++) {
        struct db_question question = {.sql = *sql, .effect = DB_PIPE_WRITES, .owner = pipe};

        question.done = sql[1] == NULL ? on_listening : NULL;
        ticket_line_add(&front, ticket_new(&question));
    }
    ticket_line_put_in_front(&pipe->line, &front);
}

static void take_notifications(struct db_pipe *pipe)
{
    PGnotify *notify = PQnotifies(pipe->conn);

    while (notify != NULL) {
        if (pipe->listener.notified != NULL)
            pipe->listener.notified(pipe->listener.owner, notify);
        PQfreemem(notify);
        notify = PQnotifies(pipe->conn);
    }
}

/* --- receiving --- */

static void settle_first(struct db_pipe *pipe)
{
    struct db_ticket *ticket = ticket_line_take_first(&pipe->line);
    ExecStatusType status = PQresultStatus(ticket->rows);
    struct error err = ERROR_INIT;

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        ticket_settle(ticket, ticket->rows, NULL);
        return;
    }
    (void)db_set_failure(pipe->conn, ticket->rows, &err);
    /* PREPARE itself may have failed: a fresh connection starts over. */
    pipe->is_broken = pipe->is_broken || ticket->prepares;
    ticket_settle(ticket, NULL, &err);
}

/* An error is kept; results after it up to the sync are "aborted". */
static void keep_result(struct db_ticket *ticket, PGresult *rows)
{
    if (PQresultStatus(ticket->rows) == PGRES_FATAL_ERROR && ticket->rows != NULL) {
        PQclear(rows);
        return;
    }
    PQclear(ticket->rows);
    ticket->rows = rows;
}

static void take_results(struct db_pipe *pipe)
{
    while (pipe->line.first != NULL && pipe->line.first != pipe->line.unsent &&
           PQisBusy(pipe->conn) == 0) {
        PGresult *rows = PQgetResult(pipe->conn);

        if (PQstatus(pipe->conn) == CONNECTION_BAD) {
            PQclear(rows);
            return;
        }
        if (rows == NULL)
            continue; /* the end of one statement's results */
        if (PQresultStatus(rows) == PGRES_PIPELINE_SYNC) {
            PQclear(rows);
            settle_first(pipe);
        } else {
            keep_result(pipe->line.first, rows);
        }
    }
}

static void go_on_connecting(struct db_pipe *pipe)
{
    PostgresPollingStatusType polled = PQconnectPoll(pipe->conn);

    if (polled == PGRES_POLLING_READING)
        watch(pipe, EPOLLIN);
    else if (polled == PGRES_POLLING_WRITING)
        watch(pipe, EPOLLOUT);
    else if (polled == PGRES_POLLING_FAILED || PQsetnonblocking(pipe->conn, 1) != 0 ||
             PQenterPipelineMode(pipe->conn) == 0)
        on_refused(pipe);
    else {
        pipe->state = PIPE_UP;
        listen_first(pipe);
        send_all(pipe);
    }
}

static void receive(struct db_pipe *pipe)
{
    bool is_whole = PQconsumeInput(pipe->conn) != 0;

    take_results(pipe);
    take_notifications(pipe);
    if (!is_whole || pipe->is_broken || PQstatus(pipe->conn) == CONNECTION_BAD)
        on_broken(pipe);
    else
        send_all(pipe);
}

void db_pipe_pump(struct db_pipe *pipe)
{
    uint64_t n_fired = 0;
    bool is_time = read(pipe->timer_fd, &n_fired, sizeof(n_fired)) > 0;

    if (is_time)
        pipe->is_resting = false;
    if (pipe->state == PIPE_UP)
        receive(pipe);
    else if (pipe->state == PIPE_CONNECTING && is_time)
        on_refused(pipe);
    else if (pipe->state == PIPE_CONNECTING)
        go_on_connecting(pipe);
    if (pipe->line.first != NULL || pipe->listener.listens != NULL)
        connect_again(pipe);
}

void db_ticket_forget(struct db_ticket **ticket)
{
    if (*ticket == NULL)
        return;
    (*ticket)->slot = NULL;
    (*ticket)->question.done = NULL;
    *ticket = NULL;
}
