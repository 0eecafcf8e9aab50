/*
 * The latest state that workers reported of each model being called: when it was last heard from,
 * and which retry is pending. For sockets that connect after the report was sent.
 *
 * Keeps the MODEL_WAITS_MAX most recently reported conversations in memory only, so a gateway knows
 * only reports since its start.
 * Ownership: a table owns its texts.
 * Decision: docs/decisions/0040-model-troubles.md
 */
#ifndef DEFT_GATEWAY_FEED_MODEL_WAITS_H
#define DEFT_GATEWAY_FEED_MODEL_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct model_waits;
struct progress;

enum { MODEL_WAITS_MAX = 4096 };

struct model_waits *model_waits_new(void) MUST_CHECK;
void model_waits_free(struct model_waits *waits);

/*
 * Takes a progress line of that conversation, as JSON (model/event/progress.h); one of a tool says
 * nothing of the model. now_ms: monotonic.
 */
void model_waits_hear(struct model_waits *waits, const char *conversation_id, const char *line,
                      int64_t now_ms) NONNULL;
/*
 * True when an attempt at the answer after last_seq failed and a retry follows: *end_out is the
 * failed attempt's end, its retry_in_ms counted from now_ms. Borrowed until the next call of
 * model_waits_hear().
 */
bool model_waits_find(const struct model_waits *waits, const char *conversation_id,
                      int64_t last_seq, int64_t now_ms,
                      struct progress *end_out) NONNULL MUST_CHECK;
/* When the conversation's model was last heard from; -1: unknown to this table. */
int64_t model_waits_heard_ms(const struct model_waits *waits,
                             const char *conversation_id) NONNULL MUST_CHECK;

#endif
