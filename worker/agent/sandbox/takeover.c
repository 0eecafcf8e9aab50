#include "worker/agent/sandbox/takeover.h"

#include "base/text.h"

enum takeover_step takeover_decide(const struct takeover_facts *facts)
{
    /* The sandbox is stored before its first call: if none is stored, no call was begun. */
    if (!facts->is_inherited || facts->used_sandbox[0] == '\0' ||
        text_equal(facts->used_sandbox, facts->sandbox))
        return TAKEOVER_RUN;
    return TAKEOVER_ASK;
}
