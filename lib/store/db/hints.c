#include "store/db/hints.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db_query.h"

enum {
    COALESCE_MS = 10,
    RECONNECT_MS = 1000,
    QUEUED_MAX_BYTES = 64 * 1024, /* of ids; polling finds the others */
    LINES_MAX_BYTES = 256 * 1024,
    RECEIVED_MAX = 4096,
    ID_BYTES = 64,
};

static const char *const channels[HINT_N_KINDS] = {
#define X(constant, text) [constant] = (text),
    HINT_KINDS(X)
#undef X
};

const char *hint_channel(enum hint_kind kind)
{
    return channels[kind];
}

struct received {
    enum hint_kind kind;
    char id[ID_BYTES];
};

struct hints {
    char *url;
    char *application;
    unsigned kinds;
    int wake_fd;  /* eventfd: something is queued */
    int timer_fd; /* fires when the pause after sending is over */
    PGconn *sender;
    PGconn *listener;
    int64_t sent_at_ms;
    int64_t tried_at_ms;
    struct received *received; /* ring of RECEIVED_MAX, allocated on first use */
    size_t first_received;
    size_t n_received;
    struct lock lock;                   /* guards queued */
    struct strbuf queued[HINT_N_KINDS]; /* ids separated by commas */
};

int hints_open(const char *url, const char *application, unsigned kinds, struct hints **hints_out,
               struct error *err)
{
    struct hints *hints = NEW(struct hints);

    hints->url = mem_dup_text(url);
    hints->application = mem_dup_text(application);
    hints->kinds = kinds;
    hints->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    hints->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    lock_init(&hints->lock);
    for (size_t i = 0; i < HINT_N_KINDS; i++)
        hints->queued[i] = (struct strbuf)STRBUF_INIT;
    if (hints->wake_fd < 0 || hints->timer_fd < 0) {
        error_set(err, ERROR_UNAVAILABLE, "eventfd: %m");
        hints_free(hints);
        return -1;
    }
    hints->tried_at_ms = clock_monotonic_ms() - RECONNECT_MS;
    *hints_out = hints;
    return 0;
}

/* Whether a comma-separated list has the id as a member. */
static bool list_has(const struct strbuf *list, const char *id)
{
    const char *at = strstr(list->text, id);
    size_t len = strlen(id);

    while (at != NULL) {
        bool starts = at == list->text || at[-1] == ',';

        if (starts && (at[len] == ',' || at[len] == '\0'))
            return true;
        at = strstr(at + 1, id);
    }
    return false;
}

static void wake(struct hints *hints)
{
    uint64_t one = 1;
    ssize_t written = write(hints->wake_fd, &one, sizeof(one));

    (void)written; /* full: the reader wakes anyway */
}

void hints_send(struct hints *hints, enum hint_kind kind, const char *id)
{
    struct strbuf *list = &hints->queued[kind];
    bool must_wake = false;

    lock_take(&hints->lock);
    must_wake = list->len == 0; /* else the sender was woken when the list was started */
    if (list->len + strlen(id) < QUEUED_MAX_BYTES && !list_has(list, id)) {
        if (list->len > 0)
            strbuf_append_char(list, ',');
        strbuf_append(list, id);
    }
    lock_release(&hints->lock);
    if (must_wake)
        wake(hints);
}

void hints_send_line(struct hints *hints, const char *line)
{
    struct strbuf *lines = &hints->queued[HINT_PROGRESS];
    bool must_wake = false;

    lock_take(&hints->lock);
    must_wake = lines->len == 0;
    if (lines->len + strlen(line) < LINES_MAX_BYTES) {
        strbuf_append(lines, line);
        strbuf_append_char(lines, '\n');
    }
    lock_release(&hints->lock);
    if (must_wake)
        wake(hints);
}

void hints_fds(struct hints *hints, int fds_out[2])
{
    bool is_resting = clock_monotonic_ms() - hints->sent_at_ms < COALESCE_MS;

    fds_out[0] = is_resting ? hints->timer_fd : hints->wake_fd;
    fds_out[1] = hints->listener != NULL ? PQsocket(hints->listener) : -1;
}

