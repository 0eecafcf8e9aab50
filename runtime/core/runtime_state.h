/*
 * Transitions of a runtime by request and status, as a table. Pure.
 */
#ifndef DEFT_RUNTIME_CORE_RUNTIME_STATE_H
#define DEFT_RUNTIME_CORE_RUNTIME_STATE_H

#include <stdbool.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"
#include "store/runtime/runtime_store.h"

/* Requests, and one observed event (lost). */
enum runtime_verb { VERB_START, VERB_PAUSE, VERB_STOP, VERB_DELETE, VERB_LOSE, N_VERBS };

enum runtime_action {
    ACT_NONE,   /* already in that state */
    ACT_LAUNCH, /* start a sandbox on the runtime's home */
    ACT_FREEZE, /* freeze all its processes */
    ACT_THAW,   /* resume them; launch if there is no container */
    ACT_END,    /* remove the sandbox, keep the home */
    ACT_FORGET, /* remove the sandbox, the home and the row */
};

struct runtime_transition {
    enum runtime_action act;
    enum runtime_status next; /* if the act succeeds */
};

/* What the request, or event, does to a runtime of that status. */
struct runtime_transition runtime_state_next(enum runtime_verb verb,
                                             enum runtime_status status) MUST_CHECK;
const char *runtime_verb_to_string(enum runtime_verb verb) MUST_CHECK;
/* The verb that leads to the desired state. */
enum runtime_verb runtime_verb_of(enum runtime_desire desired) MUST_CHECK;

/* --- rows against the back end's list --- */

/* Action for a row. */
enum reconcile_verdict {
    VERDICT_FINE,
    VERDICT_START,            /* a start was interrupted: start again */
    VERDICT_LOST,             /* its sandbox is gone */
    VERDICT_HOLD,             /* paused, but its container is running */
    VERDICT_REMOVE_CONTAINER, /* has a sandbox that should not exist */
    VERDICT_PAUSE,
    VERDICT_STOP,
    VERDICT_DELETE,
};

/* seen: NULL if the back end has no container of that runtime. */
enum reconcile_verdict reconcile_verdict_of(const struct runtime *row,
                                            const struct seen_sandbox *seen)
    __attribute__((nonnull(1))) MUST_CHECK;
/* For a container without a row: true if it is older than the grace period. */
bool runtime_state_is_orphan(const struct seen_sandbox *seen, int64_t now_s,
                             int64_t grace_ms) NONNULL MUST_CHECK;

#endif
