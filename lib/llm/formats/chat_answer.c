/* Answers of Chat Completions, whole or in pieces (see chat.h). */
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/chat.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

/* --- content --- */

/* A string, or a list of parts of which the text is taken. */
static void take_content(struct response_builder *builder, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    response_builder_append(&builder->text, content);
    json_array_foreach (content, i, part)
        response_builder_append(&builder->text, json_object_get(part, "text"));
}

static void take_words(struct response_builder *builder, const json_t *piece)
{
    const json_t *reasoning = json_object_get(piece, "reasoning_content");

    take_content(builder, json_object_get(piece, "content"));
    response_builder_append(&builder->text, json_object_get(piece, "refusal"));
    if (!json_is_string(reasoning))
        reasoning = json_object_get(piece, "reasoning");
    response_builder_append(&builder->reasoning, reasoning);
}

/* --- calls --- */

/*
 * The call that a piece continues, or NULL for a new one. Some servers send index 0 for each of
 * several calls, or no index: then a different id together with a name begins a new call.
 */
static struct response_call *find_call(const struct response_builder *builder, const json_t *piece)
{
    const json_t *index = json_object_get(piece, "index");
    const char *id = json_text_or(piece, "id", "");
    const char *name = json_text_or(json_object_get(piece, "function"), "name", "");

    for (size_t i = builder->n_calls; i > 0; i--) {
        struct response_call *call = &builder->calls[i - 1];

        if (json_is_integer(index) && json_integer_value(index) != call->index)
            continue;
        if (id[0] != '\0' && name[0] != '\0' && call->id.len > 0 && !text_equal(id, call->id.text))
            return NULL;
        return call;
    }
    return NULL;
}

static void take_arguments(struct response_call *call, const json_t *arguments)
{
    response_builder_append(&call->arguments, arguments);
    if (json_is_object(arguments))
        json_append_text(&call->arguments, arguments);
}

/* Google's, of the thought that led to the call. */
static const json_t *signature_of(const json_t *piece)
{
    const json_t *google = json_object_get(json_object_get(piece, "extra_content"), "google");

    return json_object_get(google, "thought_signature");
}

static int take_call(struct response_builder *builder, const json_t *piece, bool is_whole,
                     struct llm_error *llm_error)
{
    const json_t *function = json_object_get(piece, "function");
    const char *type = json_text_or(piece, "type", "function");
    struct response_call *call = NULL;

    if (!text_equal(type, "function") && type[0] != '\0') {
        builder->has_odd_calls = true;
        return 0;
    }
    if (!is_whole)
        call = find_call(builder, piece);
    if (call == NULL)
        call = response_builder_new_call(
            builder, json_int_or(piece, "index", (json_int_t)builder->n_calls), llm_error);
    if (call == NULL)
        return -1;
    response_builder_set_once(&call->id, json_object_get(piece, "id"));
    response_builder_set_once(&call->name, json_object_get(function, "name"));
    response_builder_set_once(&call->signature, signature_of(piece));
    take_arguments(call, json_object_get(function, "arguments"));
    return 0;
}

/* --- usage --- */

static json_int_t first_count(const json_t *object, const char *key, const char *other_key)
{
    json_int_t count = json_int_or(object, key, json_int_or(object, other_key, 0));

    if (count > RESPONSE_TOKENS_MAX)
        return RESPONSE_TOKENS_MAX;
    return count > 0 ? count : 0;
}

static void take_usage(struct response_builder *builder, const json_t *usage)
{
    const json_t *in = json_object_get(usage, "prompt_tokens_details");
    const json_t *out = json_object_get(usage, "completion_tokens_details");
    struct llm_usage *into = &builder->usage;

    if (!json_is_object(usage))
        return;
    into->prompt_tokens = first_count(usage, "prompt_tokens", "input_tokens");
    into->completion_tokens = first_count(usage, "completion_tokens", "output_tokens");
    into->cache_read_tokens = first_count(in, "cached_tokens", "cache_read_tokens");
    if (into->cache_read_tokens == 0)
        into->cache_read_tokens =
            first_count(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens");
    into->cache_write_tokens =
        first_count(usage, "cache_creation_input_tokens", "cache_write_tokens");
    into->reasoning_tokens = first_count(out, "reasoning_tokens", "thinking_tokens");
}

/* --- answers --- */

/* A piece continues the last block, unless that one is complete. */
static int take_thinking(struct response_builder *builder, const json_t *piece,
                         struct llm_error *llm_error)
{
    bool is_redacted = text_equal(json_text_or(piece, "type", "thinking"), "redacted_thinking");
    struct response_thinking *block =
        builder->n_thinking > 0 ? &builder->thinking[builder->n_thinking - 1] : NULL;

    if (block == NULL || block->proof.len > 0 || is_redacted)
        block = response_builder_new_thinking(builder, 0, llm_error);
    if (block == NULL)
        return -1;
    block->is_redacted = is_redacted;
    response_builder_append(&block->text, json_object_get(piece, "thinking"));
    response_builder_append(&block->proof,
                            json_object_get(piece, is_redacted ? "data" : "signature"));
    return 0;
}

static int take_choice(struct response_builder *builder, const json_t *choice,
                       struct llm_error *llm_error)
{
    const json_t *message = json_object_get(choice, "message");
    const json_t *piece = message != NULL ? message : json_object_get(choice, "delta");
    const json_t *calls = json_object_get(piece, "tool_calls");
    const json_t *entry = NULL;
    size_t i = 0;

    builder->has_answer = true;
    response_builder_set_once(&builder->finish_reason, json_object_get(choice, "finish_reason"));
    take_words(builder, piece);
    json_array_foreach (json_object_get(piece, "thinking_blocks"), i, entry) {
        if (take_thinking(builder, entry, llm_error) < 0)
            return -1;
    }
    json_array_foreach (calls, i, entry) {
        if (take_call(builder, entry, message != NULL, llm_error) < 0)
            return -1;
    }
    return 0;
}

int chat_read_answer(struct response_builder *builder, const json_t *answer,
                     struct llm_error *llm_error)
{
    const json_t *error = json_object_get(answer, "error");
    const json_t *choice = NULL;
    size_t i = 0;

    if (json_typeof(answer) != JSON_OBJECT)
        return llm_error_set(llm_error, LLM_CAUSE_API, "The model's answer is not a JSON object.");
    if (error != NULL && !json_is_null(error))
        return llm_error_from_error_member(llm_error, error);
    response_builder_set_once(&builder->response_id, json_object_get(answer, "id"));
    take_usage(builder, json_object_get(answer, "usage"));
    json_array_foreach (json_object_get(answer, "choices"), i, choice) {
        /* Only one answer was requested. */
        if (json_int_or(choice, "index", 0) != 0)
            continue;
        if (take_choice(builder, choice, llm_error) < 0)
            return -1;
    }
    return 0;
}

int chat_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                    struct llm_error *llm_error)
{
    *is_last_out = false;
    return chat_read_answer(builder, event, llm_error);
}
