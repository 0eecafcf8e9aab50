/*
 * Is the agent going in circles? Looks at what happened since the user last spoke.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_STUCK_H
#define DEFT_WORKER_AGENT_STUCK_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct history;
struct strbuf;

enum stuck_verdict {
    STUCK_NO,
    STUCK_NUDGE, /* the same failing call again and again: say so, once */
    STUCK_YES,
};

/* How often is too often; each is 1 or more. */
struct stuck_thresholds {
    size_t action_observation;  /* rounds of one call and one result */
    size_t action_error;        /* one call that fails: then a nudge, and stuck with the next */
    size_t monologue;           /* messages of the agent in a row */
    size_t alternating_pattern; /* rounds that take turns */
};

/* Those of a conversation's specification, or what holds without any. */
struct stuck_thresholds stuck_thresholds_of(const json_t *spec) MUST_CHECK;

/*
 * The verdict over the newest events. For STUCK_NUDGE appends the text that asks the model to try
 * something else.
 */
enum stuck_verdict stuck_look(const struct history *history,
                              const struct stuck_thresholds *thresholds,
                              struct strbuf *nudge_out) NONNULL MUST_CHECK;

#endif
