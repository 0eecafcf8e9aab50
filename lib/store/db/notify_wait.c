#include "store/db/notify_wait.h"

#include <poll.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"

enum { LOOK_AGAIN_MS = 1000 };

static const char SQL_LISTEN[] = "LISTEN deft_events";
static const char SQL_UNLISTEN[] = "UNLISTEN deft_events";

int notify_wait_begin(struct db *db, struct notify_wait *wait, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    /* LISTEN takes effect at commit; the wait itself runs outside any transaction. */
    if (db_tx_begin(db, &wait->tx, err) < 0 ||
        db_tx_query(&wait->tx, SQL_LISTEN, DB_NO_PARAMS, &rows, err) < 0)
        return -1;
    return db_tx_commit(&wait->tx, err);
}

int notify_wait_sleep(struct notify_wait *wait, int64_t deadline_ms, struct error *err)
{
    PGconn *conn = db_tx_connection(&wait->tx);
    struct pollfd ready = {.fd = PQsocket(conn), .events = POLLIN};
    int64_t left_ms = deadline_ms - clock_monotonic_ms();
    PGnotify *notify = NULL;

    if (left_ms <= 0)
        return error_set(err, ERROR_TIMEOUT, "it has not happened yet");
    (void)poll(&ready, 1, (int)(left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS));
    if (PQconsumeInput(conn) == 0)
        return error_set(err, ERROR_UNAVAILABLE, "PostgreSQL: connection lost");
    notify = PQnotifies(conn);
    while (notify != NULL) {
        PQfreemem(notify);
        notify = PQnotifies(conn);
    }
    return 0;
}

void notify_wait_end(struct notify_wait *wait)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error ignored = ERROR_INIT;

    if (wait->tx.conn != NULL)
        error_ignore(db_tx_query(&wait->tx, SQL_UNLISTEN, DB_NO_PARAMS, &rows, &ignored),
                     "a broken connection is closed when it is given back");
    db_tx_end(&wait->tx);
}
