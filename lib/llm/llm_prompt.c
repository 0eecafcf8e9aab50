#include "llm/llm_prompt.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/bedrock_models.h"
#include "llm/call_id.h"
#include "llm/claude.h"
#include "llm/format.h"
#include "llm/gemini_models.h"
#include "llm/llm_error.h"
#include "llm/route.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

/* The form that a model's prompt has. */
struct form {
    const struct llm_format *format;
    struct llm_features features;
};

static bool marks_cache(const json_t *spec, const char *model,
                        const struct route_provider *provider)
{
    const json_t *overrides = json_object_get(spec, "capability_overrides");

    return provider->takes_cache_marks && json_bool_or(spec, "caching_prompt", 1) != 0 &&
           json_bool_or(overrides, "supports_prompt_cache", claude_find(model) != NULL) != 0;
}

bool llm_takes_images(const struct catalogue *catalogue, const json_t *spec)
{
    const json_t *overrides = json_object_get(spec, "capability_overrides");
    const struct model_facts *facts = catalogue_find_model(catalogue, catalogue_model_name(spec));
    bool has_vision = facts == NULL || facts->has_vision;

    return json_bool_or(spec, "disable_vision", false) == 0 &&
           json_bool_or(overrides, "supports_vision", has_vision) != 0;
}

static bool takes_stop_words(const struct catalogue *catalogue, const json_t *spec,
                             const char *model)
{
    const json_t *overrides = json_object_get(spec, "capability_overrides");
    bool takes = catalogue_ask_feature(catalogue, MODEL_STOP_WORDS, model) != MODEL_NO;

    return json_bool_or(spec, "disable_stop_word", false) == 0 &&
           json_bool_or(overrides, "supports_stop_words", takes) != 0;
}

/* A LiteLLM proxy passes signatures on to Google's models, and would send others the whole id. */
static enum llm_signatures signatures_of(const struct route_provider *provider, const char *model)
{
    if (provider->takes_litellm)
        return strstr(model, "gemini") != NULL ? LLM_SIGNATURES_IN_IDS : LLM_SIGNATURES_LEFT_OUT;
    return provider->takes_signatures ? LLM_SIGNATURES_BESIDE : LLM_SIGNATURES_LEFT_OUT;
}

static bool takes_result_images(enum llm_format_kind format, const char *model)
{
    if (format == LLM_FORMAT_BEDROCK)
        return bedrock_takes_full_results(model);
    return format != LLM_FORMAT_GEMINI || gemini_takes_result_images(model);
}

/* A model without a provider is refused when it is called, so its form does not matter. */
static struct form form_of(const struct catalogue *catalogue, const json_t *spec)
{
    static const struct route_provider no_provider = {.format = LLM_FORMAT_CHAT};
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    struct llm_error ignored = LLM_ERROR_INIT;
    const char *model = catalogue_model_name(spec);
    const struct route_provider *provider = &no_provider;
    enum llm_format_kind format = LLM_FORMAT_CHAT;
    bool is_plain = catalogue_ask_feature(catalogue, MODEL_PLAIN_TEXT, model) == MODEL_YES;

    if (llm_route_choose(catalogue, spec, &route, &ignored) == 0) {
        provider = route.provider;
        format = route.format;
    }
    return (struct form){
        .format = llm_format_of(format),
        .features =
            {
                .takes_litellm = provider->takes_litellm,
                .takes_images = llm_takes_images(catalogue, spec),
                .takes_reasoning =
                    catalogue_ask_feature(catalogue, MODEL_REASONING_BACK, model) == MODEL_YES,
                .takes_plain = json_bool_or(spec, "force_string_serializer", is_plain) != 0,
                .marks_cache = marks_cache(spec, model, provider),
                .calls_as_text = json_bool_or(spec, "native_tool_calling", 1) == 0,
                .takes_stop_words = takes_stop_words(catalogue, spec, model),
                .takes_example =
                    catalogue_ask_feature(catalogue, MODEL_CALL_EXAMPLE, model) != MODEL_NO,
                .signatures = signatures_of(provider, model),
                .needs_signatures = gemini_needs_signatures(model),
                .takes_result_images = takes_result_images(format, model),
                .takes_outcomes = format == LLM_FORMAT_BEDROCK && bedrock_takes_full_results(model),
            },
    };
}

