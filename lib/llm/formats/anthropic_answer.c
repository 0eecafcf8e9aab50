/* Answers of Anthropic's Messages, whole or streamed (see anthropic.h). */
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/anthropic.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

/* --- blocks --- */

static int begin_thinking(struct response_builder *builder, json_int_t index, const json_t *block,
                          struct llm_error *llm_error)
{
    struct response_thinking *thinking = response_builder_new_thinking(builder, index, llm_error);

    if (thinking == NULL)
        return -1;
    response_builder_append_thinking(builder, thinking, json_object_get(block, "thinking"));
    response_builder_append(&thinking->proof, json_object_get(block, "signature"));
    return 0;
}

static int begin_redacted(struct response_builder *builder, json_int_t index, const json_t *block,
                          struct llm_error *llm_error)
{
    struct response_thinking *thinking = response_builder_new_thinking(builder, index, llm_error);

    if (thinking == NULL)
        return -1;
    thinking->is_redacted = true;
    response_builder_append(&thinking->proof, json_object_get(block, "data"));
    return 0;
}

/* In a stream the input is empty at first, and comes as text. */
static int begin_call(struct response_builder *builder, json_int_t index, const json_t *block,
                      struct llm_error *llm_error)
{
    struct response_call *call = response_builder_new_call(builder, index, llm_error);
    const json_t *input = json_object_get(block, "input");

    if (call == NULL)
        return -1;
    response_builder_append(&call->id, json_object_get(block, "id"));
    response_builder_append(&call->name, json_object_get(block, "name"));
    if (json_object_size(input) > 0)
        json_append_text(&call->arguments, input);
    return 0;
}

/* Blocks of other types belong to tools that the server runs: the words come in text. */
static int begin_block(struct response_builder *builder, json_int_t index, const json_t *block,
                       struct llm_error *llm_error)
{
    const char *type = json_text_or(block, "type", "");
    bool is_thinking = text_equal(type, "thinking") || text_equal(type, "redacted_thinking");

    builder->has_late_thinking |= is_thinking && (builder->text.len > 0 || builder->n_calls > 0);
    if (text_equal(type, "text"))
        response_builder_append(&builder->text, json_object_get(block, "text"));
    if (text_equal(type, "thinking"))
        return begin_thinking(builder, index, block, llm_error);
    if (text_equal(type, "redacted_thinking"))
        return begin_redacted(builder, index, block, llm_error);
    if (text_equal(type, "tool_use"))
        return begin_call(builder, index, block, llm_error);
    return 0;
}

/* The type of a piece is told by its member. Pieces of blocks that were passed over are, too. */
static void continue_block(struct response_builder *builder, json_int_t index, const json_t *delta)
{
    struct response_call *call = response_builder_find_call(builder, index);
    struct response_thinking *thinking = response_builder_find_thinking(builder, index);

    response_builder_append(&builder->text, json_object_get(delta, "text"));
    if (call != NULL)
        response_builder_append(&call->arguments, json_object_get(delta, "partial_json"));
    if (thinking == NULL)
        return;
    response_builder_append_thinking(builder, thinking, json_object_get(delta, "thinking"));
    response_builder_append(&thinking->proof, json_object_get(delta, "signature"));
}

/* --- the end --- */

static const struct response_word stop_reasons[] = {
    {"end_turn", "stop"},          {"stop_sequence", "stop"},
    {"pause_turn", "stop"},        {"tool_use", "tool_calls"},
    {"max_tokens", "length"},      {"model_context_window_exceeded", "length"},
    {"refusal", "content_filter"}, {NULL, NULL},
};

static void take_stop_reason(struct response_builder *builder, const json_t *object)
{
    response_builder_set_finish(builder, stop_reasons, json_text_or(object, "stop_reason", ""));
}

static void take_usage(struct response_builder *builder, const json_t *usage)
{
    static const struct response_counts names = {
        .fresh = "input_tokens",
        .cache_read = "cache_read_input_tokens",
        .cache_write = "cache_creation_input_tokens",
        .completion = "output_tokens",
    };

    response_builder_count(builder, &names, usage);
}

/* --- answers --- */

int anthropic_read_answer(struct response_builder *builder, const json_t *answer,
                          struct llm_error *llm_error)
{
    const json_t *error = json_object_get(answer, "error");
    const json_t *content = json_object_get(answer, "content");
    const json_t *block = NULL;
    size_t i = 0;

    if (json_typeof(answer) != JSON_OBJECT)
        return llm_error_set(llm_error, LLM_CAUSE_API, "The model's answer is not a JSON object.");
    if (error != NULL && !json_is_null(error))
        return llm_error_from_error_member(llm_error, error);
    builder->has_answer = json_is_array(content);
    response_builder_set_once(&builder->response_id, json_object_get(answer, "id"));
    json_array_foreach (content, i, block) {
        if (begin_block(builder, (json_int_t)i, block, llm_error) < 0)
            return -1;
    }
    take_stop_reason(builder, answer);
    take_usage(builder, json_object_get(answer, "usage"));
    return 0;
}

static void take_start(struct response_builder *builder, const json_t *message)
{
    builder->has_answer = true;
    response_builder_set_once(&builder->response_id, json_object_get(message, "id"));
    take_usage(builder, json_object_get(message, "usage"));
}

/* Events of unknown types may come, and pings at any time. */
int anthropic_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                         struct llm_error *llm_error)
{
    const char *type = json_text_or(event, "type", "");
    json_int_t index = json_int_or(event, "index", 0);
    const json_t *error = json_object_get(event, "error");

    *is_last_out = text_equal(type, "message_stop");
    if (text_equal(type, "message_start"))
        take_start(builder, json_object_get(event, "message"));
    if (text_equal(type, "content_block_start"))
        return begin_block(builder, index, json_object_get(event, "content_block"), llm_error);
    if (text_equal(type, "content_block_delta"))
        continue_block(builder, index, json_object_get(event, "delta"));
    if (text_equal(type, "message_delta")) {
        take_stop_reason(builder, json_object_get(event, "delta"));
        take_usage(builder, json_object_get(event, "usage"));
    }
    if (text_equal(type, "error") || (error != NULL && !json_is_null(error)))
        return llm_error_from_error_member(llm_error, error != NULL ? error : event);
    return 0;
}
