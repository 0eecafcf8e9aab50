#include "llm/response_builder.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/llm_error.h"

/* Twelve random bytes: 24 digits. */
enum { FRESH_ID_BYTES = 12, ID_MAX_BYTES = 256 };

static void call_done(struct response_call *call)
{
    strbuf_done(&call->id);
    strbuf_done(&call->name);
    strbuf_done(&call->arguments);
}

void response_builder_done(struct response_builder *builder)
{
    if (builder == NULL)
        return;
    for (size_t i = 0; i < builder->n_calls; i++)
        call_done(&builder->calls[i]);
    mem_free(builder->calls);
    strbuf_done(&builder->text);
    strbuf_done(&builder->reasoning);
    strbuf_done(&builder->response_id);
    strbuf_done(&builder->finish_reason);
    *builder = (struct response_builder)RESPONSE_BUILDER_INIT;
}

static void append_text(struct strbuf *out, const json_t *text)
{
    if (json_is_string(text))
        strbuf_append_bytes(out, json_string_value(text), json_string_length(text));
}

static void set_once(struct strbuf *out, const json_t *text)
{
    if (out->len == 0)
        append_text(out, text);
}

/* --- content --- */

/* A string, or a list of parts of which the text is taken. */
static void take_content(struct response_builder *builder, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    append_text(&builder->text, content);
    json_array_foreach (content, i, part)
        append_text(&builder->text, json_object_get(part, "text"));
}

static void take_words(struct response_builder *builder, const json_t *piece)
{
    const json_t *reasoning = json_object_get(piece, "reasoning_content");

    take_content(builder, json_object_get(piece, "content"));
    append_text(&builder->text, json_object_get(piece, "refusal"));
    if (!json_is_string(reasoning))
        reasoning = json_object_get(piece, "reasoning");
    append_text(&builder->reasoning, reasoning);
}

/* --- calls --- */

static struct response_call *new_call(struct response_builder *builder, json_int_t index,
                                      struct llm_error *llm_error)
{
    struct response_call *call = NULL;

    if (builder->n_calls == DRAFT_CALLS_MAX) {
        llm_error_set(llm_error, LLM_CAUSE_API,
                      "The model asked for more than %d tool calls at once.", DRAFT_CALLS_MAX);
        return NULL;
    }
    builder->calls = mem_resize(builder->calls, (builder->n_calls + 1) * sizeof(*builder->calls));
    call = &builder->calls[builder->n_calls++];
    *call = (struct response_call){index, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};
    return call;
}

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
    append_text(&call->arguments, arguments);
    if (json_is_object(arguments))
        json_append_text(&call->arguments, arguments);
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
        call =
            new_call(builder, json_int_or(piece, "index", (json_int_t)builder->n_calls), llm_error);
    if (call == NULL)
        return -1;
    set_once(&call->id, json_object_get(piece, "id"));
    set_once(&call->name, json_object_get(function, "name"));
    take_arguments(call, json_object_get(function, "arguments"));
    return 0;
}

int response_builder_add_call(struct response_builder *builder, const char *name,
                              const char *arguments, struct llm_error *llm_error)
{
    struct response_call *call = new_call(builder, (json_int_t)builder->n_calls, llm_error);

    if (call == NULL)
        return -1;
    strbuf_append(&call->name, name);
    strbuf_append(&call->arguments, arguments);
    return 0;
}

/* --- usage --- */

static json_int_t first_count(const json_t *object, const char *key, const char *other_key)
{
    json_int_t count = json_int_or(object, key, json_int_or(object, other_key, 0));

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

static int take_choice(struct response_builder *builder, const json_t *choice,
                       struct llm_error *llm_error)
{
    const json_t *message = json_object_get(choice, "message");
    const json_t *piece = message != NULL ? message : json_object_get(choice, "delta");
    const json_t *calls = json_object_get(piece, "tool_calls");
    const json_t *call = NULL;
    size_t i = 0;

    builder->has_choice = true;
    set_once(&builder->finish_reason, json_object_get(choice, "finish_reason"));
    take_words(builder, piece);
    json_array_foreach (calls, i, call) {
        if (take_call(builder, call, message != NULL, llm_error) < 0)
            return -1;
    }
    return 0;
}

int response_builder_add_answer(struct response_builder *builder, const json_t *answer,
                                struct llm_error *llm_error)
{
    const json_t *error = json_object_get(answer, "error");
    const json_t *choice = NULL;
    size_t i = 0;

    if (json_typeof(answer) != JSON_OBJECT)
        return llm_error_set(llm_error, LLM_CAUSE_API, "The model's answer is not a JSON object.");
    if (error != NULL && !json_is_null(error))
        return llm_error_from_error_member(llm_error, error);
    set_once(&builder->response_id, json_object_get(answer, "id"));
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

/* --- the reply --- */

static void set_fresh_id(struct strbuf *id, const char *prefix)
{
    unsigned char random[FRESH_ID_BYTES];
    char hex[2 * FRESH_ID_BYTES + 1];

    crypto_random(random, sizeof(random));
    hex_encode(random, sizeof(random), hex);
    strbuf_reset(id);
    strbuf_append(id, prefix);
    strbuf_append(id, hex);
}

static bool is_id_taken(const struct response_builder *builder, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(builder->calls[i].id.text, builder->calls[n].id.text))
            return true;
    }
    return false;
}

