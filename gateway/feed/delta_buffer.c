#include "gateway/feed/delta_buffer.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/core/frame.h"
#include "model/event/progress.h"

enum {
    PIECES_KEPT = 128, /* even if all sockets have seen them */
    PIECES_MAX = 4096, /* while a socket has not */
};

struct delta {
    enum progress_kind kind;
    int64_t item;   /* its number; 0 for pieces of an item whose beginning was missed */
    int64_t anchor; /* the event that must be sent first */
    struct frame *forms[N_FORMS]; /* NULL: not sent to sockets of that form */
};

struct delta_buffer {
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
    struct delta *pieces; /* a ring of n_places */
};

struct delta_buffer *delta_buffer_new(int64_t n_before)
{
    struct delta_buffer *buffer = NEW(struct delta_buffer);

    buffer->first = n_before;
    buffer->count = n_before;
    /* Item numbers are never reused in a stream: there are no more items than pieces. */
    buffer->item = n_before;
    buffer->superseded_by = -1;
    buffer->n_seen_by_all = INT64_MAX;
    buffer->n_places = PIECES_KEPT;
    buffer->pieces = mem_alloc_array(PIECES_KEPT, sizeof(*buffer->pieces));
    return buffer;
}

static struct delta *piece_at(struct delta_buffer *buffer, int64_t number)
{
    return &buffer->pieces[number % buffer->n_places];
}

static void drop_first(struct delta_buffer *buffer)
{
    struct delta *piece = piece_at(buffer, buffer->first++);

    for (size_t i = 0; i < N_FORMS; i++)
        frame_release(TAKE_PTR(piece->forms[i]));
}

void delta_buffer_free(struct delta_buffer *buffer)
{
    if (buffer == NULL)
        return;
    while (buffer->first < buffer->count)
        drop_first(buffer);
    frame_release(buffer->aborted);
    mem_free(buffer->pieces);
    mem_free(buffer);
}

int64_t delta_buffer_count(const struct delta_buffer *buffer)
{
    return buffer->count;
}

