/*
 * Streamed pieces of answers on their way to subscribers, batched briefly: a thousand streaming
 * models cause about a hundred notifications rather than fifty thousand.
 *
 * Ownership: an item belongs to its conversation's thread, and is in the outbox only while it has
 * unsent pieces.
 * Threading: delta_outbox_add(), delta_outbox_end() and delta_outbox_leave() from a conversation's
 * thread; the others from the main thread. Decision: docs/decisions/0014-answers-under-way.md
 */
#ifndef DEFT_WORKER_DELTA_OUTBOX_H
#define DEFT_WORKER_DELTA_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "model/event/progress.h"

struct error;
struct hints;
struct delta_outbox;

/* Model output; each chunk is sent as its own piece. */
struct delta_chunks {
    struct strbuf text;
    size_t *lengths; /* of the chunks in the text, in bytes */
    size_t n;
    size_t size;
};

/* clang-format off */
#define CHUNKS_INIT {STRBUF_INIT, NULL, 0, 0}
/* clang-format on */

void delta_chunks_done(struct delta_chunks *chunks);

/* One item's pieces; guarded by the outbox while is_listed. */
struct delta_item {
    LIST_ENTRY(delta_item) link;
    bool is_listed;
    struct progress progress;      /* the next line, except its kind and text */
    struct delta_chunks reasoning; /* masked, unsent; sent before text */
    struct delta_chunks text;
};

/* hints: borrowed, sends the pieces; outlives the outbox. */
int delta_outbox_new(struct hints *hints, struct delta_outbox **delta_outbox_out,
                     struct error *err) NONNULL MUST_CHECK;
void delta_outbox_free(struct delta_outbox *outbox);

/* Adds a piece to the item's text or reasoning. */
void delta_outbox_add(struct delta_outbox *outbox, struct delta_item *item, enum progress_kind kind,
                      const char *text, size_t len) NONNULL;
/* Sends the item's remaining pieces, then a last line of that kind and text. */
void delta_outbox_end(struct delta_outbox *outbox, struct delta_item *item, enum progress_kind kind,
                      const char *text) NONNULL;
/* Sends the item's remaining pieces: its event is about to be stored. */
void delta_outbox_leave(struct delta_outbox *outbox, struct delta_item *item) NONNULL;

/* Readable when delta_outbox_pump() has work. */
int delta_outbox_fd(const struct delta_outbox *outbox) NONNULL MUST_CHECK;
/* Passes gathered pieces to the hints, or schedules that. */
void delta_outbox_pump(struct delta_outbox *outbox) NONNULL;

#endif