static int check_calls(struct response_builder *builder, struct llm_error *llm_error)
{
    for (size_t i = 0; i < builder->n_calls; i++) {
        struct response_call *call = &builder->calls[i];

        /*
         * In a complete answer the model itself left out the name: it will be told that there is no
         * such tool.
         */
        if (call->name.len == 0 && builder->finish_reason.len == 0)
            return llm_error_set(llm_error, LLM_CAUSE_CONNECTION,
                                 "The model's answer has a tool call without a name.");
        if (call->id.len == 0 || call->id.len > ID_MAX_BYTES || is_id_taken(builder, i))
            set_fresh_id(&call->id, "call_");
        if (text_is_blank(call->arguments.text)) {
            strbuf_reset(&call->arguments);
            strbuf_append(&call->arguments, "{}");
        }
    }
    return 0;
}

static int check(struct response_builder *builder, struct llm_error *llm_error)
{
    bool is_empty = builder->text.len == 0 && builder->n_calls == 0;

    if (!builder->has_choice)
        return llm_error_set(llm_error, LLM_CAUSE_NO_RESPONSE,
                             "The model's answer is empty: it has no choices.");
    if (is_empty && text_equal(builder->finish_reason.text, "content_filter"))
        return llm_error_set(llm_error, LLM_CAUSE_CONTENT_POLICY,
                             "The provider's content filter blocked the answer.");
    if (is_empty && builder->has_odd_calls)
        return llm_error_set(llm_error, LLM_CAUSE_API,
                             "The model made tool calls that are not function calls.");
    return check_calls(builder, llm_error);
}

int response_builder_finish(struct response_builder *builder, struct llm_reply *reply_out,
                            struct llm_error *llm_error)
{
    if (check(builder, llm_error) < 0)
        return -1;
    if (builder->response_id.len == 0)
        set_fresh_id(&builder->response_id, "chatcmpl-");
    reply_out->response_id = strbuf_take(&builder->response_id);
    reply_out->finish_reason = builder->finish_reason.len > 0 ? strbuf_take(&builder->finish_reason)
                                                              : mem_dup_text("stop");
    reply_out->reasoning = builder->reasoning.len > 0 ? strbuf_take(&builder->reasoning) : NULL;
    reply_out->text = strbuf_take(&builder->text);
    reply_out->n_calls = builder->n_calls;
    reply_out->calls = mem_alloc_array(builder->n_calls, sizeof(*reply_out->calls));
    for (size_t i = 0; i < builder->n_calls; i++) {
        reply_out->calls[i].id = strbuf_take(&builder->calls[i].id);
        reply_out->calls[i].name = strbuf_take(&builder->calls[i].name);
        reply_out->calls[i].arguments = strbuf_take(&builder->calls[i].arguments);
    }
    reply_out->usage = builder->usage;
    reply_out->usage.response_id = reply_out->response_id;
    return 0;
}

void llm_reply_done(struct llm_reply *reply)
{
    if (reply == NULL)
        return;
    for (size_t i = 0; i < reply->n_calls; i++) {
        mem_free(reply->calls[i].id);
        mem_free(reply->calls[i].name);
        mem_free(reply->calls[i].arguments);
    }
    mem_free(reply->calls);
    mem_free(reply->response_id);
    mem_free(reply->model);
    mem_free(reply->text);
    mem_free(reply->reasoning);
    mem_free(reply->finish_reason);
    *reply = (struct llm_reply)LLM_REPLY_INIT;
}
