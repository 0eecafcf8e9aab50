#include "llm/draft.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/trouble.h"

/* Twelve random bytes: 24 digits. */
enum { FRESH_ID_BYTES = 12, ID_MAX_BYTES = 256 };

static void call_done(struct draft_call *call)
{
    strbuf_done(&call->id);
    strbuf_done(&call->name);
    strbuf_done(&call->arguments);
}

void draft_done(struct draft *draft)
{
    if (draft == NULL)
        return;
    for (size_t i = 0; i < draft->n_calls; i++)
        call_done(&draft->calls[i]);
    mem_free(draft->calls);
    strbuf_done(&draft->text);
    strbuf_done(&draft->reasoning);
    strbuf_done(&draft->response_id);
    strbuf_done(&draft->finish_reason);
    *draft = (struct draft)DRAFT_INIT;
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
static void take_content(struct draft *draft, const json_t *content)
{
    const json_t *part = NULL;
    size_t i = 0;

    append_text(&draft->text, content);
    json_array_foreach (content, i, part)
        append_text(&draft->text, json_object_get(part, "text"));
}

static void take_words(struct draft *draft, const json_t *piece)
{
    const json_t *reasoning = json_object_get(piece, "reasoning_content");

    take_content(draft, json_object_get(piece, "content"));
    append_text(&draft->text, json_object_get(piece, "refusal"));
    if (!json_is_string(reasoning))
        reasoning = json_object_get(piece, "reasoning");
    append_text(&draft->reasoning, reasoning);
}

/* --- calls --- */

static struct draft_call *new_call(struct draft *draft, json_int_t index,
                                   struct llm_trouble *trouble)
{
    struct draft_call *call = NULL;

    if (draft->n_calls == DRAFT_CALLS_MAX) {
        trouble_set(trouble, LLM_CAUSE_API, "The model asked for more than %d tool calls at once.",
                    DRAFT_CALLS_MAX);
        return NULL;
    }
    draft->calls = mem_resize(draft->calls, (draft->n_calls + 1) * sizeof(*draft->calls));
    call = &draft->calls[draft->n_calls++];
    *call = (struct draft_call){index, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};
    return call;
}

/*
 * The call that a piece continues, or NULL for a new one. Some servers send index 0 for each of
 * several calls, or no index: then a different id together with a name begins a new call.
 */
static struct draft_call *find_call(const struct draft *draft, const json_t *piece)
{
    const json_t *index = json_object_get(piece, "index");
    const char *id = json_text_or(piece, "id", "");
    const char *name = json_text_or(json_object_get(piece, "function"), "name", "");

    for (size_t i = draft->n_calls; i > 0; i--) {
        struct draft_call *call = &draft->calls[i - 1];

        if (json_is_integer(index) && json_integer_value(index) != call->index)
            continue;
        if (id[0] != '\0' && name[0] != '\0' && call->id.len > 0 && !text_equal(id, call->id.text))
            return NULL;
        return call;
    }
    return NULL;
}

static void take_arguments(struct draft_call *call, const json_t *arguments)
{
    append_text(&call->arguments, arguments);
    if (json_is_object(arguments))
        json_append_text(&call->arguments, arguments);
}

static int take_call(struct draft *draft, const json_t *piece, bool is_whole,
                     struct llm_trouble *trouble)
{
    const json_t *function = json_object_get(piece, "function");
    const char *type = json_text_or(piece, "type", "function");
    struct draft_call *call = NULL;

    if (!text_equal(type, "function") && type[0] != '\0') {
        draft->has_odd_calls = true;
        return 0;
    }
    if (!is_whole)
        call = find_call(draft, piece);
    if (call == NULL)
        call = new_call(draft, json_int_or(piece, "index", (json_int_t)draft->n_calls), trouble);
    if (call == NULL)
        return -1;
    set_once(&call->id, json_object_get(piece, "id"));
    set_once(&call->name, json_object_get(function, "name"));
    take_arguments(call, json_object_get(function, "arguments"));
    return 0;
}

int draft_add_call(struct draft *draft, const char *name, const char *arguments,
                   struct llm_trouble *trouble)
{
    struct draft_call *call = new_call(draft, (json_int_t)draft->n_calls, trouble);

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

static void take_usage(struct draft *draft, const json_t *usage)
{
    const json_t *in = json_object_get(usage, "prompt_tokens_details");
    const json_t *out = json_object_get(usage, "completion_tokens_details");
    struct llm_usage *into = &draft->usage;

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

static int take_choice(struct draft *draft, const json_t *choice, struct llm_trouble *trouble)
{
    const json_t *message = json_object_get(choice, "message");
    const json_t *piece = message != NULL ? message : json_object_get(choice, "delta");
    const json_t *calls = json_object_get(piece, "tool_calls");
    const json_t *call = NULL;
    size_t i = 0;

    draft->has_choice = true;
    set_once(&draft->finish_reason, json_object_get(choice, "finish_reason"));
    take_words(draft, piece);
    json_array_foreach (calls, i, call) {
        if (take_call(draft, call, message != NULL, trouble) < 0)
            return -1;
    }
    return 0;
}

int draft_take(struct draft *draft, const json_t *answer, struct llm_trouble *trouble)
{
    const json_t *error = json_object_get(answer, "error");
    const json_t *choice = NULL;
    size_t i = 0;

    if (json_typeof(answer) != JSON_OBJECT)
        return trouble_set(trouble, LLM_CAUSE_API, "The model's answer is no JSON object.");
    if (error != NULL && !json_is_null(error))
        return trouble_from_error_member(trouble, error);
    set_once(&draft->response_id, json_object_get(answer, "id"));
    take_usage(draft, json_object_get(answer, "usage"));
    json_array_foreach (json_object_get(answer, "choices"), i, choice) {
        /* Only one answer was requested. */
        if (json_int_or(choice, "index", 0) != 0)
            continue;
        if (take_choice(draft, choice, trouble) < 0)
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

static bool is_id_taken(const struct draft *draft, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(draft->calls[i].id.text, draft->calls[n].id.text))
            return true;
    }
    return false;
}

static int check_calls(struct draft *draft, struct llm_trouble *trouble)
{
    for (size_t i = 0; i < draft->n_calls; i++) {
        struct draft_call *call = &draft->calls[i];

        /*
         * In a complete answer the model itself left out the name: it will be told that there is no
         * such tool.
         */
        if (call->name.len == 0 && draft->finish_reason.len == 0)
            return trouble_set(trouble, LLM_CAUSE_CONNECTION,
                               "The model's answer has a tool call without a name.");
        if (call->id.len == 0 || call->id.len > ID_MAX_BYTES || is_id_taken(draft, i))
            set_fresh_id(&call->id, "call_");
        if (text_is_blank(call->arguments.text)) {
            strbuf_reset(&call->arguments);
            strbuf_append(&call->arguments, "{}");
        }
    }
    return 0;
}

static int check(struct draft *draft, struct llm_trouble *trouble)
{
    bool is_empty = draft->text.len == 0 && draft->n_calls == 0;

    if (!draft->has_choice)
        return trouble_set(trouble, LLM_CAUSE_NO_RESPONSE,
                           "The model's answer is empty: it has no choices.");
    if (is_empty && text_equal(draft->finish_reason.text, "content_filter"))
        return trouble_set(trouble, LLM_CAUSE_CONTENT_POLICY,
                           "The provider's content filter held the answer back.");
    if (is_empty && draft->has_odd_calls)
        return trouble_set(trouble, LLM_CAUSE_API,
                           "The model made tool calls that are no function calls.");
    return check_calls(draft, trouble);
}

int draft_finish(struct draft *draft, struct llm_reply *reply_out, struct llm_trouble *trouble)
{
    if (check(draft, trouble) < 0)
        return -1;
    if (draft->response_id.len == 0)
        set_fresh_id(&draft->response_id, "chatcmpl-");
    reply_out->response_id = strbuf_take(&draft->response_id);
    reply_out->finish_reason =
        draft->finish_reason.len > 0 ? strbuf_take(&draft->finish_reason) : mem_dup_text("stop");
    reply_out->reasoning = draft->reasoning.len > 0 ? strbuf_take(&draft->reasoning) : NULL;
    reply_out->text = strbuf_take(&draft->text);
    reply_out->n_calls = draft->n_calls;
    reply_out->calls = mem_alloc_array(draft->n_calls, sizeof(*reply_out->calls));
    for (size_t i = 0; i < draft->n_calls; i++) {
        reply_out->calls[i].id = strbuf_take(&draft->calls[i].id);
        reply_out->calls[i].name = strbuf_take(&draft->calls[i].name);
        reply_out->calls[i].arguments = strbuf_take(&draft->calls[i].arguments);
    }
    reply_out->usage = draft->usage;
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
