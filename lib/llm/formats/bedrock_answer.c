/* Answers of Bedrock's Converse, whole or streamed (see bedrock.h). */
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "llm/formats/bedrock.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

/* --- blocks --- */

/* The block of thinking with that index, a new one if need be; NULL with the error set. */
static struct response_thinking *need_thinking(struct response_builder *builder, json_int_t index,
                                               struct llm_error *llm_error)
{
    struct response_thinking *thinking = response_builder_find_thinking(builder, index);

    if (thinking != NULL)
        return thinking;
    builder->has_late_thinking |= builder->text.len > 0 || builder->n_calls > 0;
    return response_builder_new_thinking(builder, index, llm_error);
}

/* The text, its signature, or the encrypted form of a text that is not shown. */
static int take_thinking(struct response_builder *builder, json_int_t index,
                         const json_t *reasoning, struct llm_error *llm_error)
{
    const json_t *redacted = json_object_get(reasoning, "redactedContent");
    struct response_thinking *thinking = need_thinking(builder, index, llm_error);

    if (thinking == NULL)
        return -1;
    thinking->is_redacted |= json_is_string(redacted);
    response_builder_append_thinking(builder, thinking, json_object_get(reasoning, "text"));
    response_builder_append(&thinking->proof, json_object_get(reasoning, "signature"));
    response_builder_append(&thinking->proof, redacted);
    return 0;
}

/* In a stream the input follows, as text. */
static int begin_call(struct response_builder *builder, json_int_t index, const json_t *use,
                      struct llm_error *llm_error)
{
    struct response_call *call = response_builder_new_call(builder, index, llm_error);
    const json_t *input = json_object_get(use, "input");

    if (call == NULL)
        return -1;
    response_builder_append(&call->id, json_object_get(use, "toolUseId"));
    response_builder_append(&call->name, json_object_get(use, "name"));
    if (json_object_size(input) > 0)
        json_append_text(&call->arguments, input);
    return 0;
}

/* Blocks of other types are passed over. */
static int take_block(struct response_builder *builder, json_int_t index, const json_t *block,
                      struct llm_error *llm_error)
{
    const json_t *reasoning = json_object_get(block, "reasoningContent");
    const json_t *text = json_object_get(reasoning, "reasoningText");
    const json_t *use = json_object_get(block, "toolUse");

    response_builder_append(&builder->text, json_object_get(block, "text"));
    if (reasoning != NULL)
        return take_thinking(builder, index, text != NULL ? text : reasoning, llm_error);
    return use != NULL ? begin_call(builder, index, use, llm_error) : 0;
}

/* A call has begun with a block of its own; text and thinking begin with their first piece. */
static int take_delta(struct response_builder *builder, const json_t *piece,
                      struct llm_error *llm_error)
{
    json_int_t index = json_int_or(piece, "contentBlockIndex", 0);
    const json_t *delta = json_object_get(piece, "delta");
    const json_t *reasoning = json_object_get(delta, "reasoningContent");
    const json_t *use = json_object_get(delta, "toolUse");
    struct response_call *call = response_builder_find_call(builder, index);

    response_builder_append(&builder->text, json_object_get(delta, "text"));
    if (call != NULL)
        response_builder_append(&call->arguments, json_object_get(use, "input"));
    return reasoning != NULL ? take_thinking(builder, index, reasoning, llm_error) : 0;
}

/* --- the end --- */

static const struct response_word stop_reasons[] = {
    {"end_turn", "stop"},
    {"stop_sequence", "stop"},
    {"tool_use", "tool_calls"},
    {"max_tokens", "length"},
    {"model_context_window_exceeded", "length"},
    {"guardrail_intervened", "content_filter"},
    {"content_filtered", "content_filter"},
    {NULL, NULL},
};

static void take_stop_reason(struct response_builder *builder, const json_t *object)
{
    response_builder_set_finish(builder, stop_reasons, json_text_or(object, "stopReason", ""));
}

static void take_usage(struct response_builder *builder, const json_t *object)
{
    static const struct response_counts names = {
        .fresh = "inputTokens",
        .cache_read = "cacheReadInputTokens",
        .cache_write = "cacheWriteInputTokens",
        .completion = "outputTokens",
    };

    response_builder_count(builder, &names, json_object_get(object, "usage"));
}

/* --- answers --- */

int bedrock_read_answer(struct response_builder *builder, const json_t *answer,
                        struct llm_error *llm_error)
{
    const json_t *message = json_object_get(json_object_get(answer, "output"), "message");
    const json_t *content = json_object_get(message, "content");
    const json_t *block = NULL;
    size_t i = 0;

    builder->has_answer = json_is_array(content);
    json_array_foreach (content, i, block) {
        if (take_block(builder, (json_int_t)i, block, llm_error) < 0)
            return -1;
    }
    take_stop_reason(builder, answer);
    take_usage(builder, answer);
    return 0;
}

/* Unknown events may come, too. */
int bedrock_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                       struct llm_error *llm_error)
{
    const json_t *error = json_object_get(event, "error");
    const json_t *start = json_object_get(event, "contentBlockStart");
    const json_t *delta = json_object_get(event, "contentBlockDelta");
    const json_t *stop = json_object_get(event, "messageStop");
    const json_t *metadata = json_object_get(event, "metadata");

    *is_last_out = metadata != NULL && builder->finish_reason.len > 0;
    if (error != NULL)
        return llm_error_from_error_member(llm_error, error);
    builder->has_answer |= json_object_get(event, "messageStart") != NULL;
    if (stop != NULL)
        take_stop_reason(builder, stop);
    if (metadata != NULL)
        take_usage(builder, metadata);
    if (delta != NULL)
        return take_delta(builder, delta, llm_error);
    return start != NULL ? take_block(builder, json_int_or(start, "contentBlockIndex", 0),
                                      json_object_get(start, "start"), llm_error)
                         : 0;
}
