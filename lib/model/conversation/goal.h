/*
 * Goals: an objective that a conversation is run for again and again, until a judge finds it met.
 * The state of the loop is part of the specification, so that any worker can go on with it.
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
/* True for a goal that was interrupted. */
bool goal_can_resume(const struct conversation *conversation) NONNULL MUST_CHECK;
/* What a run's end makes due: the name of the job, or NULL. */
const char *goal_job(const struct conversation *conversation) NONNULL MUST_CHECK;

/* A new goal in its first round; all of these change conversation->spec and tell so in an event. */
void goal_start(struct conversation *conversation, const char *objective, json_int_t max_iterations,
                struct event_list *events) NONNULL;
/* verdict: what the judge said last; NULL: as it was. */
void goal_set(struct conversation *conversation, enum goal_status status, json_t *verdict,
              struct event_list *events) __attribute__((nonnull(1, 4)));
/* The next round, after a verdict. False, and capped, when there was the last. */
bool goal_next_round(struct conversation *conversation, json_t *verdict,
                     struct event_list *events) NONNULL MUST_CHECK;
/* The user has another wish: true when that ended a loop, and spec is to be written. */
bool goal_give_way(struct conversation *conversation, struct event_list *events) NONNULL MUST_CHECK;

#endif
