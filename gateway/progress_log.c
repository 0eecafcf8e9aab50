#include "gateway/progress_log.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/frame.h"
#include "model/event/progress.h"

enum {
    PIECES_KEPT = 128, /* even if all sockets have seen them */
    PIECES_MAX = 4096, /* while a socket has not */
};

struct piece {
    enum progress_kind kind;
    int64_t item;   /* its number; 0 for pieces of an item whose beginning was missed */
    int64_t anchor; /* the event that must be sent first */
    struct frame *forms[N_FORMS]; /* NULL: not sent to sockets of that form */
};

struct progress_log {
    int64_t first; /* number of the oldest piece kept */
    int64_t count; /* of all pieces ever added */
    int64_t item;  /* number of the newest item; 0 before the first */
    bool is_open;
    struct uuid item_id;
    int64_t item_anchor;
    int64_t attempt;
    struct uuid superseded_id; /* the previous item, whose event may not be read yet … */
    int64_t superseded_by;     /* … and the number of the piece that ends it; -1: none */
    struct frame *aborted;     /* the newest item's end, for those that lost it; NULL: none */
    int64_t n_seen_by_all;
    int64_t n_places;
    struct piece *pieces; /* a ring of n_places */
};

struct progress_log *progress_log_new(int64_t n_before)
{
    struct progress_log *log = NEW(struct progress_log);

    log->first = n_before;
    log->count = n_before;
    /* Item numbers are never reused in a stream: there are no more items than pieces. */
    log->item = n_before;
    log->superseded_by = -1;
    log->n_seen_by_all = INT64_MAX;
    log->n_places = PIECES_KEPT;
    log->pieces = mem_alloc_array(PIECES_KEPT, sizeof(*log->pieces));
    return log;
}

static struct piece *piece_at(struct progress_log *log, int64_t number)
{
    return &log->pieces[number % log->n_places];
}

static void drop_first(struct progress_log *log)
{
    struct piece *piece = piece_at(log, log->first++);

    for (size_t i = 0; i < N_FORMS; i++)
        frame_release(TAKE_PTR(piece->forms[i]));
}

void progress_log_free(struct progress_log *log)
{
    if (log == NULL)
        return;
    while (log->first < log->count)
        drop_first(log);
    frame_release(log->aborted);
    mem_free(log->pieces);
    mem_free(log);
}

int64_t progress_log_count(const struct progress_log *log)
{
    return log->count;
}

bool progress_log_is_open(const struct progress_log *log)
{
    return log->is_open;
}

/* --- adding --- */

static struct frame *session_frame(const struct progress *progress)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    progress_append_frame(progress, &text);
    return frame_new(text.text, text.len);
}

static struct frame *event_frame(const struct progress *progress)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (progress->kind != PROGRESS_TEXT && progress->kind != PROGRESS_REASONING)
        return NULL;
    progress_append_event(progress, clock_utc_us(), &text);
    return frame_new(text.text, text.len);
}

static void grow(struct progress_log *log)
{
    int64_t n_places = 2 * log->n_places;
    struct piece *pieces = mem_alloc_array((size_t)n_places, sizeof(*pieces));

    for (int64_t number = log->first; number < log->count; number++)
        pieces[number % n_places] = *piece_at(log, number);
    mem_free(log->pieces);
    log->pieces = pieces;
    log->n_places = n_places;
}

static void make_room(struct progress_log *log)
{
    while (log->count - log->first >= PIECES_KEPT && log->first < log->n_seen_by_all)
        drop_first(log);
    if (log->count - log->first < log->n_places)
        return;
    if (log->n_places < PIECES_MAX)
        grow(log);
    else
        drop_first(log);
}

void progress_log_keep(struct progress_log *log, int64_t n_seen_by_all)
{
    log->n_seen_by_all = n_seen_by_all;
}

static void push(struct progress_log *log, const struct progress *progress, int64_t item,
                 int64_t anchor)
{
    struct piece *piece = NULL;

    make_room(log);
    piece = piece_at(log, log->count++);
    *piece = (struct piece){.kind = progress->kind, .item = item, .anchor = anchor};
    piece->forms[FORM_EVENT] = event_frame(progress);
    if (item > 0)
        piece->forms[FORM_SESSION] = session_frame(progress);
}

static bool is_of_item(const struct progress_log *log, const struct progress *progress)
{
    return log->is_open && text_equal(log->item_id.text, progress->item_id.text) &&
           log->attempt == progress->attempt;
}

static void end_item(struct progress_log *log, const struct progress *end, int64_t last_seq)
{
    log->is_open = false;
    push(log, end, log->item, last_seq);
    frame_release(log->aborted);
    log->aborted = frame_hold(piece_at(log, log->count - 1)->forms[FORM_SESSION]);
}

