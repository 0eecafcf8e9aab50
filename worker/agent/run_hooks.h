/*
 * The hooks of a run as a whole: at the start of the conversation, for the user's messages, and
 * before the end.
 *
 * Messages are stored before any sandbox is asked, so their hooks run before the model's next call,
 * and the text that they add comes right behind the message.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0089-hooks.md
 */
#ifndef DEFT_WORKER_AGENT_RUN_HOOKS_H
#define DEFT_WORKER_AGENT_RUN_HOOKS_H

#include <stdbool.h>

#include "base/attr.h"

struct agent;
struct error;

/*
 * Runs the SessionStart hooks once in the conversation, and the UserPromptSubmit hooks of each new
 * message once. A hook that blocks the newest message ends the run as finished. Sets *settled_out
 * if something was stored: that completes the step. Errors as hook_run_all(), ERROR_CONFLICT as
 * event_writer_append_unless_spoken().
 */
int run_hooks_begin(struct agent *agent, bool *settled_out, struct error *err) NONNULL MUST_CHECK;
/*
 * For a conversation that is finished: asks the Stop hooks, and ends the run or, if one of them
 * blocks that, continues it with its feedback. A message that came meanwhile continues it, too.
 * Errors as above.
 */
int run_hooks_end(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
