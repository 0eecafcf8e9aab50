/* Answers of Gemini's native format, whole or streamed, and its errors (see gemini.h). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/gemini.h"
#include "llm/formats/gemini_name.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"

enum { PROBLEM_MAX_CHARS = 1000 };

/* --- parts --- */

/*
 * The server's own id is not kept: the format does not promise one, and a request has to be
 * consistent only in itself.
 */
static int take_call(struct response_builder *builder, const json_t *part,
                     struct llm_error *llm_error)
{
    const json_t *function = json_object_get(part, "functionCall");
    const json_t *args = json_object_get(function, "args");
    struct response_call *call =
        response_builder_new_call(builder, (json_int_t)builder->n_calls, llm_error);

    if (call == NULL)
        return -1;
    gemini_name_append_original(&call->name, json_text_or(function, "name", ""));
    if (args != NULL && !json_is_null(args))
        json_append_text(&call->arguments, args);
    response_builder_append(&call->signature, json_object_get(part, "thoughtSignature"));
    return 0;
}

/* Of several parts the last signed one counts. In a stream it may have no text. */
static void take_signature(struct response_builder *builder, const json_t *part)
{
    const json_t *signature = json_object_get(part, "thoughtSignature");

    if (!json_is_string(signature))
        return;
    strbuf_reset(&builder->signature);
    response_builder_append(&builder->signature, signature);
}

/* Parts of other kinds belong to tools that the server runs: the words come in text. */
static int take_part(struct response_builder *builder, const json_t *part,
                     struct llm_error *llm_error)
{
    bool is_thought = json_bool_or(part, "thought", 0) != 0;

    if (json_is_object(json_object_get(part, "functionCall")))
        return take_call(builder, part, llm_error);
    response_builder_append(is_thought ? &builder->reasoning : &builder->text,
                            json_object_get(part, "text"));
    take_signature(builder, part);
    return 0;
}

/* --- the end --- */

static const struct {
    const char *theirs;
    const char *ours;
} finish_reasons[] = {
    {"STOP", "stop"},
    {"MAX_TOKENS", "length"},
    {"CONTINUATION", "length"},
    {"SAFETY", "content_filter"},
    {"RECITATION", "content_filter"},
    {"LANGUAGE", "content_filter"},
    {"BLOCKLIST", "content_filter"},
    {"PROHIBITED_CONTENT", "content_filter"},
    {"SPII", "content_filter"},
    {"IMAGE_SAFETY", "content_filter"},
    {"IMAGE_PROHIBITED_CONTENT", "content_filter"},
    {"IMAGE_RECITATION", "content_filter"},
};

/* The model wrote a call that the server does not pass on. */
static const char *const bad_calls[] = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
                                        "TOO_MANY_TOOL_CALLS"};

static void note_bad_call(struct response_builder *builder, const char *reason,
                          const json_t *candidate)
{
    const char *message = json_text_or(candidate, "finishMessage", "");

    for (size_t i = 0; i < ARRAY_SIZE(bad_calls); i++) {
        if (!text_equal(bad_calls[i], reason))
            continue;
        strbuf_appendf(&builder->call_problem,
                       "The function call was not run, because it could not be read (%s%s", reason,
                       message[0] != '\0' ? ": " : "");
        strbuf_append_bytes(&builder->call_problem, message,
                            utf8_offset(message, strlen(message), PROBLEM_MAX_CHARS));
        strbuf_append(&builder->call_problem,
                      "). Call one of your functions, with valid arguments.");
    }
}

static void take_finish_reason(struct response_builder *builder, const json_t *candidate)
{
    const char *reason = json_text_or(candidate, "finishReason", "");
    const char *own = reason;

    if (reason[0] == '\0' || builder->finish_reason.len > 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(finish_reasons); i++) {
        if (text_equal(finish_reasons[i].theirs, reason))
            own = finish_reasons[i].ours;
    }
    if (builder->n_calls > 0 && text_equal(own, "stop"))
        own = "tool_calls";
    strbuf_append(&builder->finish_reason, own);
    note_bad_call(builder, reason, candidate);
}

static int64_t count_of(const json_t *usage, const char *key)
{
    return response_builder_read_count(usage, key, 0);
}

/* Counts are sums so far. Those of the prompt include what was cached, those of words no thoughts.
 */
