/*
 * Decides what to do with a call without a result that another worker may have begun.
 *
 * A sandbox remembers its calls by their ids as long as its files exist. So only a call that an
 * earlier sandbox may have begun is in doubt, and such a call never runs again.
 *
 * Threading: pure.
 * Decision: docs/decisions/0010-calls-in-doubt.md
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_TAKEOVER_H
#define DEFT_WORKER_AGENT_SANDBOX_TAKEOVER_H

#include <stdbool.h>

#include "base/attr.h"

struct takeover_facts {
    const char *used_sandbox; /* the last in which this conversation ran calls; "": none yet */
    const char *sandbox;      /* the current one */
    bool is_inherited;        /* the call was stored before this worker's claim */
};

enum takeover_step {
    TAKEOVER_RUN, /* send it by its id: the sandbox runs it, waits for it, or returns its result */
    TAKEOVER_ASK, /* send it only if this sandbox knows it; else it was lost with the earlier one */
};

/* The step for one call. */
enum takeover_step takeover_decide(const struct takeover_facts *facts) NONNULL MUST_CHECK;

#endif
