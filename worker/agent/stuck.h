/*
 * Is the agent going in circles? Looks at what happened since the user last spoke.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_STUCK_H
#define DEFT_WORKER_AGENT_STUCK_H

#include "base/attr.h"

struct history;
struct strbuf;

enum stuck_verdict {
    STUCK_NO,
    STUCK_NUDGE, /* the same failing call three times: say so, once */
    STUCK_YES,
};

/*
 * The verdict over the newest events. For STUCK_NUDGE appends the text that asks the model to try
 * something else.
 */
enum stuck_verdict stuck_look(const struct history *history,
                              struct strbuf *nudge_out) NONNULL MUST_CHECK;

#endif