static void receive(struct hints *hints, enum hint_kind kind, const char *id, size_t len)
{
    struct received *slot = NULL;

    if (hints->received == NULL)
        hints->received = mem_alloc_array(RECEIVED_MAX, sizeof(*hints->received));
    if (hints->n_received == RECEIVED_MAX || len >= ID_BYTES)
        return; /* only a hint: polling finds the change */
    slot = &hints->received[(hints->first_received + hints->n_received++) % RECEIVED_MAX];
    slot->kind = kind;
    memcpy(slot->id, id, len);
    slot->id[len] = '\0';
}

static void receive_list(struct hints *hints, enum hint_kind kind, const char *ids)
{
    while (*ids != '\0') {
        size_t len = strcspn(ids, ",");

        receive(hints, kind, ids, len);
        ids += len + (ids[len] == ',' ? 1 : 0);
    }
}

static void receive_notification(struct hints *hints, const PGnotify *notify)
{
    for (size_t i = 0; i < HINT_N_KINDS; i++) {
        if (text_equal(notify->relname, channels[i]))
            receive_list(hints, (enum hint_kind)i, notify->extra);
    }
}

static int listen_to_all(struct hints *hints, struct error *err)
{
    static const char SQL_LISTEN[HINT_N_KINDS][24] = {
        [HINT_EVENTS] = "LISTEN deft_events",   [HINT_WORK] = "LISTEN deft_work",
        [HINT_CONTROL] = "LISTEN deft_control", [HINT_RUNTIME] = "LISTEN deft_runtime",
        [HINT_CALLERS] = "LISTEN deft_callers", [HINT_PROGRESS] = "LISTEN deft_progress",
    };

    for (unsigned i = 0; i < HINT_N_KINDS; i++) {
        CLEANUP(db_rows_done) PGresult *rows = NULL;

        if ((hints->kinds & 1U << i) == 0)
            continue;
        rows = PQexec(hints->listener, SQL_LISTEN[i]);
        if (PQresultStatus(rows) != PGRES_COMMAND_OK)
            return error_set(err, ERROR_UNAVAILABLE, "%s", SQL_LISTEN[i]);
        receive(hints, (enum hint_kind)i, "", 0);
    }
    return 0;
}

static void close_broken(PGconn **conn)
{
    if (*conn == NULL || PQstatus(*conn) == CONNECTION_OK)
        return;
    PQfinish(*conn);
    *conn = NULL;
}

/* NOTIFY commits asynchronously: a hint lost in a server crash is replaced by polling. */
static int prepare_sender(struct hints *hints, struct error *err)
{
    static const char SQL_ASYNC[] = "SET synchronous_commit = off";
    CLEANUP(db_rows_done) PGresult *rows = PQexec(hints->sender, SQL_ASYNC);

    if (PQresultStatus(rows) != PGRES_COMMAND_OK)
        return error_set(err, ERROR_UNAVAILABLE, "PostgreSQL refused a setting");
    return 0;
}

static int connect_sender(struct hints *hints, struct error *err)
{
    if (hints->sender != NULL)
        return 0;
    if (db_connect(hints->url, hints->application, 0, &hints->sender, err) < 0)
        return -1;
    return prepare_sender(hints, err);
}

static int connect_listener(struct hints *hints, struct error *err)
{
    if (hints->listener != NULL || hints->kinds == 0)
        return 0;
    if (db_connect(hints->url, hints->application, 0, &hints->listener, err) < 0)
        return -1;
    return listen_to_all(hints, err);
}

static void connect_again(struct hints *hints)
{
    struct error err = ERROR_INIT;

    close_broken(&hints->sender);
    close_broken(&hints->listener);
    if (clock_monotonic_ms() - hints->tried_at_ms < RECONNECT_MS)
        return;
    hints->tried_at_ms = clock_monotonic_ms();
    if (connect_sender(hints, &err) < 0) {
        PQfinish(hints->sender);
        hints->sender = NULL;
    }
    if (connect_listener(hints, &err) < 0) {
        PQfinish(hints->listener);
        hints->listener = NULL;
    }
}

static char *take_queued(struct hints *hints, size_t kind)
{
    char *ids = NULL;

    lock_take(&hints->lock);
    if (hints->queued[kind].len > 0)
        ids = strbuf_take(&hints->queued[kind]);
    lock_release(&hints->lock);
    return ids;
}

static void send_payload(struct hints *hints, size_t kind, const char *payload)
{
    static const char SQL_NOTIFY[] = "SELECT pg_notify($1, $2)";
    const char *values[] = {channels[kind], payload};
    CLEANUP(db_rows_done) PGresult *rows =
        PQexecParams(hints->sender, SQL_NOTIFY, 2, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(rows) != PGRES_TUPLES_OK)
        log_debug("hint.lost", LOG_STR("error", PQerrorMessage(hints->sender)));
}

