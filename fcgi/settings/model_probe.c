#include "fcgi/settings/model_probe.h"

#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/settings/user_documents.h"
#include "llm/llm.h"
#include "llm/llm_prompt.h"

/* The client waits for the result, and some models think before their first word. */
enum { PROBE_TIMEOUT_S = 20, PROBE_OUTPUT_TOKENS = 16 };

static const char question[] =
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}";

json_t *model_verdict(const char *type, const char *message)
{
    json_t *verdict = json_object();
    json_t *error = json_object();

    json_put(verdict, "valid", json_boolean(type == NULL));
    json_put_text(error, "type", type);
    json_put_text(error, "message", message);
    if (type != NULL)
        json_put(verdict, "error", json_incref(error));
    else
        json_put(verdict, "error", json_null());
    json_decref(error);
    return verdict;
}

/* A copy of the object with limits that keep the call short: one attempt, few tokens. */
static json_t *short_spec(const json_t *llm)
{
    json_t *spec = json_deep_copy(llm);

    json_put(spec, "num_retries", json_integer(1));
    json_put(spec, "timeout", json_integer(PROBE_TIMEOUT_S));
    json_put(spec, "stream_idle_timeout", json_integer(PROBE_TIMEOUT_S));
    json_put(spec, "stream", json_false());
    json_put(spec, "max_output_tokens", json_integer(PROBE_OUTPUT_TOKENS));
    return spec;
}

static int call_model(const struct request *request, const struct llm_request *asked,
                      struct llm_failure *failure, struct error *err)
{
    CLEANUP(llm_call_freep) struct llm_call *call = llm_call_new(request->context->llm);
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct wait_slots *slots = request->context->wait_slots;
    int rc = wait_slot_take(slots, &request->principal.user_id, err);

    if (rc < 0)
        return -1;
    rc = llm_call_run(call, asked, &reply, failure, err);
    wait_slot_return(slots, &request->principal.user_id);
    return rc;
}

/* The server's own model URL is trusted as the administrator's, whoever names it. */
static enum address_owner owner_of(const struct request *request, const json_t *llm)
{
    const struct fcgi_settings *settings = request->context->settings;
    const char *base_url = json_text_or(llm, "base_url", "");
    bool is_servers =
        settings->model_base_url[0] != '\0' && text_equal(base_url, settings->model_base_url);

    return is_servers || settings->llm_allow_private != 0 ? ADDRESS_OF_ADMINISTRATOR
                                                          : ADDRESS_OF_USER;
}

json_t *model_probe(const struct request *request, json_t *llm)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *spec = short_spec(llm);
    json_auto_t *message = NULL;

    if (json_parse(question, sizeof(question) - 1, &message, &err) < 0)
        return model_verdict("InternalError", err.message);
    llm_prompt_begin(&prompt, request->context->catalogue, spec);
    llm_prompt_add(&prompt, message);
    secret_set(&key, user_documents_llm_key(request, llm));
    /* A model that uses up its tokens on thinking passes the test. */
    if (call_model(request,
                   &(struct llm_request){.spec = spec,
                                         .address_of = owner_of(request, llm),
                                         .api_key = &key,
                                         .prompt = &prompt,
                                         .usage_id = "probe"},
                   &failure, &err) < 0 &&
        failure.kind != LLM_FAILURE_NO_RESPONSE)
        return model_verdict(llm_failure_code(&failure),
                             failure.detail[0] != '\0' ? failure.detail : err.message);
    return model_verdict(NULL, NULL);
}
