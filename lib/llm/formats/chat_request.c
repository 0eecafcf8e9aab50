/* The request of a Chat Completions call (see chat.h). */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/formats/chat.h"
#include "llm/llm.h"
#include "llm/llm_headers.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "model/catalogue/catalogue.h"

/* A member of the last part, or message, that is to be cached. */
static const char CACHE_MARK[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";

static void copy_member(json_t *body, const char *key, json_t *value)
{
    if (value != NULL && !json_is_null(value))
        json_put(body, key, json_incref(value));
}

/* Reasoning models take no sampling parameters, except Gemini. */
static bool takes_sampling(const struct catalogue *catalogue, const char *model)
{
    return catalogue_ask_feature(catalogue, MODEL_EFFORT, model) != MODEL_YES ||
           strstr(model, "gemini") != NULL;
}

static void put_sampling(json_t *body, const struct catalogue *catalogue,
                         const struct llm_request *request, const struct llm_route *route,
                         const struct llm_plan *plan)
{
    bool takes = takes_sampling(catalogue, catalogue_model_name(request->spec));

    if (plan->is_warm)
        json_put(body, "temperature", json_real(1.0));
    else if (takes)
        copy_member(body, "temperature", json_object_get(request->spec, "temperature"));
    if (takes)
        copy_member(body, "top_p", json_object_get(request->spec, "top_p"));
    /* OpenAI's own API has no top_k, and neither has Azure. */
    if (takes && !text_equal(route->provider->prefix, "openai") &&
        !route->provider->has_deployments)
        copy_member(body, "top_k", json_object_get(request->spec, "top_k"));
    copy_member(body, "seed", json_object_get(request->spec, "seed"));
}

/* Azure's models that reason refuse max_tokens, its others may not know the newer name. */
static void put_limit(json_t *body, const struct catalogue *catalogue,
                      const struct llm_request *request, const struct llm_route *route)
{
    bool reasons = catalogue_ask_feature(catalogue, MODEL_EFFORT,
                                         catalogue_model_name(request->spec)) == MODEL_YES;
    bool is_new = route->provider->is_open || (route->provider->has_deployments && reasons);

    copy_member(body, is_new ? "max_completion_tokens" : "max_tokens",
                json_object_get(request->spec, "max_output_tokens"));
}

/* Only for models known to take it, and for unknown ones on open servers. */
static void put_effort(json_t *body, const struct catalogue *catalogue,
                       const struct llm_request *request, const struct llm_route *route)
{
    enum model_answer takes =
        catalogue_ask_feature(catalogue, MODEL_EFFORT, catalogue_model_name(request->spec));

    if (takes == MODEL_YES || (takes == MODEL_UNKNOWN && route->provider->is_open))
        copy_member(body, "reasoning_effort", json_object_get(request->spec, "reasoning_effort"));
}

static void put_cache(json_t *body, const struct catalogue *catalogue,
                      const struct llm_request *request, const struct llm_route *route)
{
    if (!route->provider->is_open || request->conversation_id == NULL)
        return;
    json_put_text(body, "prompt_cache_key", request->conversation_id);
    if (catalogue_ask_feature(catalogue, MODEL_CACHE_RETENTION,
                              catalogue_model_name(request->spec)) == MODEL_YES)
        copy_member(body, "prompt_cache_retention",
                    json_object_get(request->spec, "prompt_cache_retention"));
}

static void put_stream(json_t *body, const struct llm_plan *plan)
{
    json_t *options = NULL;

    if (!plan->is_stream)
        return;
    options = json_object();
    json_put(options, "include_usage", json_true());
    json_put(body, "stream", json_true());
    json_put(body, "stream_options", options);
}

static void append_messages(struct strbuf *out, const struct llm_prompt *prompt)
{
    const char *rest = prompt->messages.text + prompt->end.mark_at;

    strbuf_append_bytes(out, prompt->messages.text, prompt->end.mark_at);
    if (prompt->end.mark_at > 0)
        strbuf_append(out, CACHE_MARK);
    strbuf_append(out, rest);
}

/* Inserts messages and tools, which are JSON text, unless the specification has its own. */
static void append_texts(struct strbuf *out, const struct llm_prompt *prompt, const json_t *rest)
{
    if (json_object_get(rest, "messages") == NULL) {
        strbuf_append(out, "\"messages\":[");
        append_messages(out, prompt);
        strbuf_append(out, "],");
    }
    if (prompt->tools.len > 0 && json_object_get(rest, "tools") == NULL) {
        strbuf_append(out, "\"tools\":");
        strbuf_append_bytes(out, prompt->tools.text, prompt->tools.len);
        strbuf_append_char(out, ',');
    }
}

void chat_add_headers(const struct llm_request *request, const struct llm_route *route,
                      struct llm_headers *headers)
{
    const char *key_header = route->provider->key_header;

    if (request->api_key != NULL && secret_is_set(request->api_key)) {
        strbuf_appendf(&headers->key, "%s%s", key_header == NULL ? "Bearer " : "",
                       secret_reveal(request->api_key));
        llm_headers_add(headers, key_header == NULL ? "Authorization" : key_header,
                        headers->key.text);
    }
    if (!text_equal(route->provider->prefix, "openrouter"))
        return;
    llm_headers_add(headers, "HTTP-Referer",
                    json_text_or(request->spec, "openrouter_site_url", ""));
    llm_headers_add(headers, "X-Title", json_text_or(request->spec, "openrouter_app_name", ""));
}

char *chat_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                        const struct llm_route *route, const struct llm_plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *rest = NULL;
    json_auto_t *body = json_object();
    json_auto_t *stop = text_calls_stop_words(&request->prompt->calls);

    json_put_text(body, "model", route->model);
    put_limit(body, catalogue, request, route);
    put_sampling(body, catalogue, request, route, plan);
    put_effort(body, catalogue, request, route);
    put_cache(body, catalogue, request, route);
    put_stream(body, plan);
    copy_member(body, "stop", stop);
    (void)json_object_update(body, json_object_get(request->spec, "litellm_extra_body"));
    rest = json_to_text(body);
    strbuf_reserve(&text, request->prompt->messages.len + request->prompt->tools.len +
                              strlen(rest) + sizeof(CACHE_MARK));
    strbuf_append_char(&text, '{');
    append_texts(&text, request->prompt, body);
    strbuf_append(&text, rest + 1);
    return strbuf_take(&text);
}
