/*
 * Crash points: places where a test ends the process as kill -9 would, to show that nothing is
 * lost. Inert unless DEFT_CRASH_AT=name:n is set: then the process ends at the n-th passage of that
 * point, counted over all its threads.
 *
 * Threading: crash_points_init() before the first thread, all others from any thread.
 */
#ifndef DEFT_BASE_CRASH_H
#define DEFT_BASE_CRASH_H

#include <stdatomic.h>

#include "base/attr.h"

struct error;

#define CRASH_POINTS(X)                                                                            \
    X(CRASH_CLAIM_COMMITTED, "claim_committed")   /* the lease is ours, nothing was done */        \
    X(CRASH_LLM_SENT, "llm_sent")                 /* the model call is about to start */           \
    X(CRASH_LLM_HALF, "llm_half")                 /* part of the streamed answer is in */          \
    X(CRASH_LLM_DONE, "llm_done")                 /* its answer is in, not stored */               \
    X(CRASH_ACTION_COMMITTED, "action_committed") /* the calls are stored, none has run */         \
    X(CRASH_CHECKPOINT_TAKEN, "checkpoint_taken") /* the sandbox has it, its row is not stored */  \
    X(CRASH_CHECKPOINT_STORED, "checkpoint_stored") /* the row is stored, no call has run */       \
    X(CRASH_AES_BEFORE_SEND, "aes_before_send")     /* the sandbox is ready, nothing was sent */   \
    X(CRASH_AES_SENT, "aes_sent")                   /* the action is sent or running */            \
    X(CRASH_AES_STARTED, "aes_started")             /* the sandbox says that the action runs */    \
    X(CRASH_AES_RESULT_READ, "aes_result_read")     /* its result is read, not examined */         \
    X(CRASH_OBS_BEFORE_COMMIT, "obs_before_commit") /* the result is ready to be stored */         \
    X(CRASH_OBS_COMMIT_SENT, "obs_commit_sent")     /* it was sent to the database */              \
    X(CRASH_OBS_COMMITTED, "obs_committed")         /* stored; the sandbox was not notified */     \
    X(CRASH_SERVER_CALL_NOTED, "server_call_noted") /* an MCP call is noted, not sent */           \
    X(CRASH_SERVER_CALL_ANSWERED, "server_call_answered") /* its answer is in, not stored */       \
    X(CRASH_CHILD_BEFORE_COMMIT, "child_before_commit")   /* a child is ready to be stored */      \
    X(CRASH_CHILD_COMMITTED, "child_committed")           /* it is stored, no hint was sent */     \
    X(CRASH_WAIT_BEFORE_COMMIT, "wait_before_commit")     /* the run is about to suspend */        \
    X(CRASH_WAIT_COMMITTED, "wait_committed")             /* it waits for sub-agents */            \
    X(CRASH_REPLY_SENT, "reply_sent")                     /* the client has its answer */

#define X(constant, text) constant,
enum crash_name { CRASH_POINTS(X) CRASH_N_POINTS };
#undef X

struct crash_points {
    enum crash_name armed; /* CRASH_N_POINTS: none */
    atomic_long n_left;
    atomic_bool is_expected; /* the next statement sent passes the armed point */
};

/* text: "" or name:n; ERROR_INVALID otherwise. */
int crash_points_init(struct crash_points *points, const char *text,
                      struct error *err) NONNULL MUST_CHECK;
/* Ends the process when this is the armed point and its count is reached. NULL: no points. */
void crash_point(struct crash_points *points, enum crash_name name);
/*
 * For a point between a statement and the database's answer: the next statement that is sent passes
 * it, whichever thread sends it.
 */
void crash_expect_sent(struct crash_points *points, enum crash_name name) NONNULL;
/* A statement was sent: passes the expected point, if any. NULL: no points. */
void crash_sent(struct crash_points *points);

#endif
