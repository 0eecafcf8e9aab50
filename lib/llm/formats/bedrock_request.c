/* The request of a call of Bedrock's Converse (see bedrock.h). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/claude.h"
#include "llm/format.h"
#include "llm/formats/bedrock.h"
#include "llm/formats/claude_thinking.h"
#include "llm/formats/turn_list.h"
#include "llm/llm.h"
#include "llm/llm_prompt.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

enum {
    EXTRA_BYTES = 1024, /* more than the names of members, a cache point and NO_TOOLS need */
    BYTES_PER_TOKEN = 4,
    TOKENS_PER_IMAGE = 1000,
    /* Prompt and answer must fit the window together: the server refuses the call otherwise. */
    WINDOW_MARGIN_TOKENS = 256,
    OUTPUT_MIN_TOKENS = 1024,
};

/* A history with calls is refused without tools. */
static const char NO_TOOLS[] =
    "[{\"toolSpec\":{\"name\":\"no_tool\",\"description\":\"There are no tools now.\","
    "\"inputSchema\":{\"json\":{\"type\":\"object\",\"properties\":{}}}}}]";
static const char CALL_BEGIN[] = "{\"toolUse\":{";

/* --- tokens of the answer --- */

static int64_t estimated_tokens(const struct llm_prompt *prompt)
{
    size_t bytes = prompt->system.len + prompt->messages.len + prompt->tools.len;

    return (int64_t)((bytes - prompt->end.image_bytes) / BYTES_PER_TOKEN +
                     prompt->end.n_images * TOKENS_PER_IMAGE);
}

/* 0: the server's own maximum. */
static int64_t wanted_tokens(const struct catalogue *catalogue, const json_t *spec)
{
    const struct model_facts *facts = catalogue_find_model(catalogue, catalogue_model_name(spec));

    if (claude_find(catalogue_model_name(spec)) != NULL)
        return claude_max_tokens(catalogue, spec);
    return json_int_or(spec, "max_output_tokens", facts != NULL ? facts->max_output_tokens : 0);
}

static int64_t max_tokens(const struct catalogue *catalogue, const struct llm_request *request)
{
    int64_t wanted = wanted_tokens(catalogue, request->spec);
    int64_t window = llm_window_tokens(catalogue, request->spec);
    int64_t left = window - estimated_tokens(request->prompt) - WINDOW_MARGIN_TOKENS;

    if (left < OUTPUT_MIN_TOKENS)
        left = OUTPUT_MIN_TOKENS;
    return window > 0 && wanted > left ? left : wanted;
}

/* --- reasoning and sampling, which differ between the makers of models --- */

enum maker { MAKER_ANTHROPIC, MAKER_NOVA, MAKER_NOVA_2, MAKER_GPT_OSS, MAKER_MISTRAL, MAKER_OTHER };

static const struct {
    const char *part; /* of a model's name */
    enum maker maker;
} makers[] = {
    {"amazon.nova-2", MAKER_NOVA_2},
    {"amazon.nova", MAKER_NOVA},
    {"openai.gpt-oss", MAKER_GPT_OSS},
    {"mistral.", MAKER_MISTRAL},
};

static enum maker maker_of(const json_t *spec)
{
    if (claude_find(catalogue_model_name(spec)) != NULL)
        return MAKER_ANTHROPIC;
    for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
        if (strstr(catalogue_model_name(spec), makers[i].part) != NULL)
            return makers[i].maker;
    }
    return MAKER_OTHER;
}

/* One of the three words that these models know. */
static const char *plain_effort(const char *effort)
{
    if (text_equal(effort, "minimal"))
        return "low";
    return text_equal(effort, "xhigh") || text_equal(effort, "max") ? "high" : effort;
}

static void put_beta(json_t *fields, const char *beta)
{
    json_t *betas = json_array();

    json_push(betas, json_text_of(beta));
    json_put(fields, "anthropic_beta", betas);
}

/* What is asked of a model in its own words; true if it takes no sampling parameters then. */
static bool put_reasoning(json_t *fields, const struct llm_request *request, enum maker maker,
                          int64_t max_output)
{
    const char *effort = plain_effort(claude_effort_of(request->spec));
    const char *beta = claude_beta_of(request->spec);
    json_t *reasoning = NULL;

    if (maker == MAKER_ANTHROPIC && beta != NULL)
        put_beta(fields, beta);
    if (maker == MAKER_ANTHROPIC)
        return claude_put_thinking(fields, request, max_output);
    if (text_equal(effort, "none"))
        return false;
    if (maker == MAKER_GPT_OSS)
        json_put_text(fields, "reasoning_effort", effort);
    if (maker != MAKER_NOVA_2)
        return false;
    reasoning = json_need_object(fields, "reasoningConfig");
    json_put_text(reasoning, "type", "enabled");
    json_put_text(reasoning, "maxReasoningEffort", effort);
    return text_equal(effort, "high");
}

