/*
 * Goals: a conversation runs repeatedly for an objective until a judge finds it met. The loop's
 * state is part of the specification, so any worker can continue it.
 */
#ifndef DEFT_MODEL_CONVERSATION_GOAL_H
#define DEFT_MODEL_CONVERSATION_GOAL_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct event_list;

enum { GOAL_ITERATIONS_DEFAULT = 10 };

#define GOAL_STATUSES(X)                                                                           \
    X(GOAL_RUNNING, "running")                                                                     \
    X(GOAL_COMPLETE, "complete")                                                                   \
    X(GOAL_CAPPED, "capped")                                                                       \
    X(GOAL_INTERRUPTED, "interrupted")

#define X(constant, text) constant,
enum goal_status { GOAL_STATUSES(X) GOAL_N_STATUSES };
#undef X

/* The conversation's goal {"active", "status", "iteration", "max_iterations", "objective",
 * "verdict"}, or NULL. Borrowed. */
json_t *goal_of(const struct conversation *conversation) NONNULL MUST_CHECK;
bool goal_is_active(const struct conversation *conversation) NONNULL MUST_CHECK;
/* True if the goal was interrupted. */
bool goal_can_resume(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The name of the job to add when a run ends, or NULL. */
const char *goal_job(const struct conversation *conversation) NONNULL MUST_CHECK;

/*
 * Starts a goal in its first round. This and all below change conversation->spec and add an event.
 */
void goal_start(struct conversation *conversation, const char *objective, json_int_t max_iterations,
                struct event_list *events) NONNULL;
/* verdict: the judge's latest; NULL: unchanged. */
void goal_set(struct conversation *conversation, enum goal_status status, json_t *verdict,
              struct event_list *events) __attribute__((nonnull(1, 4)));
/* Begins the next round after a verdict. False, with the goal capped, if that was the last. */
bool goal_next_round(struct conversation *conversation, json_t *verdict,
                     struct event_list *events) NONNULL MUST_CHECK;
/*
 * Interrupts the goal for another request of the user. True if it was active: spec must be written.
 */
bool goal_give_way(struct conversation *conversation, struct event_list *events) NONNULL MUST_CHECK;

#endif
