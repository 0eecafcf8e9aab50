#include "fcgi/core/request_defaults.h"

#include "auth/principal.h"
#include "base/secret.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"

/* With a sandbox's key the conversation runs in that sandbox. */
struct conversation_defaults request_conversation_defaults(const struct request *request)
{
    const struct fcgi_context *context = request->context;
    const char *base_url = context->settings->model_base_url;
    bool is_sandbox = request->principal.kind == PRINCIPAL_SANDBOX_KEY;

    return (struct conversation_defaults){.runtime_kind =
                                              is_sandbox ? RUNTIME_LOCAL : context->default_runtime,
                                          .model = context_model(context),
                                          .base_url = base_url[0] != '\0' ? base_url : NULL,
                                          .has_browser = context->settings->sandbox_browser != 0};
}

struct start_context request_start_context(const struct request *request)
{
    const struct fcgi_context *context = request->context;
    const struct fcgi_settings *settings = context->settings;
    const struct principal *caller = &request->principal;

    return (struct start_context){
        .db = context->db,
        .catalogue = context->catalogue,
        .keyring = &context->keyring,
        .defaults = request_conversation_defaults(request),
        .llm = {settings->model, settings->model_base_url, secret_reveal(&settings->model_key)},
        .limits = {settings->run_limits, settings->sandbox_max_memory_bytes,
                   settings->sandbox_max_nano_cpus},
        .caller = {.kind = caller->kind == PRINCIPAL_SANDBOX_KEY ? START_BY_SANDBOX : START_BY_USER,
                   .scope = principal_scope(caller),
                   .runtime_session = caller->runtime_session,
                   .runtime_id = caller->runtime_id,
                   .secrets = principal_may(caller, SANDBOX_SECRETS) ? START_SECRETS_READABLE
                                                                     : START_SECRETS_REFUSED},
        .problems = request->problems,
    };
}