static void put_number(json_t *object, const char *name, json_t *value)
{
    if (json_is_number(value))
        json_put(object, name, json_incref(value));
}

/* Newer models of Anthropic's take one of temperature and top_p. */
static void put_sampling(json_t *config, json_t *fields, const json_t *spec, enum maker maker,
                         const struct llm_plan *plan)
{
    json_t *temperature = json_object_get(spec, "temperature");
    json_t *top_k = json_object_get(spec, "top_k");

    if (plan->is_warm)
        json_put(config, "temperature", json_real(1.0));
    else
        put_number(config, "temperature", temperature);
    if (maker != MAKER_ANTHROPIC || json_object_size(config) == 0)
        put_number(config, "topP", json_object_get(spec, "top_p"));
    if (maker == MAKER_ANTHROPIC || maker == MAKER_MISTRAL)
        put_number(fields, "top_k", top_k);
    if ((maker == MAKER_NOVA || maker == MAKER_NOVA_2) && json_is_number(top_k))
        put_number(json_need_object(fields, "inferenceConfig"), "topK", top_k);
}

/* --- the body --- */

static json_t *members_of(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_plan *plan)
{
    enum maker maker = maker_of(request->spec);
    int64_t max_output = max_tokens(catalogue, request);
    json_t *stop_words = text_calls_stop_words(&request->prompt->calls);
    json_t *extra = json_object_get(request->spec, "litellm_extra_body");
    json_t *body = json_object();
    json_t *config = json_need_object(body, "inferenceConfig");
    json_t *fields = json_need_object(body, "additionalModelRequestFields");
    bool is_bound = put_reasoning(fields, request, maker, max_output);

    if (!is_bound)
        put_sampling(config, fields, request->spec, maker, plan);
    if (max_output > 0 && !(is_bound && maker == MAKER_NOVA_2))
        json_put(config, "maxTokens", json_integer((json_int_t)max_output));
    if (stop_words != NULL)
        json_put(config, "stopSequences", stop_words);
    if (json_object_size(fields) == 0)
        (void)json_object_del(body, "additionalModelRequestFields");
    if (json_object_size(config) == 0)
        (void)json_object_del(body, "inferenceConfig");
    (void)json_object_update_recursive(body, extra);
    return body;
}

static bool has_calls(const struct llm_prompt *prompt)
{
    return memmem(prompt->messages.text, prompt->messages.len, CALL_BEGIN, strlen(CALL_BEGIN)) !=
           NULL;
}

/* Inserts the prompt, which is JSON text, unless the specification has its own. */
static void append_texts(struct strbuf *out, const struct llm_prompt *prompt, const json_t *rest)
{
    const char *tools = prompt->tools.text;

    if (prompt->system.len > 0 && json_object_get(rest, "system") == NULL)
        strbuf_appendf(out, "\"system\":[%s],", prompt->system.text);
    if (json_object_get(rest, "messages") == NULL) {
        strbuf_append(out, "\"messages\":");
        turn_list_append(prompt, &bedrock_blocks, BEDROCK_CACHE_POINT, out);
        strbuf_append_char(out, ',');
    }
    if (prompt->tools.len == 0 && has_calls(prompt))
        tools = NO_TOOLS;
    if (tools[0] == '\0' || json_object_get(rest, "toolConfig") != NULL)
        return;
    strbuf_append(out, "\"toolConfig\":{\"tools\":");
    strbuf_append(out, tools);
    strbuf_append(out, "},");
}

char *bedrock_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                           const struct llm_route *route, const struct llm_plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *rest = NULL;
    const struct llm_prompt *prompt = request->prompt;
    json_auto_t *body = members_of(catalogue, request, plan);

    (void)route;
    rest = json_to_text(body);
    strbuf_reserve(&text, prompt->system.len + prompt->messages.len + prompt->tools.len +
                              strlen(rest) + EXTRA_BYTES);
    strbuf_append_char(&text, '{');
    append_texts(&text, prompt, body);
    if (strlen(rest) == strlen("{}"))
        strbuf_truncate(&text, text.len - 1);
    strbuf_append(&text, rest + 1);
    return strbuf_take(&text);
}
