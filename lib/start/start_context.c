#include "start/start_context.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/agent/llm_spec.h"

struct document_scope start_document_scope(const struct start_context *context)
{
    return (struct document_scope){context->db, context->keyring, context->caller.scope.user_id};
}

int start_check_user(const struct start_context *context, struct error *err)
{
    if (context->caller.kind == START_BY_SANDBOX)
        return error_set(err, ERROR_FORBIDDEN,
                         "A sandbox's key may not use its user's saved settings");
    return 0;
}

int start_check_problems(const struct start_context *context, struct error *err)
{
    if (json_array_size(context->problems) > 0)
        return error_set(err, ERROR_INVALID, "the request is not valid");
    return 0;
}

/* True when a value is absent, or the server's own. */
static bool is_servers(const char *value, const char *own)
{
    return value[0] == '\0' || text_equal(value, own);
}

const char *start_llm_key(const struct start_llm *own, const json_t *llm)
{
    const char *key = json_text_or(llm, "api_key", "");

    if (!text_is_blank(key))
        return key;
    return is_servers(json_text_or(llm, "model", ""), own->model) &&
                   is_servers(json_text_or(llm, "base_url", ""), own->base_url) &&
                   !llm_spec_has_aws(llm)
               ? own->key
               : "";
}
