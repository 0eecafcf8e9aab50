/*
 * Pieces of answers on their way to whoever watches: gathered for a moment, so that a thousand
 * talking models make a hundred notifications rather than a thousand times fifty.
 *
 * Ownership: a telling belongs to its conversation's thread, and is in the outbox only while it has
 * pieces to be sent.
 * Threading: outbox_add() and outbox_leave() from a conversation's thread; the others from the main
 * thread.
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

/* What the model said, each chunk of it to be told as a piece of its own. */
struct chunks {
    struct strbuf text;
    size_t *lengths; /* of the chunks in it, in bytes */
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
    struct progress progress; /* the next line, but for its kind and text */
    struct chunks reasoning;  /* masked, not sent yet; goes before text */
    struct chunks text;
};

/* hints: borrowed, sends what is added; outlives the outbox. */
int outbox_new(struct hints *hints, struct outbox **outbox_out,
               struct error *err) NONNULL MUST_CHECK;
void outbox_free(struct outbox *outbox);

/* Adds a piece to the item's text or reasoning. */
void outbox_add(struct outbox *outbox, struct outbox_item *item, enum progress_kind kind,
                const char *text, size_t len) NONNULL;
/* Sends what the item still has, then a last line of that kind and text. */
void outbox_end(struct outbox *outbox, struct outbox_item *item, enum progress_kind kind,
                const char *text) NONNULL;
/* Sends what the item still has: its event is about to be stored. */
void outbox_leave(struct outbox *outbox, struct outbox_item *item) NONNULL;

/* Readable when outbox_pump() has something to do. */
int outbox_fd(const struct outbox *outbox) NONNULL MUST_CHECK;
/* Hands what is gathered to the hints, or sees to it that this happens a little later. */
void outbox_pump(struct outbox *outbox) NONNULL;

#endif