bool delta_buffer_is_open(const struct delta_buffer *buffer)
{
    return buffer->is_open;
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

static void grow(struct delta_buffer *buffer)
{
    int64_t n_places = 2 * buffer->n_places;
    struct delta *pieces = mem_alloc_array((size_t)n_places, sizeof(*pieces));

    for (int64_t number = buffer->first; number < buffer->count; number++)
        pieces[number % n_places] = *piece_at(buffer, number);
    mem_free(buffer->pieces);
    buffer->pieces = pieces;
    buffer->n_places = n_places;
}

static void make_room(struct delta_buffer *buffer)
{
    while (buffer->count - buffer->first >= PIECES_KEPT && buffer->first < buffer->n_seen_by_all)
        drop_first(buffer);
    if (buffer->count - buffer->first < buffer->n_places)
        return;
    if (buffer->n_places < PIECES_MAX)
        grow(buffer);
    else
        drop_first(buffer);
}

void delta_buffer_keep(struct delta_buffer *buffer, int64_t n_seen_by_all)
{
    buffer->n_seen_by_all = n_seen_by_all;
}

static void push(struct delta_buffer *buffer, const struct progress *progress, int64_t item,
                 int64_t anchor)
{
    struct delta *piece = NULL;

    make_room(buffer);
    piece = piece_at(buffer, buffer->count++);
    *piece = (struct delta){.kind = progress->kind, .item = item, .anchor = anchor};
    piece->forms[FORM_EVENT] = event_frame(progress);
    if (item > 0 || progress->kind == PROGRESS_TOOL)
        piece->forms[FORM_SESSION] = session_frame(progress);
}

static bool is_of_item(const struct delta_buffer *buffer, const struct progress *progress)
{
    return buffer->is_open && text_equal(buffer->item_id.text, progress->item_id.text) &&
           buffer->attempt == progress->attempt;
}

static void end_item(struct delta_buffer *buffer, const struct progress *end, int64_t last_seq)
{
    buffer->is_open = false;
    push(buffer, end, buffer->item, last_seq);
    frame_release(buffer->aborted);
    buffer->aborted = frame_hold(piece_at(buffer, buffer->count - 1)->forms[FORM_SESSION]);
}

void delta_buffer_abort(struct delta_buffer *buffer, const char *reason, int64_t last_seq)
{
    const struct progress end = {.item_id = buffer->item_id,
                                 .kind = PROGRESS_ABORTED,
                                 .attempt = buffer->attempt,
                                 .text = reason};

    if (buffer->is_open)
        end_item(buffer, &end, last_seq);
}

/*
 * The previous item may have become an event that its worker stored before it began this one, and
 * that is not read yet. So its end is anchored after everything stored so far, and withdrawn if the
 * event appears.
 */
static void supersede(struct delta_buffer *buffer, const struct progress *progress,
                      int64_t last_seq)
{
    int64_t stored_seq = progress->anchor_seq > last_seq ? progress->anchor_seq : last_seq;

    if (!buffer->is_open)
        return;
    buffer->superseded_id = buffer->item_id;
    /* Another attempt at the same item: this one became no event. */
    buffer->superseded_by =
        text_equal(buffer->item_id.text, progress->item_id.text) ? -1 : buffer->count;
    delta_buffer_abort(buffer, "superseded", stored_seq);
}

/* The piece stays, so that sockets learn that the item is over. */
static void take_back_end(struct delta_buffer *buffer)
{
    if (buffer->superseded_by >= buffer->first)
        frame_release(TAKE_PTR(piece_at(buffer, buffer->superseded_by)->forms[FORM_SESSION]));
    buffer->superseded_by = -1;
}

static void begin(struct delta_buffer *buffer, const struct progress *progress, int64_t last_seq)
{
    supersede(buffer, progress, last_seq);
    frame_release(TAKE_PTR(buffer->aborted));
    buffer->item++;
    buffer->is_open = true;
    buffer->item_id = progress->item_id;
    buffer->item_anchor = progress->anchor_seq;
    buffer->attempt = progress->attempt;
    push(buffer, progress, buffer->item, progress->anchor_seq);
}

/*
 * True for an attempt that is first heard of when it fails. A job's attempt during a run's answer
 * is not shown; one that was anchored after that answer was stored is the run's current call.
 */
static bool is_told_at_its_end(const struct delta_buffer *buffer, const struct progress *end)
{
    return end->n_attempts > 0 && !is_of_item(buffer, end) &&
           (!buffer->is_open || end->anchor_seq > buffer->item_anchor);
}

static void begin_silent(struct delta_buffer *buffer, const struct progress *end, int64_t last_seq)
{
    struct progress started = *end;

    started.kind = PROGRESS_STARTED;
    begin(buffer, &started, last_seq);
}

void delta_buffer_add(struct delta_buffer *buffer, const struct progress *progress,
                      int64_t last_seq)
{
    switch (progress->kind) {
    case PROGRESS_STARTED:
        begin(buffer, progress, last_seq);
        return;
    case PROGRESS_TEXT:
    case PROGRESS_REASONING:
        push(buffer, progress, is_of_item(buffer, progress) ? buffer->item : 0,
             progress->anchor_seq);
        return;
    case PROGRESS_ABORTED:
        if (is_told_at_its_end(buffer, progress))
            begin_silent(buffer, progress, last_seq);
        if (is_of_item(buffer, progress))
            end_item(buffer, progress, last_seq);
        return;
    case PROGRESS_TOOL:
        push(buffer, progress, 0, progress->anchor_seq);
        return;
    case PROGRESS_N_KINDS:
        return;
    }
}

void delta_buffer_see_event(struct delta_buffer *buffer, const struct uuid *id)
{
    if (buffer->is_open && text_equal(buffer->item_id.text, id->text))
        buffer->is_open = false;
    if (buffer->superseded_by >= 0 && text_equal(buffer->superseded_id.text, id->text))
        take_back_end(buffer);
}

/* --- sending --- */

/*
 * Whether the session socket gets the piece: it sees only items whose beginning it saw, and
 * progress of tools if it wants that.
 */
static bool is_for_session(const struct delta *piece, struct delta_cursor *cursor)
{
    if (piece->kind == PROGRESS_TOOL)
        return cursor->wants_tool_progress;
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
static struct frame *lost_end(const struct delta_buffer *buffer, struct delta_cursor *cursor,
                              enum frame_form form)
{
    if (form != FORM_SESSION || buffer->aborted == NULL || cursor->open_item != buffer->item)
        return NULL;
    cursor->open_item = 0;
    return frame_hold(buffer->aborted);
}

struct frame *delta_buffer_next(const struct delta_buffer *buffer, struct delta_cursor *cursor,
                                int64_t last_sent, enum frame_form form)
{
    if (cursor->n_seen < buffer->first)
        cursor->n_seen = buffer->first;
    while (cursor->n_seen < buffer->count) {
        const struct delta *piece = &buffer->pieces[cursor->n_seen % buffer->n_places];

        if (piece->anchor > last_sent)
            return NULL;
        cursor->n_seen++;
        if (form == FORM_SESSION && !is_for_session(piece, cursor))
            continue;
        if (piece->forms[form] != NULL)
            return frame_hold(piece->forms[form]);
    }
    return lost_end(buffer, cursor, form);
}
