/*
 * What an execution of a hook decided: by its exit code and, if it printed a JSON object, by that.
 *
 * Ownership: hook_verdict_done() releases its texts.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_AGENT_HOOK_VERDICT_H
#define DEFT_MODEL_AGENT_HOOK_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"

/* A hook's answer to this exit code is "block". */
#define HOOK_EXIT_BLOCKS 2

struct hook_verdict {
    bool is_success; /* it ran, and ended with 0 or HOOK_EXIT_BLOCKS */
    bool is_blocked;
    bool asks_reading;     /* of the workspace, anew */
    struct strbuf reason;  /* for the block; "" if there is none */
    struct strbuf context; /* text for the model; "" if there is none */
};

/* clang-format off */
#define HOOK_VERDICT_INIT {false, false, false, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void hook_verdict_done(struct hook_verdict *verdict) NONNULL;

/*
 * Reads a verdict from an exit code, standard output and standard error. HOOK_EXIT_BLOCKS blocks,
 * for the reason on standard error. A JSON object on standard output decides if it has "decision"
 * ("allow" or "deny") or "continue": false, and may have "reason", "additionalContext" and
 * "reload_knowledge": true, which asks for a reading of the workspace. Any other exit code is a
 * failure that blocks nothing.
 */
void hook_verdict_read(struct hook_verdict *verdict, int64_t exit_code, const char *out,
                       const char *err) NONNULL;

/*
 * Reads a verdict from a model's answer: the JSON object in it, whatever text surrounds it, with
 * the members as above but "reload_knowledge". False, with the verdict as it was, if there is none
 * with "decision" or "continue".
 */
bool hook_verdict_read_answer(struct hook_verdict *verdict, const char *answer) NONNULL MUST_CHECK;

#endif