static bool is_same_form(const struct llm_prompt *prompt, const struct form *form)
{
    const struct llm_features *own = &prompt->features;
    const struct llm_features *other = &form->features;

    return prompt->format == form->format && own->takes_litellm == other->takes_litellm &&
           own->takes_images == other->takes_images &&
           own->takes_reasoning == other->takes_reasoning &&
           own->takes_plain == other->takes_plain && own->marks_cache == other->marks_cache &&
           own->calls_as_text == other->calls_as_text &&
           own->takes_stop_words == other->takes_stop_words &&
           own->takes_example == other->takes_example && own->signatures == other->signatures &&
           own->needs_signatures == other->needs_signatures &&
           own->takes_result_images == other->takes_result_images &&
           own->takes_outcomes == other->takes_outcomes;
}

void llm_prompt_done(struct llm_prompt *prompt)
{
    if (prompt == NULL)
        return;
    mem_free(prompt->model);
    strbuf_done(&prompt->system);
    strbuf_done(&prompt->messages);
    strbuf_done(&prompt->tools);
    text_calls_done(&prompt->calls);
    *prompt = (struct llm_prompt)LLM_PROMPT_INIT;
}

void llm_prompt_begin(struct llm_prompt *prompt, const struct catalogue *catalogue,
                      const json_t *spec)
{
    const struct llm_prompt_end nothing = LLM_PROMPT_END_INIT;
    struct form form = form_of(catalogue, spec);

    llm_prompt_rewind(prompt, &nothing);
    strbuf_reset(&prompt->tools);
    text_calls_done(&prompt->calls);
    prompt->calls.catalogue = catalogue;
    prompt->calls.takes_example = form.features.takes_example;
    prompt->calls.takes_stop_words = form.features.takes_stop_words;
    mem_free(prompt->model);
    prompt->model = mem_dup_text(json_text_or(spec, "model", ""));
    prompt->format = form.format;
    prompt->features = form.features;
}

bool llm_prompt_fits(const struct llm_prompt *prompt, const struct catalogue *catalogue,
                     const json_t *spec)
{
    struct form form = form_of(catalogue, spec);

    return prompt->format != NULL && is_same_form(prompt, &form) &&
           text_equal(prompt->model, json_text_or(spec, "model", ""));
}

void llm_prompt_add(struct llm_prompt *prompt, json_t *message)
{
    json_auto_t *opening = NULL;
    json_auto_t *own = NULL;
    json_auto_t *bare = NULL;

    if (prompt->features.signatures == LLM_SIGNATURES_LEFT_OUT)
        bare = call_ids_without_signatures(message);
    if (bare != NULL)
        message = bare;
    if (prompt->features.calls_as_text) {
        opening = text_calls_opening(&prompt->calls, &prompt->end.calls, message);
        own = text_calls_message(&prompt->calls, &prompt->end.calls, message);
    }
    if (opening != NULL)
        prompt->format->add_message(prompt, opening);
    prompt->format->add_message(prompt, own != NULL ? own : message);
    prompt->end.system_len = prompt->system.len;
    prompt->end.messages_len = prompt->messages.len;
}

void llm_prompt_set_tools(struct llm_prompt *prompt, const json_t *tools)
{
    strbuf_reset(&prompt->tools);
    if (json_array_size(tools) > 0 && prompt->features.calls_as_text)
        text_calls_set(&prompt->calls, tools);
    else if (json_array_size(tools) > 0)
        prompt->format->add_tools(prompt, tools);
}

void llm_prompt_rewind(struct llm_prompt *prompt, const struct llm_prompt_end *end)
{
    strbuf_truncate(&prompt->system, end->system_len);
    strbuf_truncate(&prompt->messages, end->messages_len);
    prompt->end = *end;
}
