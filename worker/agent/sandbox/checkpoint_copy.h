/*
 * Copies the files of a checkpoint from another sandbox of the same user into the run's: a fork
 * begins with files of its source.
 *
 * Both sandboxes are outside data to each other: each checks every object against its name.
 *
 * Threading: the conversation's thread.
 * Source:    docs/api/action-server.md, section 10
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_CHECKPOINT_COPY_H
#define DEFT_WORKER_AGENT_SANDBOX_CHECKPOINT_COPY_H

#include "base/attr.h"
#include "worker/agent/sandbox/sandbox.h"

struct agent;
struct error;

/* A checkpoint in another sandbox; borrows. */
struct foreign_checkpoint {
    const char *runtime_session;
    const char *runtime_id; /* NULL: of the session's present sandbox */
    const char *tree;       /* NULL: taken now */
};

#define CHECKPOINT_TREE_BYTES 65

/*
 * Makes the run's sandbox have the objects of the checkpoint, and gives its tree. Wakes the other
 * sandbox, but starts no new one. Errors: ERROR_NOT_FOUND if the sandbox or the objects are gone,
 * ERROR_UNAVAILABLE, ERROR_INVALID with the sandbox's words, ERROR_CANCELLED after a stop request,
 * ERROR_TOO_LARGE.
 */
int checkpoint_copy(struct agent *agent, const struct foreign_checkpoint *from,
                    char tree_out[CHECKPOINT_TREE_BYTES], struct error *err) NONNULL MUST_CHECK;

#endif