/* Sends pieces that fit a notification, cut after a separator. */
static void send_pieces(struct hints *hints, size_t kind, char *text)
{
    char separator = kind == HINT_PROGRESS ? '\n' : ',';
    char *from = text;

    while (strlen(from) > HINT_LINE_MAX_BYTES) {
        char *cut = memrchr(from, separator, HINT_LINE_MAX_BYTES + 1);

        if (cut == NULL)
            return; /* no sender makes one that long */
        *cut = '\0';
        send_payload(hints, kind, from);
        from = cut + 1;
    }
    if (*from != '\0')
        send_payload(hints, kind, from);
}

/* The timer wakes the waiter at the end of the pause; setting it clears an earlier expiry. */
static void rest(struct hints *hints)
{
    struct itimerspec spec = {.it_value = {.tv_nsec = COALESCE_MS * 1000000L}};

    hints->sent_at_ms = clock_monotonic_ms();
    (void)timerfd_settime(hints->timer_fd, 0, &spec, NULL);
}

/* Progress first: readers woken by an event's hint have its pieces by then. */
static void send_queued(struct hints *hints)
{
    static const enum hint_kind order[HINT_N_KINDS] = {HINT_PROGRESS, HINT_EVENTS,  HINT_WORK,
                                                       HINT_CONTROL,  HINT_RUNTIME, HINT_CALLERS};
    uint64_t count = 0;
    ssize_t got = read(hints->wake_fd, &count, sizeof(count));
    bool sent = false;

    (void)got; /* the timer may have woken us instead */
    for (size_t i = 0; i < HINT_N_KINDS && hints->sender != NULL; i++) {
        CLEANUP(mem_freep) char *queued = take_queued(hints, order[i]);

        if (queued == NULL)
            continue;
        send_pieces(hints, order[i], queued);
        sent = true;
    }
    if (sent)
        rest(hints);
}

static void take_notifications(struct hints *hints)
{
    PGnotify *notify = NULL;

    if (hints->listener == NULL || PQconsumeInput(hints->listener) == 0)
        return;
    notify = PQnotifies(hints->listener);
    while (notify != NULL) {
        receive_notification(hints, notify);
        PQfreemem(notify);
        notify = PQnotifies(hints->listener);
    }
}

void hints_free(struct hints *hints)
{
    if (hints == NULL)
        return;
    /* Threads that have ended since the last turn, or within the pause, may have queued some. */
    if (hints->sender != NULL)
        send_queued(hints);
    PQfinish(hints->sender);
    PQfinish(hints->listener);
    fd_close(&hints->wake_fd);
    fd_close(&hints->timer_fd);
    for (size_t i = 0; i < HINT_N_KINDS; i++)
        strbuf_done(&hints->queued[i]);
    lock_done(&hints->lock);
    mem_free(hints->received);
    mem_free(hints->url);
    mem_free(hints->application);
    mem_free(hints);
}

void hints_pump(struct hints *hints)
{
    take_notifications(hints);
    connect_again(hints);
    if (clock_monotonic_ms() - hints->sent_at_ms >= COALESCE_MS)
        send_queued(hints);
}

bool hints_next(struct hints *hints, enum hint_kind *kind_out, char id_out[64])
{
    const struct received *slot = NULL;

    if (hints->n_received == 0)
        return false;
    slot = &hints->received[hints->first_received];
    *kind_out = slot->kind;
    memcpy(id_out, slot->id, ID_BYTES);
    hints->first_received = (hints->first_received + 1) % RECEIVED_MAX;
    hints->n_received--;
    return true;
}

int hints_run(struct hints *hints, int stop_fd, struct error *err)
{
    for (;;) {
        int fds[2];
        struct pollfd waits[3];

        hints_pump(hints);
        log_flush();
        hints_fds(hints, fds);
        waits[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
        waits[1] = (struct pollfd){.fd = fds[0], .events = POLLIN};
        waits[2] = (struct pollfd){.fd = fds[1], .events = POLLIN};
        if (poll(waits, 3, RECONNECT_MS) < 0 && errno != EINTR)
            return error_set(err, ERROR_INTERNAL, "poll: %m");
        if (waits[0].revents != 0)
            return 0;
    }
}
