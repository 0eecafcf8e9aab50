/*
 * Detects an agent that repeats itself, from the events since the user's last message.
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
    STUCK_NUDGE, /* the same failing call repeated: warn the model once */
    STUCK_YES,
};

/* Number of repetitions that count as stuck; each is 1 or more. */
struct stuck_thresholds {
    size_t action_observation;  /* rounds of the same call and result */
    size_t action_error;        /* failures of one call: then a nudge, and stuck at the next */
    size_t monologue;           /* consecutive messages of the agent */
    size_t alternating_pattern; /* rounds of two alternating calls */
};

/* The thresholds of a conversation's specification, or the defaults. */
struct stuck_thresholds stuck_thresholds_of(const json_t *spec) MUST_CHECK;

/* Number of newest events that may be looked at. */
size_t stuck_events_looked_at(const struct stuck_thresholds *thresholds) NONNULL MUST_CHECK;

/*
 * Judges the newest events. For STUCK_NUDGE appends the text that asks the model to try something
 * else.
 */
enum stuck_verdict stuck_look(const struct history *history,
                              const struct stuck_thresholds *thresholds,
                              struct strbuf *nudge_out) NONNULL MUST_CHECK;

#endif
