#include "worker/delta_outbox.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/db/hints.h"

enum {
    GATHER_MS = 10,
    LINES_PER_MS = 10, /* the more was sent, the longer the next batch is gathered */
    NS_PER_MS = 1000000,
    CHUNKS_AT_FIRST = 8,
};

struct delta_outbox {
    struct hints *hints;
    int timer_fd; /* when to send */
    int64_t rest_until_ms;
    struct lock
        lock; /* guards the fields below and listed items; order: before the lock of hints */
    LIST_HEAD(delta_item_list, delta_item) items;
    bool is_timed; /* the timer is running */
};

int delta_outbox_new(struct hints *hints, struct delta_outbox **delta_outbox_out, struct error *err)
{
    struct delta_outbox *outbox = NEW(struct delta_outbox);

    outbox->hints = hints;
    lock_init(&outbox->lock);
    outbox->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (outbox->timer_fd < 0) {
        error_set(err, ERROR_UNAVAILABLE, "timerfd: %m");
        delta_outbox_free(outbox);
        return -1;
    }
    *delta_outbox_out = outbox;
    return 0;
}

void delta_outbox_free(struct delta_outbox *outbox)
{
    if (outbox == NULL)
        return;
    fd_close(&outbox->timer_fd);
    lock_done(&outbox->lock);
    mem_free(outbox);
}

int delta_outbox_fd(const struct delta_outbox *outbox)
{
    return outbox->timer_fd;
}

/* --- chunks --- */

void delta_chunks_done(struct delta_chunks *chunks)
{
    if (chunks == NULL)
        return;
    strbuf_done(&chunks->text);
    mem_free(chunks->lengths);
}

static void chunks_add(struct delta_chunks *chunks, const char *text, size_t len)
{
    if (len == 0)
        return;
    if (chunks->n == chunks->size) {
        chunks->size = chunks->size > 0 ? chunks->size * 2 : CHUNKS_AT_FIRST;
        chunks->lengths = mem_resize(chunks->lengths, chunks->size * sizeof(*chunks->lengths));
    }
    chunks->lengths[chunks->n++] = len;
    strbuf_append_bytes(&chunks->text, text, len);
}

/* --- lines --- */

static void send_line(struct hints *hints, struct progress *progress, enum progress_kind kind,
                      const char *text)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    progress->kind = kind;
    progress->text = text;
    progress_append_line(progress, &line);
    hints_send_line(hints, line.text);
}

/* At most PROGRESS_TEXT_MAX_BYTES, without splitting a code point. */
static size_t cut_length(const char *text, size_t len)
{
    size_t cut = len;

    if (len <= PROGRESS_TEXT_MAX_BYTES)
        return len;
    cut = PROGRESS_TEXT_MAX_BYTES;
    while (cut > 0 && ((unsigned char)text[cut] & 0xC0U) == 0x80U)
        cut--;
    return cut;
}

/* Number of chunks from index i on that fit a line; at least one. */
static size_t count_fitting(const struct delta_chunks *chunks, size_t i)
{
    size_t n_bytes = chunks->lengths[i];
    size_t n = 1;

    while (n < PROGRESS_CHUNKS_MAX && i + n < chunks->n &&
           n_bytes + chunks->lengths[i + n] <= PROGRESS_TEXT_MAX_BYTES)
        n_bytes += chunks->lengths[i + n++];
    return n;
}

/* Sends one chunk, in as many lines as needed. */
static int64_t send_chunk(struct hints *hints, struct progress *progress, enum progress_kind kind,
                          const char *at, size_t left)
{
    int64_t n_lines = 0;

    while (left > 0) {
        size_t len = cut_length(at, left);
        CLEANUP(mem_freep) char *part = mem_dup_bytes(at, len);

        send_line(hints, progress, kind, part);
        progress->order++;
        n_lines++;
        at += len;
        left -= len;
    }
    return n_lines;
}

/* Sends several chunks in one line. */
static int64_t send_group(struct hints *hints, struct progress *progress, enum progress_kind kind,
                          const char *at, size_t len)
{
    CLEANUP(mem_freep) char *part = mem_dup_bytes(at, len);

    send_line(hints, progress, kind, part);
    progress->order += (int64_t)progress->n_lengths;
    return 1;
}

