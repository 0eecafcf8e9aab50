/*
 * What to do with a call that has no result, when another worker may have begun it.
 *
 * The sandbox knows its calls by their ids, and remembers them as long as its files live. So only a
 * call that an earlier sandbox may have begun is in doubt, and what is in doubt never runs again.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_TAKEOVER_H
#define DEFT_WORKER_AGENT_SANDBOX_TAKEOVER_H

#include <stdbool.h>

#include "base/attr.h"

struct takeover_facts {
    const char *used_sandbox; /* the last that this conversation ran calls in; "": none yet */
    const char *sandbox;      /* the one there is now */
    bool is_inherited;        /* the call was stored before this worker's claim */
};

enum takeover_step {
    TAKEOVER_RUN, /* hand it over by its id: that runs it, or waits for it, or gives its result */
    TAKEOVER_ASK, /* hand it over only if this sandbox knows it; else it is lost with the other */
};

enum takeover_step takeover_decide(const struct takeover_facts *facts) NONNULL MUST_CHECK;

#endif
