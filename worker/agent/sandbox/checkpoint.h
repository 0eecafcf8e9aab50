/*
 * Checkpoints of a run: the files of the workspace as they were before the turn's first call that
 * may change them. A checkpoint that cannot be taken does not stop the run; the row says why there
 * is none.
 *
 * Threading: the conversation's thread.
 * Decision:  docs/decisions/0101-checkpoints.md
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_CHECKPOINT_H
#define DEFT_WORKER_AGENT_SANDBOX_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct index_list;

/*
 * Begins to take the turn's checkpoint while the model is asked, if one may be due and the sandbox
 * is known to run. Does not wait.
 */
void checkpoint_begin(struct agent *agent) NONNULL;
/*
 * Takes the turn's checkpoint and stores it, if it is due before these calls: returns when the row
 * is stored. May be repeated: until a call has run, the files are the same. ERROR_CANCELLED after a
 * stop request, ERROR_STALE if the lease is lost.
 */
int checkpoint_settle(struct agent *agent, const struct index_list *pending,
                      struct error *err) NONNULL MUST_CHECK;
/* True for the name of a checkpoint in a sandbox, which is outside data. NULL is none. */
bool checkpoint_is_name(const char *tree) MUST_CHECK;
/*
 * Stores a checkpoint that the sandbox has taken. tree: NULL: it has none. Errors as above, without
 * ERROR_CANCELLED.
 */
int checkpoint_store(struct agent *agent, int64_t seq, const char *tree, const json_t *details,
                     struct error *err) __attribute__((nonnull(1, 4, 5))) MUST_CHECK;

#endif
