/*
 * What the workers' lines said last of each model that is asked: when it was heard, and for which
 * next attempt it is waited. For sockets that come after the line was sent.
 *
 * Of the MODEL_WAITS_MAX conversations that were heard of last; nothing of it is stored, so that a
 * gateway knows what it was told since its start.
 * Ownership: a table owns its texts.
 */
#ifndef DEFT_GATEWAY_MODEL_WAITS_H
#define DEFT_GATEWAY_MODEL_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct model_waits;
struct progress;

enum { MODEL_WAITS_MAX = 4096 };

struct model_waits *model_waits_new(void) MUST_CHECK;
void model_waits_free(struct model_waits *waits);

/* A line of progress of that conversation, as JSON (model/event/progress.h). now_ms: monotonic. */
void model_waits_hear(struct model_waits *waits, const char *conversation_id, const char *line,
                      int64_t now_ms) NONNULL;
/*
 * True when an attempt at the answer behind last_seq failed and another one follows: *end_out is
 * its end, counted from now_ms. Borrowed until the next call of model_waits_hear().
 */
bool model_waits_find(const struct model_waits *waits, const char *conversation_id,
                      int64_t last_seq, int64_t now_ms,
                      struct progress *end_out) NONNULL MUST_CHECK;
/* When the conversation's model was heard last; -1: not that this table knows. */
int64_t model_waits_heard_ms(const struct model_waits *waits,
                             const char *conversation_id) NONNULL MUST_CHECK;

#endif
