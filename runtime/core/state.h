/*
 * What may be done with a runtime in which state, as a table. Pure.
 */
#ifndef DEFT_RUNTIME_CORE_STATE_H
#define DEFT_RUNTIME_CORE_STATE_H

#include <stdbool.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"
#include "store/runtime/runtime_store.h"

/* What somebody asks for, or what was seen to have happened (lost). */
enum verb { VERB_START, VERB_PAUSE, VERB_STOP, VERB_DELETE, VERB_LOSE, N_VERBS };

enum act {
    ACT_NONE,   /* it is so already */
    ACT_LAUNCH, /* start a sandbox on the runtime's home */
    ACT_FREEZE, /* hold all that runs in it where it is */
    ACT_THAW,   /* let it go on; with nothing to go on with, launch */
    ACT_END,    /* remove the sandbox, keep the home */
    ACT_FORGET, /* remove the sandbox, the home and the row */
};

struct step {
    enum act act;
    enum runtime_status next; /* when the act succeeds */
};

struct step state_step(enum verb verb, enum runtime_status status) MUST_CHECK;
const char *verb_to_string(enum verb verb) MUST_CHECK;
/* The verb that brings about what is desired. */
enum verb state_verb_of(enum runtime_desire desired) MUST_CHECK;

/* --- a row against what the back end shows --- */

/* What is to be done about a row. */
enum verdict {
    VERDICT_FINE,
    VERDICT_START,            /* a start was cut off: again */
    VERDICT_LOST,             /* its sandbox is no more */
    VERDICT_HOLD,             /* paused, and runs all the same */
    VERDICT_REMOVE_CONTAINER, /* a sandbox is there that should not be */
    VERDICT_PAUSE,
    VERDICT_STOP,
    VERDICT_DELETE,
};

/* seen: NULL when the back end has no container of that runtime. */
enum verdict state_judge(const struct runtime *row, const struct seen_sandbox *seen)
    __attribute__((nonnull(1))) MUST_CHECK;
/* True for a container that no row answers for and that is older than the grace. */
bool state_is_orphan(const struct seen_sandbox *seen, int64_t now_s,
                     int64_t grace_ms) NONNULL MUST_CHECK;

#endif
