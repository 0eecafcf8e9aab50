#include "store/db/db_async.h"

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
#include "store/db/async_query.h"
#include "store/db/async_statement.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/db/hints.h"

enum { PREPARED_MAX = 32, RECONNECT_MS = 1000, CONNECT_MS = 5000, NS_PER_MS = 1000000 };

static const char SQL_NOTIFY[] = "SELECT pg_notify($1, $2)";

enum async_state {
    ASYNC_DOWN,
    ASYNC_CONNECTING,
    ASYNC_UP,
};

struct db_async {
    char *url;
    char *application;
    int64_t statement_timeout_ms;
    struct db_async *hints; /* sends the hints of writes on this one; NULL: none */
    struct db_async_listener listener;
    enum async_state state;
    bool is_resting; /* after a failed attempt, until the timer fires */
    bool is_broken;  /* found where no error can be returned */
    PGconn *conn;
    int epoll_fd; /* of conn's socket and timer_fd */
    int timer_fd;
    struct async_queue queue;
    const char *prepared[PREPARED_MAX];
    size_t n_prepared;
};

/* --- life --- */

int db_async_open(const struct db_options *options, struct db_async **async_out, struct error *err)
{
    struct db_async *async = NEW(struct db_async);
    struct epoll_event event = {.events = EPOLLIN};

    async->url = mem_dup_text(options->url);
    async->application = mem_dup_text(options->application);
    async->statement_timeout_ms = options->statement_timeout_ms;
    async->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    async->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    event.data.fd = async->timer_fd;
    if (async->epoll_fd < 0 || async->timer_fd < 0 ||
        epoll_ctl(async->epoll_fd, EPOLL_CTL_ADD, async->timer_fd, &event) < 0) {
        error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
        db_async_free(async);
        return -1;
    }
    *async_out = async;
    return 0;
}

void db_async_free(struct db_async *async)
{
    if (async == NULL)
        return;
    async_queue_drop(&async->queue);
    PQfinish(async->conn);
    fd_close(&async->timer_fd);
    fd_close(&async->epoll_fd);
    mem_free(async->url);
    mem_free(async->application);
    mem_free(async);
}

int db_async_fd(const struct db_async *async)
{
    return async->epoll_fd;
}

void db_async_listen(struct db_async *async, const struct db_async_listener *listener)
{
    async->listener = *listener;
}

/* --- the connection --- */

/* Makes db_async_fd() readable after that time; 0: now. */
static void set_timer(struct db_async *async, int64_t after_ms)
{
    struct itimerspec spec = {
        .it_value = {.tv_sec = after_ms / 1000, .tv_nsec = after_ms % 1000 * NS_PER_MS + 1}};

    (void)timerfd_settime(async->timer_fd, 0, &spec, NULL);
}

