/* The request of a call of Anthropic's Messages (see anthropic.h). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/formats/anthropic.h"
#include "llm/formats/claude_thinking.h"
#include "llm/formats/turn_list.h"
#include "llm/llm.h"
#include "llm/llm_headers.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"

#define API_VERSION "2023-06-01"

enum { EXTRA_BYTES = 256 }; /* more than the names of members and a cache mark need */

static const char CACHE_MARK[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/* --- the body --- */

/* Newer models take one of temperature and top_p, and none while they think. */
static void put_sampling(json_t *body, const struct llm_request *request,
                         const struct llm_plan *plan)
{
    json_t *temperature = json_object_get(request->spec, "temperature");
    json_t *top_p = json_object_get(request->spec, "top_p");
    json_t *top_k = json_object_get(request->spec, "top_k");

    if (plan->is_warm)
        json_put(body, "temperature", json_real(1.0));
    else if (json_is_number(temperature))
        json_put(body, "temperature", json_incref(temperature));
    else if (json_is_number(top_p))
        json_put(body, "top_p", json_incref(top_p));
    if (json_is_number(top_k))
        json_put(body, "top_k", json_incref(top_k));
}

static json_t *members_of(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_route *route, const struct llm_plan *plan)
{
    int64_t max_output = claude_max_tokens(catalogue, request->spec);
    json_t *stop_words = text_calls_stop_words(&request->prompt->calls);
    json_t *body = json_object();

    json_put_text(body, "model", route->model);
    json_put(body, "max_tokens", json_integer((json_int_t)max_output));
    if (!claude_put_thinking(body, request, max_output))
        put_sampling(body, request, plan);
    if (plan->is_stream)
        json_put(body, "stream", json_true());
    if (stop_words != NULL)
        json_put(body, "stop_sequences", stop_words);
    (void)json_object_update(body, json_object_get(request->spec, "litellm_extra_body"));
    return body;
}

/* Inserts the prompt, which is JSON text, unless the specification has its own. */
static void append_texts(struct strbuf *out, const struct llm_prompt *prompt, const json_t *rest)
{
    if (prompt->system.len > 0 && json_object_get(rest, "system") == NULL)
        strbuf_appendf(out, "\"system\":[%s],", prompt->system.text);
    if (json_object_get(rest, "messages") == NULL) {
        strbuf_append(out, "\"messages\":");
        turn_list_append(prompt, &anthropic_blocks, CACHE_MARK, out);
        strbuf_append_char(out, ',');
    }
    if (prompt->tools.len > 0 && json_object_get(rest, "tools") == NULL)
        strbuf_appendf(out, "\"tools\":%s,", prompt->tools.text);
}

char *anthropic_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                             const struct llm_route *route, const struct llm_plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *rest = NULL;
    const struct llm_prompt *prompt = request->prompt;
    json_auto_t *body = members_of(catalogue, request, route, plan);

    rest = json_to_text(body);
    strbuf_reserve(&text, prompt->system.len + prompt->messages.len + prompt->tools.len +
                              strlen(rest) + EXTRA_BYTES);
    strbuf_append_char(&text, '{');
    append_texts(&text, prompt, body);
    strbuf_append(&text, rest + 1);
    return strbuf_take(&text);
}

void anthropic_add_headers(const struct llm_request *request, const struct llm_route *route,
                           struct llm_headers *headers)
{
    const char *beta = claude_beta_of(request->spec);

    (void)route;
    if (request->api_key != NULL && secret_is_set(request->api_key)) {
        strbuf_append(&headers->key, secret_reveal(request->api_key));
        llm_headers_add(headers, "x-api-key", headers->key.text);
    }
    llm_headers_add(headers, "anthropic-version", API_VERSION);
    if (beta != NULL)
        llm_headers_add(headers, "anthropic-beta", beta);
}
