#include "store/conversation/run_watch.h"

#include <poll.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "store/db/db_query.h"
#include "store/db/hints.h"

/* A hint may be lost. */
enum { LOOK_AGAIN_MS = 1000 };
/* Few, since an event may be large. */
enum { BATCH_EVENTS = 8 };
/* Beyond, a reader that is behind gets the text with its event. */
enum { LINES_MAX_BYTES = 256 * 1024 };

struct run_watch {
    struct db *db;
    struct db_tx tx; /* outside a transaction: each statement sees what is committed by then */
    struct uuid id;
    int64_t after_seq; /* events up to here were given */
    bool is_stale;     /* there may be something new in the database */
};

static const char SQL_LISTEN_EVENTS[] = "LISTEN deft_events";
static const char SQL_LISTEN_PROGRESS[] = "LISTEN deft_progress";
static const char SQL_UNLISTEN[] = "UNLISTEN *";
static const char SQL_IS_WANTED[] =
    "SELECT 1 FROM conversations WHERE id = $1::uuid AND wanted_at IS NOT NULL";

void run_update_done(struct run_update *update)
{
    if (update == NULL)
        return;
    event_batch_done(&update->events);
    strbuf_done(&update->lines);
}

int run_watch_new(struct db *db, const struct uuid *id, int64_t after_seq,
                  struct run_watch **watch_out, struct error *err)
{
    CLEANUP(run_watch_freep) struct run_watch *watch = NEW(struct run_watch);
    CLEANUP(db_rows_done) PGresult *events = NULL;
    CLEANUP(db_rows_done) PGresult *progress = NULL;

    watch->db = db;
    watch->id = *id;
    watch->after_seq = after_seq;
    watch->is_stale = true;
    /* LISTEN takes effect at commit. */
    if (db_tx_begin(db, &watch->tx, err) < 0 ||
        db_tx_query(&watch->tx, SQL_LISTEN_EVENTS, DB_NO_PARAMS, &events, err) < 0 ||
        db_tx_query(&watch->tx, SQL_LISTEN_PROGRESS, DB_NO_PARAMS, &progress, err) < 0 ||
        db_tx_commit(&watch->tx, err) < 0)
        return error_wrap(err, "following %s", id->text);
    *watch_out = TAKE_PTR(watch);
    return 0;
}

void run_watch_free(struct run_watch *watch)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error ignored = ERROR_INIT;

    if (watch == NULL)
        return;
    if (watch->tx.conn != NULL && !watch->tx.is_open)
        error_ignore(db_tx_query(&watch->tx, SQL_UNLISTEN, DB_NO_PARAMS, &rows, &ignored),
                     "a broken connection is closed when it is given back");
    db_tx_end(&watch->tx);
    mem_free(watch);
}

void run_watch_freep(struct run_watch **watch)
{
    run_watch_free(*watch);
}

/* --- notifications --- */

/* Adds the lines that are about the conversation, without its id. */
static void add_lines(const struct run_watch *watch, const char *payload, struct strbuf *lines)
{
    size_t id_len = strlen(watch->id.text);

    while (*payload != '\0') {
        size_t len = strcspn(payload, "\n");

        if (len > id_len && strncmp(payload, watch->id.text, id_len) == 0 &&
            lines->len + len < LINES_MAX_BYTES) {
            strbuf_append_bytes(lines, payload + id_len + 1, len - id_len - 1);
            strbuf_append_char(lines, '\n');
        }
        payload += len + (payload[len] == '\n');
    }
}

static int take_notifications(struct run_watch *watch, struct strbuf *lines, struct error *err)
{
    PGconn *conn = db_tx_connection(&watch->tx);
    PGnotify *notify = NULL;

    if (PQconsumeInput(conn) == 0)
        return error_set(err, ERROR_UNAVAILABLE, "PostgreSQL: connection lost");
    notify = PQnotifies(conn);
    while (notify != NULL) {
        if (text_equal(notify->relname, hint_channel(HINT_PROGRESS)))
            add_lines(watch, notify->extra, lines);
        else if (strstr(notify->extra, watch->id.text) != NULL)
            watch->is_stale = true;
        PQfreemem(notify);
        notify = PQnotifies(conn);
    }
    return 0;
}

/* --- the database --- */

/* Whether a run is wanted is read first: its last events are committed with its end. */
static int read_stored(struct run_watch *watch, struct run_update *update, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    event_batch_done(&update->events);
    update->events = (struct event_batch){.n = 0};
    if (db_tx_query(&watch->tx, SQL_IS_WANTED, DB_PARAMS(watch->id.text), &rows, err) < 0 ||
        event_store_read_batch(watch->db, &watch->id, watch->after_seq, BATCH_EVENTS,
                               &update->events, err) < 0)
        return error_wrap(err, "following %s", watch->id.text);
    if (update->events.n > 0)
        watch->after_seq = update->events.seqs[update->events.n - 1];
    watch->is_stale = update->events.n == BATCH_EVENTS;
    update->is_over = PQntuples(rows) == 0 && !watch->is_stale;
    return 0;
}

static int wait_for_more(struct run_watch *watch, const struct run_watch_limits *limits,
                         struct error *err)
{
    struct pollfd ready[] = {
        {.fd = PQsocket(db_tx_connection(&watch->tx)), .events = POLLIN},
        {.fd = limits->closed_fd > 0 ? limits->closed_fd : -1, .events = POLLRDHUP},
    };
    int64_t left_ms = limits->deadline_ms - clock_monotonic_ms();

    if (left_ms <= 0)
        return error_set(err, ERROR_TIMEOUT, "nothing has happened");
    if (poll(ready, 2, (int)(left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS)) == 0)
        watch->is_stale = true;
    if (ready[1].revents != 0)
        return error_set(err, ERROR_CANCELLED, "the other side has closed the connection");
    return 0;
}

int run_watch_next(struct run_watch *watch, const struct run_watch_limits *limits,
                   struct run_update *update, struct error *err)
{
    bool has_read = false;

    run_update_done(update);
    *update = (struct run_update)RUN_UPDATE_INIT;
    for (;;) {
        if (take_notifications(watch, &update->lines, err) < 0)
            return -1;
        has_read = watch->is_stale;
        if (has_read && read_stored(watch, update, err) < 0)
            return -1;
        if (update->is_over || update->events.n > 0 || update->lines.len > 0)
            return 0;
        /* What came with a reply of the database makes no socket readable. */
        if (!has_read && wait_for_more(watch, limits, err) < 0)
            return -1;
    }
}
