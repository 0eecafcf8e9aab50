/*
 * Deltas of a response that the model is still generating: never stored, sent to connected clients
 * only. A worker writes them as lines; a gateway reads them and builds frames.
 *
 * An item is one such response. It begins with STARTED, continues with TEXT and REASONING, and ends
 * with the stored event of the same id, or with ABORTED. TOOL belongs to no item: a tool reports
 * how far its call is. Ownership: texts are borrowed. Source: the wire contract's session socket,
 * and its StreamingDeltaEvent.
 */
#ifndef DEFT_MODEL_EVENT_PROGRESS_H
#define DEFT_MODEL_EVENT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"

struct error;

#define PROGRESS_KINDS(X)                                                                          \
    X(PROGRESS_STARTED, "item_started")                                                            \
    X(PROGRESS_TEXT, "text")                                                                       \
    X(PROGRESS_REASONING, "reasoning")                                                             \
    X(PROGRESS_ABORTED, "item_aborted")                                                            \
    X(PROGRESS_TOOL, "tool_progress")

#define X(constant, text) constant,
enum progress_kind { PROGRESS_KINDS(X) PROGRESS_N_KINDS };
#undef X

/* Longer text is split into lines, each of which fits a notification even if all is escaped. */
enum { PROGRESS_TEXT_MAX_BYTES = 1200, PROGRESS_CHUNKS_MAX = 64 };

struct progress {
    struct uuid conversation_id;
    struct uuid item_id; /* id of the event that the response becomes; of TOOL: of the call's */
    enum progress_kind kind;
    int64_t attempt;    /* from 1: a failed request is retried */
    int64_t order;      /* of TEXT and REASONING, from 0 */
    int64_t anchor_seq; /* of STARTED: seq of the newest event that the model has seen; of TOOL:
                           that of the call's */
    const char *text;   /* the delta, the reason for ABORTED, or the tool's message; else "" */
    const char *chunk_id;
    const size_t *lengths; /* of the chunks in a line's text, in bytes */
    size_t n_lengths;      /* at most PROGRESS_CHUNKS_MAX; 0: a single chunk */
    /* Of ABORTED if another attempt follows; else 0. Members that deft adds to the frame. */
    int64_t n_attempts;     /* maximum number of attempts */
    int64_t retry_in_ms;    /* until the next one begins, from this line */
    int64_t gives_up_in_ms; /* of an outage: until it is no longer waited out; else 0 */
    /* Of TOOL, finite. */
    double done;
    double total; /* above 0; 0: not known */
};

/* Appends the line, without a newline: the conversation's id, a space, the rest as JSON. */
void progress_append_line(const struct progress *progress, struct strbuf *out) NONNULL;
/*
 * Reads the JSON of a line; conversation_id is left alone. The strings live as long as *json_out,
 * which the caller owns. Read its chunks with progress_next_chunk(). ERROR_INVALID.
 */
int progress_read(const char *text, size_t len, json_t **json_out, struct progress *progress_out,
                  struct error *err) NONNULL MUST_CHECK;

/* Iterates over the chunks of a line that was read. */
struct progress_chunks {
    const json_t *lengths; /* NULL: the line is one chunk */
    const char *at;
    size_t i;
    struct strbuf text; /* of the chunk */
};
struct progress_chunks progress_chunks_of(const json_t *json,
                                          const struct progress *line) NONNULL MUST_CHECK;
void progress_chunks_done(struct progress_chunks *chunks);
/* Gives the next chunk as a delta with its own order; its text lives until the next call. */
bool progress_next_chunk(struct progress_chunks *chunks, const struct progress *line,
                         struct progress *chunk_out) NONNULL MUST_CHECK;

/* Appends the frame of the session socket. */
void progress_append_frame(const struct progress *progress, struct strbuf *out) NONNULL;
/* Appends the StreamingDeltaEvent of a delta, with a new id. */
void progress_append_event(const struct progress *progress, int64_t now_us,
                           struct strbuf *out) NONNULL;

#endif