/* libpq may have opened another socket with the same number: then epoll has dropped the old one. */
static void watch(struct db_async *async, uint32_t events)
{
    int fd = PQsocket(async->conn);
    struct epoll_event event = {.events = events, .data.fd = fd};

    if (fd >= 0 && epoll_ctl(async->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
        (void)epoll_ctl(async->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void drop_connection(struct db_async *async, struct error *why_out)
{
    error_set(why_out, ERROR_UNAVAILABLE, "PostgreSQL: %.160s",
              async->conn != NULL ? PQerrorMessage(async->conn) : "out of memory");
    PQfinish(TAKE_PTR(async->conn));
    async->is_broken = false;
    async->n_prepared = 0;
}

static void rest(struct db_async *async, const struct error *why)
{
    log_warning("database.unreachable", LOG_ERROR(why));
    async->state = ASYNC_DOWN;
    async->is_resting = true;
    set_timer(async, RECONNECT_MS);
    async_queue_fail(&async->queue, why);
}

static void on_refused(struct db_async *async)
{
    struct error why = ERROR_INIT;

    drop_connection(async, &why);
    rest(async, &why);
}

static void on_broken(struct db_async *async)
{
    struct error why = ERROR_INIT;

    drop_connection(async, &why);
    log_warning("database.lost", LOG_ERROR(&why));
    async->state = ASYNC_DOWN;
    set_timer(async, 0);
    async_queue_requeue(&async->queue, &why);
}

static void connect_again(struct db_async *async)
{
    struct error err = ERROR_INIT;

    if (async->state != ASYNC_DOWN || async->is_resting)
        return;
    if (db_connect_start(async->url, async->application, async->statement_timeout_ms, &async->conn,
                         &err) < 0) {
        rest(async, &err);
        return;
    }
    async->state = ASYNC_CONNECTING;
    set_timer(async, CONNECT_MS); /* libpq has no timeout when non-blocking */
    watch(async, EPOLLOUT);
}

/* --- asking --- */

/*
 * The number of a statement on this connection; *is_new_out when it must be prepared there first.
 */
static size_t find_prepared(struct db_async *async, const char *sql, bool *is_new_out)
{
    size_t i = 0;

    while (i < async->n_prepared && async->prepared[i] != sql)
        i++;
    assert(i < PREPARED_MAX);
    *is_new_out = i == async->n_prepared;
    if (*is_new_out)
        async->prepared[async->n_prepared++] = sql;
    return i;
}

static bool send_query(struct db_async *async, struct async_query *query)
{
    const char *values[ASYNC_MAX_VALUES];
    size_t n = query->statement.params.n;
    char name[16];

    (void)snprintf(name, sizeof(name), "s%zu",
                   find_prepared(async, query->statement.sql, &query->prepares));
    for (size_t i = 0; i < n; i++)
        values[i] = query->is_null[i] ? NULL : query->values.text + query->starts[i];
    if (query->prepares && PQsendPrepare(async->conn, name, query->statement.sql, 0, NULL) == 0)
        return false;
    return PQsendQueryPrepared(async->conn, name, (int)n, values, NULL, NULL, 0) != 0 &&
           PQpipelineSync(async->conn) != 0;
}

/* Sends queued queries; errors show in db_async_pump(). */
static void send_all(struct db_async *async)
{
    int left = 0;

    if (async->state != ASYNC_UP)
        return;
    while (async->queue.unsent != NULL) {
        if (!send_query(async, async->queue.unsent)) {
            async->is_broken = true;
            set_timer(async, 0);
            return;
        }
        async->queue.unsent = async->queue.unsent->next;
    }
    left = PQflush(async->conn);
    watch(async, left == 1 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void db_async_send(struct db_async *async, const struct async_statement *statement)
{
    async_queue_add(&async->queue, async_query_new(statement));
    if (async->state == ASYNC_DOWN && !async->is_resting)
        set_timer(async, 0);
    send_all(async);
}

/* --- hints --- */

void db_async_set_hints(struct db_async *async, struct db_async *hints)
{
    async->hints = hints;
}

void async_hint(struct db_async *async, unsigned kinds, const char *id)
{
    for (unsigned kind = 0; async->hints != NULL && kind < HINT_N_KINDS; kind++) {
        struct async_statement statement = {.sql = SQL_NOTIFY,
                                            .params =
                                                DB_PARAMS(hint_channel((enum hint_kind)kind), id),
                                            .effect = ASYNC_READS};

        if ((kinds & 1U << kind) != 0)
            db_async_send(async->hints, &statement);
    }
}

/* --- listening --- */

static void on_listening(void *owner, const PGresult *rows, const struct error *err)
{
    struct db_async *async = owner;

    (void)rows;
    if (err == NULL)
        async->listener.connected(async->listener.owner);
}

/* The LISTEN statements go first; the last one's answer means that all are in force. */
static void listen_first(struct db_async *async)
{
    struct async_queue front = {NULL, NULL, NULL};

    for (const char *const *sql = async->listener.listens; sql != NULL && *sql != NULL; sql++) {
        struct async_statement statement = {.sql = *sql, .effect = ASYNC_WRITES, .owner = async};

        statement.done = sql[1] == NULL ? on_listening : NULL;
        async_queue_add(&front, async_query_new(&statement));
    }
    async_queue_prepend(&async->queue, &front);
}

static void take_notifications(struct db_async *async)
{
    PGnotify *notify = PQnotifies(async->conn);

    while (notify != NULL) {
        if (async->listener.notified != NULL)
            async->listener.notified(async->listener.owner, notify);
        PQfreemem(notify);
        notify = PQnotifies(async->conn);
    }
}

/* --- receiving --- */

static void settle_first(struct db_async *async)
{
    struct async_query *query = async_queue_take_first(&async->queue);
    ExecStatusType status = PQresultStatus(query->rows);
    struct error err = ERROR_INIT;

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        async_query_finish(query, query->rows, NULL);
        return;
    }
    (void)db_set_failure(async->conn, query->rows, &err);
    /* PREPARE itself may have failed: a fresh connection starts over. */
    async->is_broken = async->is_broken || query->prepares;
    async_query_finish(query, NULL, &err);
}

/* An error is kept; results after it up to the sync are "aborted". */
static void keep_result(struct async_query *query, PGresult *rows)
{
    if (PQresultStatus(query->rows) == PGRES_FATAL_ERROR && query->rows != NULL) {
        PQclear(rows);
        return;
    }
    PQclear(query->rows);
    query->rows = rows;
}

static void take_results(struct db_async *async)
{
    while (async->queue.first != NULL && async->queue.first != async->queue.unsent &&
           PQisBusy(async->conn) == 0) {
        PGresult *rows = PQgetResult(async->conn);

        if (PQstatus(async->conn) == CONNECTION_BAD) {
            PQclear(rows);
            return;
        }
        if (rows == NULL)
            continue; /* the end of one statement's results */
        if (PQresultStatus(rows) == PGRES_PIPELINE_SYNC) {
            PQclear(rows);
            settle_first(async);
        } else {
            keep_result(async->queue.first, rows);
        }
    }
}

static void go_on_connecting(struct db_async *async)
{
    PostgresPollingStatusType polled = PQconnectPoll(async->conn);

    if (polled == PGRES_POLLING_READING)
        watch(async, EPOLLIN);
    else if (polled == PGRES_POLLING_WRITING)
        watch(async, EPOLLOUT);
    else if (polled == PGRES_POLLING_FAILED || PQsetnonblocking(async->conn, 1) != 0 ||
             PQenterPipelineMode(async->conn) == 0)
        on_refused(async);
    else {
        async->state = ASYNC_UP;
        listen_first(async);
        send_all(async);
    }
}

static void receive(struct db_async *async)
{
    bool is_whole = PQconsumeInput(async->conn) != 0;

    take_results(async);
    take_notifications(async);
    if (!is_whole || async->is_broken || PQstatus(async->conn) == CONNECTION_BAD)
        on_broken(async);
    else
        send_all(async);
}

void db_async_pump(struct db_async *async)
{
    uint64_t n_fired = 0;
    bool is_time = read(async->timer_fd, &n_fired, sizeof(n_fired)) > 0;

    if (is_time)
        async->is_resting = false;
    if (async->state == ASYNC_UP)
        receive(async);
    else if (async->state == ASYNC_CONNECTING && is_time)
        on_refused(async);
    else if (async->state == ASYNC_CONNECTING)
        go_on_connecting(async);
    if (async->queue.first != NULL || async->listener.listens != NULL)
        connect_again(async);
}

void async_query_cancel(struct async_query **query)
{
    if (*query == NULL)
        return;
    (*query)->slot = NULL;
    (*query)->statement.done = NULL;
    *query = NULL;
}
