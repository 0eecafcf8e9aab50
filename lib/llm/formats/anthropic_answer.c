/* Answers of Anthropic's Messages, whole or streamed (see anthropic.h). */
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/anthropic.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

/* --- blocks --- */

static void append_reasoning(struct response_builder *builder, struct response_thinking *block,
                             const json_t *text)
{
    if (block->text.len == 0 && builder->reasoning.len > 0 && json_is_string(text))
        strbuf_append_char(&builder->reasoning, '\n');
    response_builder_append(&block->text, text);
    response_builder_append(&builder->reasoning, text);
}

static int begin_thinking(struct response_builder *builder, json_int_t index, const json_t *block,
                          struct llm_error *llm_error)
{
    struct response_thinking *thinking = response_builder_new_thinking(builder, index, llm_error);

    if (thinking == NULL)
        return -1;
    append_reasoning(builder, thinking, json_object_get(block, "thinking"));
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

static struct response_call *find_call(const struct response_builder *builder, json_int_t index)
{
    for (size_t i = builder->n_calls; i > 0; i--) {
        if (builder->calls[i - 1].index == index)
            return &builder->calls[i - 1];
    }
    return NULL;
}

static struct response_thinking *find_thinking(const struct response_builder *builder,
                                               json_int_t index)
{
    for (size_t i = builder->n_thinking; i > 0; i--) {
        if (builder->thinking[i - 1].index == index)
            return &builder->thinking[i - 1];
    }
    return NULL;
}

/* The type of a piece is told by its member. Pieces of blocks that were passed over are, too. */
static void continue_block(struct response_builder *builder, json_int_t index, const json_t *delta)
{
    struct response_call *call = find_call(builder, index);
    struct response_thinking *thinking = find_thinking(builder, index);

    response_builder_append(&builder->text, json_object_get(delta, "text"));
    if (call != NULL)
        response_builder_append(&call->arguments, json_object_get(delta, "partial_json"));
    if (thinking == NULL)
        return;
    append_reasoning(builder, thinking, json_object_get(delta, "thinking"));
    response_builder_append(&thinking->proof, json_object_get(delta, "signature"));
}

/* --- the end --- */

static const struct {
    const char *theirs;
    const char *ours;
} stop_reasons[] = {
    {"end_turn", "stop"},          {"stop_sequence", "stop"},
    {"pause_turn", "stop"},        {"tool_use", "tool_calls"},
    {"max_tokens", "length"},      {"model_context_window_exceeded", "length"},
    {"refusal", "content_filter"},
};

static void take_stop_reason(struct response_builder *builder, const json_t *object)
{
    const char *reason = json_text_or(object, "stop_reason", "");

    for (size_t i = 0; i < ARRAY_SIZE(stop_reasons); i++) {
        if (text_equal(stop_reasons[i].theirs, reason))
            reason = stop_reasons[i].ours;
    }
    if (builder->finish_reason.len == 0)
        strbuf_append(&builder->finish_reason, reason);
}

static int64_t count_of(const json_t *usage, const char *key, int64_t known)
{
    json_int_t count = json_int_or(usage, key, 0);

    if (count > RESPONSE_TOKENS_MAX)
        return RESPONSE_TOKENS_MAX;
    return count > known ? (int64_t)count : known;
}

/* Counts of a stream's events are sums so far. The prompt's count leaves out what was cached. */
static void take_usage(struct response_builder *builder, const json_t *usage)
{
    struct llm_usage *into = &builder->usage;
    int64_t fresh = into->prompt_tokens - into->cache_read_tokens - into->cache_write_tokens;

    fresh = count_of(usage, "input_tokens", fresh);
    into->cache_read_tokens = count_of(usage, "cache_read_input_tokens", into->cache_read_tokens);
    into->cache_write_tokens =
        count_of(usage, "cache_creation_input_tokens", into->cache_write_tokens);
    into->completion_tokens = count_of(usage, "output_tokens", into->completion_tokens);
    into->prompt_tokens = fresh + into->cache_read_tokens + into->cache_write_tokens;
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