static void take_usage(struct response_builder *builder, const json_t *usage)
{
    struct llm_usage *into = &builder->usage;

    if (!json_is_object(usage))
        return;
    into->reasoning_tokens = count_of(usage, "thoughtsTokenCount");
    into->completion_tokens = count_of(usage, "candidatesTokenCount") + into->reasoning_tokens;
    into->cache_read_tokens = count_of(usage, "cachedContentTokenCount");
    into->prompt_tokens =
        count_of(usage, "promptTokenCount") + count_of(usage, "toolUsePromptTokenCount");
}

/* --- answers --- */

/* Only one answer was requested. */
static int take_candidate(struct response_builder *builder, const json_t *candidate,
                          struct llm_error *llm_error)
{
    const json_t *content = json_object_get(candidate, "content");
    const json_t *part = NULL;
    size_t i = 0;

    if (!json_is_object(candidate) || json_int_or(candidate, "index", 0) != 0)
        return 0;
    builder->has_answer = true;
    json_array_foreach (json_object_get(content, "parts"), i, part) {
        if (take_part(builder, part, llm_error) < 0)
            return -1;
    }
    take_finish_reason(builder, candidate);
    return 0;
}

static int check_prompt(const struct response_builder *builder, const json_t *event,
                        struct llm_error *llm_error)
{
    const char *reason =
        json_text_or(json_object_get(event, "promptFeedback"), "blockReason", NULL);

    if (reason == NULL || builder->has_answer)
        return 0;
    return llm_error_set(llm_error, LLM_CAUSE_CONTENT_POLICY,
                         "The provider's content filter blocked the prompt (%s).", reason);
}

int gemini_read_event(struct response_builder *builder, const json_t *event, bool *is_last_out,
                      struct llm_error *llm_error)
{
    const json_t *error = json_object_get(event, "error");
    const json_t *candidate = NULL;
    size_t i = 0;

    /* The stream has no end mark: further parts and counts may follow a finish reason. */
    *is_last_out = false;
    if (error != NULL && !json_is_null(error))
        return llm_error_from_error_member(llm_error, error);
    response_builder_set_once(&builder->response_id, json_object_get(event, "responseId"));
    take_usage(builder, json_object_get(event, "usageMetadata"));
    json_array_foreach (json_object_get(event, "candidates"), i, candidate) {
        if (take_candidate(builder, candidate, llm_error) < 0)
            return -1;
    }
    return check_prompt(builder, event, llm_error);
}

/* A server that does not know the parameter of the stream sends its events as an array. */
int gemini_read_answer(struct response_builder *builder, const json_t *answer,
                       struct llm_error *llm_error)
{
    const json_t *event = NULL;
    bool is_last = false;
    size_t i = 0;

    if (json_typeof(answer) == JSON_OBJECT)
        return gemini_read_event(builder, answer, &is_last, llm_error);
    if (json_typeof(answer) != JSON_ARRAY)
        return llm_error_set(llm_error, LLM_CAUSE_API, "The model's answer is not a JSON object.");
    json_array_foreach (answer, i, event) {
        if (gemini_read_event(builder, event, &is_last, llm_error) < 0)
            return -1;
    }
    return 0;
}

/* --- errors --- */

/* "32.5s" in milliseconds (the JSON form of google.protobuf.Duration); -1 if it is none. */
static int64_t duration_ms(const char *text)
{
    char *end = NULL;
    double seconds = strtod(text, &end);

    if (end == text || !text_equal(end, "s") || !(seconds >= 0 && seconds < 1e9))
        return -1;
    return (int64_t)(seconds * 1000);
}

static int64_t retry_delay_ms(const json_t *error)
{
    const json_t *detail = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(error, "details"), i, detail) {
        const char *delay = json_text_or(detail, "retryDelay", NULL);

        if (delay != NULL)
            return duration_ms(delay);
    }
    return -1;
}

/* The delay that the server asks for is in the body (google.rpc.RetryInfo), not in a header. */
int gemini_read_error(struct llm_error *llm_error, long status, const char *body, size_t len)
{
    struct error ignored = ERROR_INIT;
    json_auto_t *json = NULL;

    (void)llm_error_from_answer(llm_error, status, body, len);
    if (json_parse(body, len, &json, &ignored) < 0)
        return -1;
    llm_error->retry_after_ms = retry_delay_ms(
        json_object_get(json_is_array(json) ? json_array_get(json, 0) : json, "error"));
    return -1;
}
