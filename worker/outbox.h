/*
 * Streamed pieces of answers on their way to subscribers, batched briefly: a thousand streaming
 * models cause about a hundred notifications rather than fifty thousand.
 *
 * Ownership: an item belongs to its conversation's thread, and is in the outbox only while it has
 * unsent pieces.
 * Threading: outbox_add(), outbox_end() and outbox_leave() from a conversation's thread; the others
 * from the main thread.
 * Decision: docs/decisions/0014-answers-under-way.md
 */
#ifndef DEFT_WORKER_OUTBOX_H
#define DEFT_WORKER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "model/event/progress.h"

struct error;
struct hints;
struct outbox;

/* Model output; each chunk is sent as its own piece. */
struct chunks {
    struct strbuf text;
    size_t *lengths; /* of the chunks in the text, in bytes */
    size_t n;
    size_t size;
};

/* clang-format off */
#define CHUNKS_INIT {STRBUF_INIT, NULL, 0, 0}
/* clang-format on */

void chunks_done(struct chunks *chunks);

/* One item's pieces; guarded by the outbox while is_listed. */
struct outbox_item {
    struct outbox_item *next;
    struct outbox_item *previous;
    bool is_listed;
    struct progress progress; /* the next line, except its kind and text */
    struct chunks reasoning;  /* masked, unsent; sent before text */
    struct chunks text;
};

/* hints: borrowed, sends the pieces; outlives the outbox. */
int outbox_new(struct hints *hints, struct outbox **outbox_out,
               struct error *err) NONNULL MUST_CHECK;
void outbox_free(struct outbox *outbox);

/* Adds a piece to the item's text or reasoning. */
void outbox_add(struct outbox *outbox, struct outbox_item *item, enum progress_kind kind,
                const char *text, size_t len) NONNULL;
/* Sends the item's remaining pieces, then a last line of that kind and text. */
void outbox_end(struct outbox *outbox, struct outbox_item *item, enum progress_kind kind,
                const char *text) NONNULL;
/* Sends the item's remaining pieces: its event is about to be stored. */
void outbox_leave(struct outbox *outbox, struct outbox_item *item) NONNULL;

/* Readable when outbox_pump() has work. */
int outbox_fd(const struct outbox *outbox) NONNULL MUST_CHECK;
/* Passes gathered pieces to the hints, or schedules that. */
void outbox_pump(struct outbox *outbox) NONNULL;

#endif
