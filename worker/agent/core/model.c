#include "worker/agent/core/model.h"

#include <stdbool.h>

#include "base/json.h"
#include "base/secret.h"
#include "base/text.h"
#include "model/agent/llm_spec.h"
#include "model/conversation/conversation.h"
#include "worker/context.h"

void model_choice_done(struct model_choice *choice)
{
    json_decref(choice->spec);
    choice->spec = NULL;
}

/* True if an address is absent or is the server's own, filled in at creation. */
static bool is_servers(const char *value, const char *server_value)
{
    return value[0] == '\0' || text_equal(value, server_value);
}

enum address_owner model_address_owner(const struct conversation *conversation)
{
    return conversation_is_sandbox_clients(conversation) ? ADDRESS_OF_SANDBOX : ADDRESS_OF_USER;
}

static enum address_owner owner_of(const struct worker_context *context,
                                   const struct conversation *conversation, const char *base_url)
{
    const char *servers = context->settings.llm_base_url;
    enum address_owner owner = model_address_owner(conversation);

    if (servers[0] != '\0' && text_equal(base_url, servers))
        return ADDRESS_OF_ADMINISTRATOR;
    if (owner == ADDRESS_OF_USER && context->settings.llm_allow_private != 0)
        return ADDRESS_OF_ADMINISTRATOR;
    return owner;
}

void model_choose(const struct worker_context *context, const struct conversation *conversation,
                  json_t *spec, const struct secret *key, struct model_choice *choice_out)
{
    const struct worker_settings *settings = &context->settings;
    const char *model = json_text_or(spec, "model", "");
    const char *base_url = json_text_or(spec, "base_url", "");

    choice_out->address_of = owner_of(context, conversation, base_url);
    choice_out->key = secret_is_set(key) && key->len > 0 ? key : NULL;
    if (choice_out->key != NULL || !is_servers(model, settings->llm_model) ||
        !is_servers(base_url, settings->llm_base_url) || llm_spec_has_aws(spec)) {
        choice_out->spec = json_incref(spec);
        return;
    }
    choice_out->spec = json_copy(spec);
    choice_out->address_of = ADDRESS_OF_ADMINISTRATOR;
    json_put_text(choice_out->spec, "model", settings->llm_model);
    if (settings->llm_base_url[0] != '\0')
        json_put_text(choice_out->spec, "base_url", settings->llm_base_url);
    choice_out->key = settings->llm_key.len > 0 ? &settings->llm_key : NULL;
}
