/*
 * Sets back the files of a conversation's workspace, as a fork or a step back in the log ordered
 * it: before anything else of the run.
 *
 * Threading: the conversation's thread.
 * Decision:  docs/decisions/0101-checkpoints.md
 */
#ifndef DEFT_WORKER_AGENT_RUN_FILES_H
#define DEFT_WORKER_AGENT_RUN_FILES_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct error;

/*
 * Carries out the order in the conversation's state, if there is one, and removes it. The files
 * that are replaced are a checkpoint of the conversation then. If they cannot be set back and the
 * client asked for it, the run ends with an error: *settled_out. ERROR_CANCELLED after a stop
 * request, ERROR_STALE if the lease is lost, ERROR_CONFLICT as event_writer_append_unless_spoken().
 */
int run_files_restore(struct agent *agent, bool *settled_out, struct error *err) NONNULL MUST_CHECK;

#endif
