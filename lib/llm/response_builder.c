#include "llm/response_builder.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/call_id.h"
#include "llm/llm_error.h"

/* Twelve random bytes: 24 digits. */
enum { FRESH_ID_BYTES = 12, ITEM_ID_MAX_BYTES = 256 };

static void call_done(struct response_call *call)
{
    strbuf_done(&call->id);
    strbuf_done(&call->item_id);
    strbuf_done(&call->name);
    strbuf_done(&call->arguments);
    strbuf_done(&call->signature);
}

void response_builder_done(struct response_builder *builder)
{
    if (builder == NULL)
        return;
    for (size_t i = 0; i < builder->n_calls; i++)
        call_done(&builder->calls[i]);
    mem_free(builder->calls);
    for (size_t i = 0; i < builder->n_thinking; i++) {
        strbuf_done(&builder->thinking[i].text);
        strbuf_done(&builder->thinking[i].proof);
    }
    mem_free(builder->thinking);
    json_decref(builder->reasoning_item);
    strbuf_done(&builder->text);
    strbuf_done(&builder->reasoning);
    strbuf_done(&builder->response_id);
    strbuf_done(&builder->finish_reason);
    strbuf_done(&builder->signature);
    strbuf_done(&builder->call_problem);
    *builder = (struct response_builder)RESPONSE_BUILDER_INIT;
}

void response_builder_append(struct strbuf *out, const json_t *text)
{
    if (json_is_string(text))
        strbuf_append_bytes(out, json_string_value(text), json_string_length(text));
}

void response_builder_set_once(struct strbuf *out, const json_t *text)
{
    if (out->len == 0)
        response_builder_append(out, text);
}

/* --- parts --- */

struct response_call *response_builder_new_call(struct response_builder *builder, json_int_t index,
                                                struct llm_error *llm_error)
{
    struct response_call *call = NULL;

    if (builder->n_calls == RESPONSE_CALLS_MAX) {
        llm_error_set(llm_error, LLM_CAUSE_API,
                      "The model asked for more than %d tool calls at once.", RESPONSE_CALLS_MAX);
        return NULL;
    }
    builder->calls = mem_resize(builder->calls, (builder->n_calls + 1) * sizeof(*builder->calls));
    call = &builder->calls[builder->n_calls++];
    *call = (struct response_call){.index = index,
                                   .id = STRBUF_INIT,
                                   .item_id = STRBUF_INIT,
                                   .name = STRBUF_INIT,
                                   .arguments = STRBUF_INIT,
                                   .signature = STRBUF_INIT};
    return call;
}

int response_builder_add_call(struct response_builder *builder, const char *name,
                              const char *arguments, struct llm_error *llm_error)
{
    struct response_call *call =
        response_builder_new_call(builder, (json_int_t)builder->n_calls, llm_error);

    if (call == NULL)
        return -1;
    strbuf_append(&call->name, name);
    strbuf_append(&call->arguments, arguments);
    return 0;
}

struct response_thinking *response_builder_new_thinking(struct response_builder *builder,
                                                        json_int_t index,
                                                        struct llm_error *llm_error)
{
    struct response_thinking *block = NULL;

    if (builder->n_thinking == RESPONSE_THINKING_MAX) {
        llm_error_set(llm_error, LLM_CAUSE_API, "The model's answer has more than %d blocks.",
                      RESPONSE_THINKING_MAX);
        return NULL;
    }
    builder->thinking =
        mem_resize(builder->thinking, (builder->n_thinking + 1) * sizeof(*builder->thinking));
    block = &builder->thinking[builder->n_thinking++];
    *block = (struct response_thinking){.index = index, .text = STRBUF_INIT, .proof = STRBUF_INIT};
    return block;
}

struct response_call *response_builder_find_call(const struct response_builder *builder,
                                                 json_int_t index)
{
    for (size_t i = builder->n_calls; i > 0; i--) {
        if (builder->calls[i - 1].index == index)
            return &builder->calls[i - 1];
    }
    return NULL;
}

struct response_thinking *response_builder_find_thinking(const struct response_builder *builder,
                                                         json_int_t index)
{
    for (size_t i = builder->n_thinking; i > 0; i--) {
        if (builder->thinking[i - 1].index == index)
            return &builder->thinking[i - 1];
    }
    return NULL;
}

void response_builder_append_thinking(struct response_builder *builder,
                                      struct response_thinking *block, const json_t *text)
{
    if (block->text.len == 0 && builder->reasoning.len > 0 && json_is_string(text))
        strbuf_append_char(&builder->reasoning, '\n');
    response_builder_append(&block->text, text);
    response_builder_append(&builder->reasoning, text);
}

/* --- the end --- */

void response_builder_set_finish(struct response_builder *builder,
                                 const struct response_word *words, const char *reason)
{
    for (; words->theirs != NULL; words++) {
        if (text_equal(words->theirs, reason))
            reason = words->ours;
    }
    if (builder->finish_reason.len == 0)
        strbuf_append(&builder->finish_reason, reason);
}

int64_t response_builder_read_count(const json_t *usage, const char *key, int64_t known)
{
    json_int_t count = json_int_or(usage, key, 0);

    if (count > RESPONSE_TOKENS_MAX)
        return RESPONSE_TOKENS_MAX;
    return count > known ? (int64_t)count : known;
}

