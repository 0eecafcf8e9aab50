/* Answers of OpenAI's Responses, whole or streamed (see responses.h). */
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/responses.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

/* Between two parts of a summary. */
#define SUMMARY_BORDER "\n\n"

/* --- items --- */

/* Pieces of a stream have brought the words already. */
static void take_words(struct response_builder *builder, const json_t *item)
{
    const json_t *part = NULL;
    size_t i = 0;

    if (builder->has_pieces)
        return;
    json_array_foreach (json_object_get(item, "content"), i, part) {
        response_builder_append(&builder->text, json_object_get(part, "text"));
        response_builder_append(&builder->text, json_object_get(part, "refusal"));
    }
}

static int take_call(struct response_builder *builder, const json_t *item,
                     struct llm_error *llm_error)
{
    struct response_call *call =
        response_builder_new_call(builder, (json_int_t)builder->n_calls, llm_error);

    if (call == NULL)
        return -1;
    response_builder_append(&call->id, json_object_get(item, "call_id"));
    response_builder_append(&call->item_id, json_object_get(item, "id"));
    response_builder_append(&call->name, json_object_get(item, "name"));
    response_builder_append(&call->arguments, json_object_get(item, "arguments"));
    return 0;
}

/* The texts of an item's summary or content; of content, events have a list or null. */
static json_t *texts_of(const json_t *parts)
{
    json_t *texts = json_array();
    const json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (parts, i, part)
        json_push(texts, json_text_of(json_text_or(part, "text", "")));
    return texts;
}

static void append_summary(struct response_builder *builder, const json_t *summary)
{
    const json_t *text = NULL;
    size_t i = 0;

    json_array_foreach (summary, i, text) {
        if (builder->reasoning.len > 0)
            strbuf_append(&builder->reasoning, SUMMARY_BORDER);
        response_builder_append(&builder->reasoning, text);
    }
}

/* An event has room for one item: the last, which led to what follows. */
static void take_reasoning(struct response_builder *builder, const json_t *item)
{
    json_t *kept = json_object();
    json_t *summary = texts_of(json_object_get(item, "summary"));
    json_t *content = texts_of(json_object_get(item, "content"));

    json_put_text(kept, "id", json_text_or(item, "id", ""));
    json_put(kept, "summary", summary);
    json_put(kept, "content", json_array_size(content) > 0 ? json_incref(content) : json_null());
    json_put_text(kept, "encrypted_content", json_text_or(item, "encrypted_content", NULL));
    json_put_text(kept, "status", json_text_or(item, "status", NULL));
    if (!builder->has_reasoning_pieces)
        append_summary(builder, json_array_size(summary) > 0 ? summary : content);
    json_decref(content);
    json_decref(builder->reasoning_item);
    builder->reasoning_item = kept;
}

static int take_item(struct response_builder *builder, const json_t *item,
                     struct llm_error *llm_error)
{
    const char *type = json_text_or(item, "type", "");

    builder->has_answer = true;
    if (text_equal(type, "function_call"))
        return take_call(builder, item, llm_error);
    if (text_equal(type, "message"))
        take_words(builder, item);
    if (text_equal(type, "reasoning"))
        take_reasoning(builder, item);
    builder->has_odd_calls |= text_ends_with(type, "_call");
    return 0;
}

/* --- the end --- */

static json_int_t count_of(const json_t *usage, const char *key)
{
    json_int_t count = json_int_or(usage, key, 0);

    if (count > RESPONSE_TOKENS_MAX)
        return RESPONSE_TOKENS_MAX;
    return count > 0 ? count : 0;
}

static void take_usage(struct response_builder *builder, const json_t *usage)
{
    struct llm_usage *into = &builder->usage;

    into->prompt_tokens = count_of(usage, "input_tokens");
    into->completion_tokens = count_of(usage, "output_tokens");
    into->cache_read_tokens =
        count_of(json_object_get(usage, "input_tokens_details"), "cached_tokens");
    into->reasoning_tokens =
        count_of(json_object_get(usage, "output_tokens_details"), "reasoning_tokens");
}

static void take_status(struct response_builder *builder, const json_t *response)
{
    const json_t *details = json_object_get(response, "incomplete_details");
    const char *reason = json_text_or(details, "reason", "");

    if (!text_equal(json_text_or(response, "status", ""), "incomplete"))
        reason = builder->n_calls > 0 ? "tool_calls" : "stop";
    else if (!text_equal(reason, "content_filter"))
        reason = "length";
    strbuf_append(&builder->finish_reason, reason);
}

/* A server that streams may leave the items out at the end, or send them there only. */
static int take_response(struct response_builder *builder, const json_t *response,
                         struct llm_error *llm_error)
{
    const json_t *error = json_object_get(response, "error");
    const json_t *item = NULL;
    bool has_items = builder->has_answer;
    size_t i = 0;

    if (error != NULL && !json_is_null(error))
        return llm_error_from_error_member(llm_error, error);
    if (text_equal(json_text_or(response, "status", ""), "failed"))
        return llm_error_set(llm_error, LLM_CAUSE_API, "The model's server gave up on the answer.");
    response_builder_set_once(&builder->response_id, json_object_get(response, "id"));
    builder->has_answer |= json_is_array(json_object_get(response, "output"));
    json_array_foreach (json_object_get(response, "output"), i, item) {
        if (!has_items && take_item(builder, item, llm_error) < 0)
            return -1;
    }
    take_usage(builder, json_object_get(response, "usage"));
    take_status(builder, response);
    return 0;
}

/* --- answers --- */

int responses_read_answer(struct response_builder *builder, const json_t *answer,
                          struct llm_error *llm_error)
{
    if (json_typeof(answer) != JSON_OBJECT)
        return llm_error_set(llm_error, LLM_CAUSE_API, "The model's answer is not a JSON object.");
    return take_response(builder, answer, llm_error);
}

static void take_piece(struct response_builder *builder, const char *type, const json_t *event)
{
    const json_t *delta = json_object_get(event, "delta");

    if (text_equal(type, "response.output_text.delta") ||
        text_equal(type, "response.refusal.delta")) {
        builder->has_pieces = true;
        response_builder_append(&builder->text, delta);
    }
    if (text_equal(type, "response.reasoning_summary_part.added") && builder->reasoning.len > 0)
        strbuf_append(&builder->reasoning, SUMMARY_BORDER);
    if (text_equal(type, "response.reasoning_summary_text.delta") ||
        text_equal(type, "response.reasoning_text.delta")) {
        builder->has_reasoning_pieces = true;
        response_builder_append(&builder->reasoning, delta);
    }
}

int responses_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                         struct llm_error *llm_error)
{
    const char *type = json_text_or(event, "type", "");
    const json_t *response = json_object_get(event, "response");
    const json_t *error = json_object_get(event, "error");

    *is_last_out = text_equal(type, "response.completed") ||
                   text_equal(type, "response.incomplete") || text_equal(type, "response.failed");
    if (*is_last_out)
        return take_response(builder, response, llm_error);
    if (text_equal(type, "error") || (error != NULL && !json_is_null(error)))
        return llm_error_from_error_member(llm_error, json_is_object(error) ? error : event);
    response_builder_set_once(&builder->response_id, json_object_get(response, "id"));
    if (text_equal(type, "response.output_item.done"))
        return take_item(builder, json_object_get(event, "item"), llm_error);
    take_piece(builder, type, event);
    return 0;
}