void progress_log_abort(struct progress_log *log, const char *reason, int64_t last_seq)
{
    const struct progress end = {
        .item_id = log->item_id, .kind = PROGRESS_ABORTED, .attempt = log->attempt, .text = reason};

    if (log->is_open)
        end_item(log, &end, last_seq);
}

/*
 * The previous item may have become an event that its worker stored before it began this one, and
 * that is not read yet. So its end is anchored after everything stored so far, and withdrawn if the
 * event appears.
 */
static void supersede(struct progress_log *log, const struct progress *progress, int64_t last_seq)
{
    int64_t stored_seq = progress->anchor_seq > last_seq ? progress->anchor_seq : last_seq;

    if (!log->is_open)
        return;
    log->superseded_id = log->item_id;
    /* Another attempt at the same item: this one became no event. */
    log->superseded_by = text_equal(log->item_id.text, progress->item_id.text) ? -1 : log->count;
    progress_log_abort(log, "superseded", stored_seq);
}

/* The piece stays, so that sockets learn that the item is over. */
static void take_back_end(struct progress_log *log)
{
    if (log->superseded_by >= log->first)
        frame_release(TAKE_PTR(piece_at(log, log->superseded_by)->forms[FORM_SESSION]));
    log->superseded_by = -1;
}

static void begin(struct progress_log *log, const struct progress *progress, int64_t last_seq)
{
    supersede(log, progress, last_seq);
    frame_release(TAKE_PTR(log->aborted));
    log->item++;
    log->is_open = true;
    log->item_id = progress->item_id;
    log->item_anchor = progress->anchor_seq;
    log->attempt = progress->attempt;
    push(log, progress, log->item, progress->anchor_seq);
}

/*
 * True for an attempt that is first heard of when it fails. A job's attempt during a run's answer
 * is not shown; one that was anchored after that answer was stored is the run's current call.
 */
static bool is_told_at_its_end(const struct progress_log *log, const struct progress *end)
{
    return end->n_attempts > 0 && !is_of_item(log, end) &&
           (!log->is_open || end->anchor_seq > log->item_anchor);
}

static void begin_silent(struct progress_log *log, const struct progress *end, int64_t last_seq)
{
    struct progress started = *end;

    started.kind = PROGRESS_STARTED;
    begin(log, &started, last_seq);
}

void progress_log_add(struct progress_log *log, const struct progress *progress, int64_t last_seq)
{
    switch (progress->kind) {
    case PROGRESS_STARTED:
        begin(log, progress, last_seq);
        return;
    case PROGRESS_TEXT:
    case PROGRESS_REASONING:
        push(log, progress, is_of_item(log, progress) ? log->item : 0, progress->anchor_seq);
        return;
    case PROGRESS_ABORTED:
        if (is_told_at_its_end(log, progress))
            begin_silent(log, progress, last_seq);
        if (is_of_item(log, progress))
            end_item(log, progress, last_seq);
        return;
    case PROGRESS_N_KINDS:
        return;
    }
}

void progress_log_see_event(struct progress_log *log, const struct uuid *id)
{
    if (log->is_open && text_equal(log->item_id.text, id->text))
        log->is_open = false;
    if (log->superseded_by >= 0 && text_equal(log->superseded_id.text, id->text))
        take_back_end(log);
}

/* --- sending --- */

/* Whether the session socket gets the piece: it sees only items whose beginning it saw. */
static bool is_for_session(const struct piece *piece, struct progress_cursor *cursor)
{
    if (piece->kind == PROGRESS_STARTED) {
        cursor->open_item = piece->item;
        return true;
    }
    if (piece->item == 0 || piece->item != cursor->open_item)
        return false;
    if (piece->kind == PROGRESS_ABORTED)
        cursor->open_item = 0;
    return true;
}

/* A subscriber too slow for the piece that ended its item still gets the end. */
static struct frame *lost_end(const struct progress_log *log, struct progress_cursor *cursor,
                              enum frame_form form)
{
    if (form != FORM_SESSION || log->aborted == NULL || cursor->open_item != log->item)
        return NULL;
    cursor->open_item = 0;
    return frame_hold(log->aborted);
}

struct frame *progress_log_next(const struct progress_log *log, struct progress_cursor *cursor,
                                int64_t last_sent, enum frame_form form)
{
    if (cursor->n_seen < log->first)
        cursor->n_seen = log->first;
    while (cursor->n_seen < log->count) {
        const struct piece *piece = &log->pieces[cursor->n_seen % log->n_places];

        if (piece->anchor > last_sent)
            return NULL;
        cursor->n_seen++;
        if (form == FORM_SESSION && !is_for_session(piece, cursor))
            continue;
        if (piece->forms[form] != NULL)
            return frame_hold(piece->forms[form]);
    }
    return lost_end(log, cursor, form);
}
