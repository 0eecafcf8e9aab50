#include "llm/formats/call_signature.h"

#include "base/json.h"
#include "llm/call_id.h"
#include "llm/formats/thinking.h"
#include "llm/llm_prompt.h"

#define FOREIGN_SIGNATURE "skip_thought_signature_validator"

const char *call_signature(const struct llm_prompt *prompt, const json_t *message, size_t i)
{
    const json_t *call = json_array_get(json_object_get(message, "tool_calls"), i);
    const char *own = call_id_signature(json_text_or(call, "id", ""));

    if (own != NULL &&
        thinking_has_model(json_object_get(message, "thinking_blocks"), prompt->model))
        return own;
    return i == 0 && prompt->features.needs_signatures ? FOREIGN_SIGNATURE : NULL;
}