static int64_t send_chunks(struct hints *hints, struct progress *progress, enum progress_kind kind,
                           struct delta_chunks *chunks)
{
    const char *at = chunks->text.text;
    int64_t n_lines = 0;

    for (size_t i = 0; i < chunks->n; i += progress->n_lengths) {
        size_t len = 0;

        progress->lengths = &chunks->lengths[i];
        progress->n_lengths = count_fitting(chunks, i);
        for (size_t k = 0; k < progress->n_lengths; k++)
            len += progress->lengths[k];
        n_lines += progress->n_lengths > 1 ? send_group(hints, progress, kind, at, len)
                                           : send_chunk(hints, progress, kind, at, len);
        at += len;
    }
    progress->lengths = NULL;
    progress->n_lengths = 0;
    strbuf_reset(&chunks->text);
    chunks->n = 0;
    return n_lines;
}

static int64_t send_item(struct hints *hints, struct delta_item *item)
{
    return send_chunks(hints, &item->progress, PROGRESS_REASONING, &item->reasoning) +
           send_chunks(hints, &item->progress, PROGRESS_TEXT, &item->text);
}

/* --- the list --- */

static void unlist_locked(struct delta_outbox *outbox, struct delta_item *item)
    REQUIRES(outbox -> lock);
static bool list_locked(struct delta_outbox *outbox, struct delta_item *item)
    REQUIRES(outbox -> lock);

static void unlist_locked(struct delta_outbox *outbox, struct delta_item *item)
{
    (void)outbox; /* its lock guards the list */
    if (!item->is_listed)
        return;
    item->is_listed = false;
    LIST_REMOVE(item, link);
}

/* True if the caller has to start the timer. */
static bool list_locked(struct delta_outbox *outbox, struct delta_item *item)
{
    bool must_time = !outbox->is_timed;

    outbox->is_timed = true;
    if (item->is_listed)
        return must_time;
    item->is_listed = true;
    LIST_INSERT_HEAD(&outbox->items, item, link);
    return must_time;
}

static void set_timer(const struct delta_outbox *outbox, int64_t in_ms)
{
    struct itimerspec spec = {
        .it_value = {.tv_sec = in_ms / 1000, .tv_nsec = in_ms % 1000 * NS_PER_MS + 1}};

    (void)timerfd_settime(outbox->timer_fd, 0, &spec, NULL);
}

void delta_outbox_add(struct delta_outbox *outbox, struct delta_item *item, enum progress_kind kind,
                      const char *text, size_t len)
{
    bool must_time = false;

    lock_take(&outbox->lock);
    chunks_add(kind == PROGRESS_REASONING ? &item->reasoning : &item->text, text, len);
    must_time = list_locked(outbox, item);
    lock_release(&outbox->lock);
    if (must_time)
        set_timer(outbox, 0);
}

/* Once off the list, the item is used by its own thread only. */
void delta_outbox_leave(struct delta_outbox *outbox, struct delta_item *item)
{
    lock_take(&outbox->lock);
    unlist_locked(outbox, item);
    lock_release(&outbox->lock);
    (void)send_item(outbox->hints, item);
}

void delta_outbox_end(struct delta_outbox *outbox, struct delta_item *item, enum progress_kind kind,
                      const char *text)
{
    delta_outbox_leave(outbox, item);
    send_line(outbox->hints, &item->progress, kind, text);
}

static int64_t send_all(struct delta_outbox *outbox)
{
    int64_t n_lines = 0;

    lock_take(&outbox->lock);
    outbox->is_timed = false;
    while (!LIST_EMPTY(&outbox->items)) {
        struct delta_item *item = LIST_FIRST(&outbox->items);

        unlist_locked(outbox, item);
        /* Under the lock, which keeps the item alive; hints only queue. */
        n_lines += send_item(outbox->hints, item);
    }
    lock_release(&outbox->lock);
    return n_lines;
}

void delta_outbox_pump(struct delta_outbox *outbox)
{
    uint64_t n_fired = 0;
    int64_t now_ms = clock_monotonic_ms();
    ssize_t got = read(outbox->timer_fd, &n_fired, sizeof(n_fired));

    if (got <= 0)
        return;
    if (now_ms < outbox->rest_until_ms) {
        set_timer(outbox, outbox->rest_until_ms - now_ms);
        return;
    }
    outbox->rest_until_ms = now_ms + GATHER_MS + send_all(outbox) / LINES_PER_MS;
}
