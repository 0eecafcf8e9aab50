/* The request of a call of OpenAI's Responses (see responses.h). */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/formats/responses.h"
#include "llm/llm.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

#define EFFORT_DEFAULT "high"

static bool reasons(const struct catalogue *catalogue, const struct llm_request *request)
{
    const char *name = catalogue_model_name(request->spec);
    const struct model_facts *facts = catalogue_find_model(catalogue, name);
    const json_t *overrides = json_object_get(request->spec, "capability_overrides");
    bool is_known = facts != NULL
                        ? facts->is_reasoning
                        : catalogue_ask_feature(catalogue, MODEL_EFFORT, name) == MODEL_YES;

    return json_bool_or(overrides, "supports_reasoning_effort", is_known) != 0;
}

static void copy_member(json_t *body, const char *key, json_t *value)
{
    if (value != NULL && !json_is_null(value))
        json_put(body, key, json_incref(value));
}

/* A model that reasons refuses sampling parameters. */
static void put_sampling(json_t *body, const struct llm_request *request,
                         const struct llm_plan *plan)
{
    if (plan->is_warm)
        json_put(body, "temperature", json_real(1.0));
    else
        copy_member(body, "temperature", json_object_get(request->spec, "temperature"));
    copy_member(body, "top_p", json_object_get(request->spec, "top_p"));
}

/* Encrypted reasoning can be sent back in the next call. */
static void put_reasoning(json_t *body, const struct llm_request *request)
{
    const json_t *set = json_object_get(request->spec, "reasoning_effort");
    const char *effort = set == NULL ? EFFORT_DEFAULT : json_string_value(set);
    json_t *reasoning = json_object();
    json_t *include = NULL;

    json_put_text(reasoning, "effort", effort);
    json_put_text(reasoning, "summary", json_text_or(request->spec, "reasoning_summary", NULL));
    json_put(body, "reasoning", reasoning);
    if (json_bool_or(request->spec, "enable_encrypted_reasoning", 1) == 0)
        return;
    include = json_array();
    json_push(include, json_text_of("reasoning.encrypted_content"));
    json_put(body, "include", include);
}

static void put_cache(json_t *body, const struct catalogue *catalogue,
                      const struct llm_request *request)
{
    json_put_text(body, "prompt_cache_key", request->conversation_id);
    if (catalogue_ask_feature(catalogue, MODEL_CACHE_RETENTION,
                              catalogue_model_name(request->spec)) == MODEL_YES)
        copy_member(body, "prompt_cache_retention",
                    json_object_get(request->spec, "prompt_cache_retention"));
}

static json_t *members_of(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_route *route, const struct llm_plan *plan)
{
    json_t *body = json_object();

    json_put_text(body, "model", route->model);
    json_put(body, "store", json_false());
    copy_member(body, "max_output_tokens", json_object_get(request->spec, "max_output_tokens"));
    if (reasons(catalogue, request))
        put_reasoning(body, request);
    else
        put_sampling(body, request, plan);
    put_cache(body, catalogue, request);
    if (plan->is_stream)
        json_put(body, "stream", json_true());
    (void)json_object_update(body, json_object_get(request->spec, "litellm_extra_body"));
    return body;
}

static void append_instructions(struct strbuf *out, const struct llm_prompt *prompt)
{
    json_auto_t *text = json_text(prompt->system.text, prompt->system.len);

    strbuf_append(out, "\"instructions\":");
    json_append_text(out, text);
    strbuf_append_char(out, ',');
}

/* Inserts the prompt, unless the specification has its own. */
static void append_texts(struct strbuf *out, const struct llm_prompt *prompt, const json_t *rest)
{
    if (prompt->system.len > 0 && json_object_get(rest, "instructions") == NULL)
        append_instructions(out, prompt);
    if (json_object_get(rest, "input") == NULL) {
        strbuf_append(out, "\"input\":[");
        strbuf_append_bytes(out, prompt->messages.text, prompt->messages.len);
        strbuf_append(out, "],");
    }
    if (prompt->tools.len > 0 && json_object_get(rest, "tools") == NULL) {
        strbuf_append(out, "\"tools\":");
        strbuf_append_bytes(out, prompt->tools.text, prompt->tools.len);
        strbuf_append(out, ",\"tool_choice\":\"auto\",");
    }
}

char *responses_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                             const struct llm_route *route, const struct llm_plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *rest = NULL;
    const struct llm_prompt *prompt = request->prompt;
    json_auto_t *body = members_of(catalogue, request, route, plan);

    rest = json_to_text(body);
    strbuf_reserve(&text,
                   prompt->system.len + prompt->messages.len + prompt->tools.len + strlen(rest));
    strbuf_append_char(&text, '{');
    append_texts(&text, prompt, body);
    strbuf_append(&text, rest + 1);
    return strbuf_take(&text);
}