void response_builder_count(struct response_builder *builder, const struct response_counts *names,
                            const json_t *usage)
{
    struct llm_usage *into = &builder->usage;
    int64_t fresh = into->prompt_tokens - into->cache_read_tokens - into->cache_write_tokens;

    fresh = response_builder_read_count(usage, names->fresh, fresh);
    into->cache_read_tokens =
        response_builder_read_count(usage, names->cache_read, into->cache_read_tokens);
    into->cache_write_tokens =
        response_builder_read_count(usage, names->cache_write, into->cache_write_tokens);
    into->completion_tokens =
        response_builder_read_count(usage, names->completion, into->completion_tokens);
    into->prompt_tokens = fresh + into->cache_read_tokens + into->cache_write_tokens;
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
        const char *id = builder->calls[i].id.text;
        const char *other = builder->calls[n].id.text;
        size_t len = call_id_bare_len(id);

        if (call_id_bare_len(other) == len && memcmp(id, other, len) == 0)
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
        if (!call_id_is_kept(call->id.text) || is_id_taken(builder, i))
            set_fresh_id(&call->id, "call_");
        call_id_add_signature(&call->id, &call->signature);
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

    if (!builder->has_answer)
        return llm_error_set(llm_error, LLM_CAUSE_NO_RESPONSE, "The model's answer is empty.");
    if (is_empty && text_equal(builder->finish_reason.text, "content_filter"))
        return llm_error_set(llm_error, LLM_CAUSE_CONTENT_POLICY,
                             "The provider's content filter blocked the answer.");
    if (is_empty && builder->has_odd_calls)
        return llm_error_set(llm_error, LLM_CAUSE_API,
                             "The model made tool calls that are not function calls.");
    return check_calls(builder, llm_error);
}

/* The first valid signature of the answer's words or calls; NULL: none. */
static const struct strbuf *signature_of(const struct response_builder *builder)
{
    if (call_signature_is_valid(&builder->signature))
        return &builder->signature;
    for (size_t i = 0; i < builder->n_calls; i++) {
        if (call_signature_is_valid(&builder->calls[i].signature))
            return &builder->calls[i].signature;
    }
    return NULL;
}

/*
 * Where words and calls are signed, one block stands for the thought behind them. It also tells
 * which model made the signatures in the ids of the calls.
 */
static void push_signed(const struct response_builder *builder, json_t *blocks)
{
    const struct strbuf *signature = signature_of(builder);
    json_t *block = NULL;

    if (signature == NULL)
        return;
    block = json_object();
    json_put_text(block, "type", "thinking");
    json_put_text(block, "thinking", builder->reasoning.text);
    json_put_text(block, "signature", signature->text);
    json_push(blocks, block);
}

/* A block without its signature was not made by the model, or not wholly: nobody takes it back. */
static json_t *thinking_of(const struct response_builder *builder)
{
    json_t *blocks = json_array();

    for (size_t i = 0; i < builder->n_thinking && !builder->has_late_thinking; i++) {
        const struct response_thinking *block = &builder->thinking[i];
        json_t *json = NULL;

        if (block->proof.len == 0)
            continue;
        json = json_object();
        json_put_text(json, "type", block->is_redacted ? "redacted_thinking" : "thinking");
        if (!block->is_redacted)
            json_put_text(json, "thinking", block->text.text);
        json_put_text(json, block->is_redacted ? "data" : "signature", block->proof.text);
        json_push(blocks, json);
    }
    if (json_array_size(blocks) == 0)
        push_signed(builder, blocks);
    if (json_array_size(blocks) > 0)
        return blocks;
    json_decref(blocks);
    return NULL;
}

static bool item_id_is_kept(const struct response_call *call)
{
    return call->item_id.len > 0 && call->item_id.len <= ITEM_ID_MAX_BYTES;
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
    reply_out->thinking = thinking_of(builder);
    reply_out->reasoning = builder->reasoning.len > 0 ? strbuf_take(&builder->reasoning) : NULL;
    reply_out->reasoning_item = TAKE_PTR(builder->reasoning_item);
    reply_out->text = strbuf_take(&builder->text);
    reply_out->n_calls = builder->n_calls;
    reply_out->calls = mem_alloc_array(builder->n_calls, sizeof(*reply_out->calls));
    for (size_t i = 0; i < builder->n_calls; i++) {
        reply_out->calls[i].id = strbuf_take(&builder->calls[i].id);
        reply_out->calls[i].item_id =
            item_id_is_kept(&builder->calls[i]) ? strbuf_take(&builder->calls[i].item_id) : NULL;
        reply_out->calls[i].name = strbuf_take(&builder->calls[i].name);
        reply_out->calls[i].arguments = strbuf_take(&builder->calls[i].arguments);
    }
    if (builder->n_calls == 0 && builder->call_problem.len > 0)
        reply_out->call_problem = strbuf_take(&builder->call_problem);
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
        mem_free(reply->calls[i].item_id);
        mem_free(reply->calls[i].name);
        mem_free(reply->calls[i].arguments);
    }
    mem_free(reply->calls);
    mem_free(reply->response_id);
    mem_free(reply->model);
    mem_free(reply->text);
    mem_free(reply->reasoning);
    json_decref(reply->thinking);
    json_decref(reply->reasoning_item);
    mem_free(reply->finish_reason);
    mem_free(reply->call_problem);
    *reply = (struct llm_reply)LLM_REPLY_INIT;
}
