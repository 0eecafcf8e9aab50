#include "llm/llm_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/masking/masker.h"

/* Length shown of a body that is not JSON. */
enum { RAW_BODY_SHOWN_BYTES = 300 };
enum { MS_PER_S = 1000 };

static const struct {
    enum llm_failure_kind kind;
    enum error_code code;
    bool may_retry;
    bool is_outage;
} causes[LLM_N_CAUSES] = {
#define X(cause, kind, code, retry, outage) [(cause)] = {(kind), (code), (retry), (outage)},
    LLM_CAUSES(X)
#undef X
};

static const char *const failure_codes[LLM_N_FAILURES] = {
#define X(constant, text) [constant] = (text),
    LLM_FAILURES(X)
#undef X
};

static const struct {
    long status;
    enum llm_cause cause;
} statuses[] = {
    {400, LLM_CAUSE_BAD_REQUEST}, {401, LLM_CAUSE_AUTHENTICATION}, {403, LLM_CAUSE_AUTHENTICATION},
    {404, LLM_CAUSE_NOT_FOUND},   {408, LLM_CAUSE_TIMEOUT},        {409, LLM_CAUSE_CONFLICT},
    {413, LLM_CAUSE_BAD_REQUEST}, {422, LLM_CAUSE_BAD_REQUEST},    {424, LLM_CAUSE_INTERNAL_SERVER},
    {429, LLM_CAUSE_RATE_LIMIT},  {502, LLM_CAUSE_BAD_GATEWAY},    {503, LLM_CAUSE_UNAVAILABLE},
    {504, LLM_CAUSE_TIMEOUT},     {529, LLM_CAUSE_OVERLOADED},
};

struct phrase {
    const char *text; /* lower case */
    enum llm_cause cause;
};

/* Error classes named by a LiteLLM proxy. */
static const struct phrase class_names[] = {
    {"litellm.contextwindowexceedederror", LLM_CAUSE_CONTEXT_WINDOW},
    {"litellm.contentpolicyviolationerror", LLM_CAUSE_CONTENT_POLICY},
    {"litellm.authenticationerror", LLM_CAUSE_AUTHENTICATION},
    {"litellm.permissiondeniederror", LLM_CAUSE_AUTHENTICATION},
    {"litellm.notfounderror", LLM_CAUSE_NOT_FOUND},
    {"litellm.ratelimiterror", LLM_CAUSE_RATE_LIMIT},
    {"litellm.timeout", LLM_CAUSE_TIMEOUT},
    {"litellm.serviceunavailableerror", LLM_CAUSE_UNAVAILABLE},
    {"litellm.internalservererror", LLM_CAUSE_INTERNAL_SERVER},
    {"litellm.badgatewayerror", LLM_CAUSE_BAD_GATEWAY},
    {"litellm.apiconnectionerror", LLM_CAUSE_CONNECTION},
    {"litellm.badrequesterror", LLM_CAUSE_BAD_REQUEST},
    {"overloaded", LLM_CAUSE_OVERLOADED},
};

/* Phrases in the error text of a refused request (4xx). */
static const struct phrase refusal_phrases[] = {
    {"context_length_exceeded", LLM_CAUSE_CONTEXT_WINDOW},
    {"contextwindowexceedederror", LLM_CAUSE_CONTEXT_WINDOW},
    {"prompt is too long", LLM_CAUSE_CONTEXT_WINDOW},
    {"input length and `max_tokens` exceed context limit", LLM_CAUSE_CONTEXT_WINDOW},
    {"please reduce the length of", LLM_CAUSE_CONTEXT_WINDOW},
    {"exceeds the available context size", LLM_CAUSE_CONTEXT_WINDOW},
    {"context length exceeded", LLM_CAUSE_CONTEXT_WINDOW},
    {"input exceeds the context window", LLM_CAUSE_CONTEXT_WINDOW},
    {"context window exceeds limit", LLM_CAUSE_CONTEXT_WINDOW},
    {"exceed context limit", LLM_CAUSE_CONTEXT_WINDOW},
    {"this model's maximum context length is", LLM_CAUSE_CONTEXT_WINDOW},
    {"string too long. expected a string with maximum length", LLM_CAUSE_CONTEXT_WINDOW},
    {"model's maximum context limit", LLM_CAUSE_CONTEXT_WINDOW},
    {"is longer than the model's context length", LLM_CAUSE_CONTEXT_WINDOW},
    {"input tokens exceed the configured limit", LLM_CAUSE_CONTEXT_WINDOW},
    {"`inputs` tokens + `max_new_tokens` must be", LLM_CAUSE_CONTEXT_WINDOW},
    {"exceeds the maximum number of tokens allowed", LLM_CAUSE_CONTEXT_WINDOW},
    {"input is too long for requested model", LLM_CAUSE_CONTEXT_WINDOW},
    {"too many total text bytes", LLM_CAUSE_CONTEXT_WINDOW},
    {"must be followed by tool messages responding to each", LLM_CAUSE_MALFORMED_HISTORY},
    {"without `tool_result` blocks", LLM_CAUSE_MALFORMED_HISTORY},
    {"unexpected `tool_use_id`", LLM_CAUSE_MALFORMED_HISTORY},
    {"exceeds the number of tooluse blocks", LLM_CAUSE_MALFORMED_HISTORY},
    {"expected toolresult blocks at", LLM_CAUSE_MALFORMED_HISTORY},
    {"role 'tool' must be a response to a preceeding", LLM_CAUSE_MALFORMED_HISTORY},
    {"role 'tool' must be a response to a preceding", LLM_CAUSE_MALFORMED_HISTORY},
    {"failed to parse tool call arguments as json", LLM_CAUSE_MALFORMED_HISTORY},
    {"ensure that function call turn", LLM_CAUSE_MALFORMED_HISTORY},
    {"ensure that function response turn", LLM_CAUSE_MALFORMED_HISTORY},
    {"the number of function response parts", LLM_CAUSE_MALFORMED_HISTORY},
    {"thought_signature", LLM_CAUSE_MALFORMED_HISTORY},
    {"thought signature", LLM_CAUSE_MALFORMED_HISTORY},
    {"content_policy_violation", LLM_CAUSE_CONTENT_POLICY},
    {"content_filter", LLM_CAUSE_CONTENT_POLICY},
    {"content management policy", LLM_CAUSE_CONTENT_POLICY},
    {"content filtering policy", LLM_CAUSE_CONTENT_POLICY},
    {"invalid api key", LLM_CAUSE_AUTHENTICATION},
    {"incorrect api key", LLM_CAUSE_AUTHENTICATION},
    {"invalid_api_key", LLM_CAUSE_AUTHENTICATION},
    {"api key is missing", LLM_CAUSE_AUTHENTICATION},
    {"api key not valid", LLM_CAUSE_AUTHENTICATION},
    {"api key expired", LLM_CAUSE_AUTHENTICATION},
    {"authentication", LLM_CAUSE_AUTHENTICATION},
};

/* Waiting does not help an account that is out of quota. */
static const char *const final_phrases[] = {
    "insufficient_quota", "usage_limit_reached",  "budget has been exceeded", "budget_exceeded",
    "exceededbudget",     "insufficient balance", "too many tokens per day",
};

static void append_lower(struct strbuf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        char c = *text;

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        strbuf_append_char(out, c);
    }
}

static bool find_phrase(const char *lower, const struct phrase *phrases, size_t n,
                        enum llm_cause *cause_out)
{
    for (size_t i = 0; i < n; i++) {
        if (strstr(lower, phrases[i].text) != NULL) {
            *cause_out = phrases[i].cause;
            return true;
        }
    }
    return false;
}

/* text: the whole text of the error, including code and type. */
static void judge(struct llm_error *llm_error, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf lower = STRBUF_INIT;

    append_lower(&lower, text);
    (void)find_phrase(lower.text, class_names, ARRAY_SIZE(class_names), &llm_error->cause);
    if (llm_error->cause == LLM_CAUSE_BAD_REQUEST)
        (void)find_phrase(lower.text, refusal_phrases, ARRAY_SIZE(refusal_phrases),
                          &llm_error->cause);
    for (size_t i = 0; i < ARRAY_SIZE(final_phrases); i++)
        llm_error->is_final = llm_error->is_final || strstr(lower.text, final_phrases[i]) != NULL;
}

/*
 * What a server that refuses the call may repeat: the key, or what it was signed with. A short key
 * is a placeholder for a server that needs none: masker_add() ignores it. Made for each detail,
 * since most calls do not fail.
 */
static struct masker *secrets_of(const struct llm_request *request)
{
    static const char *const members[] = {"aws_access_key_id", "aws_secret_access_key",
                                          "aws_session_token"};
    struct masker *masker = masker_new();

    if (request->api_key != NULL)
        masker_add(masker, secret_reveal(request->api_key));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        masker_add(masker, json_text_or(request->spec, members[i], ""));
    return masker;
}

static void append_hidden(const struct llm_error *llm_error, const struct strbuf *text,
                          struct strbuf *out)
{
    struct masker *secrets = NULL;

    if (llm_error->request == NULL) {
        strbuf_append_bytes(out, text->text, text->len);
        return;
    }
    secrets = secrets_of(llm_error->request);
    masker_append(secrets, text->text, text->len, out);
    masker_free(secrets);
}

/*
 * The detail becomes JSON text: it is made valid UTF-8, and cut at a code point after the key was
 * hidden.
 */
static void set_detail(struct llm_error *llm_error, const struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf hidden = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf clean = STRBUF_INIT;

    append_hidden(llm_error, text, &hidden);
    utf8_append_repaired(&clean, hidden.text, hidden.len);
    strbuf_truncate(&clean, LLM_DETAIL_BYTES - 1);
    while (!utf8_is_valid(clean.text, clean.len))
        strbuf_truncate(&clean, clean.len - 1);
    memcpy(llm_error->detail, clean.text, clean.len + 1);
}

int llm_error_set(struct llm_error *llm_error, enum llm_cause cause, const char *format, ...)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct llm_request *request = llm_error->request;
    va_list args;

    va_start(args, format);
    strbuf_vappendf(&text, format, args);
    va_end(args);
    *llm_error = (struct llm_error)LLM_ERROR_INIT;
    llm_error->cause = cause;
    llm_error->request = request;
    set_detail(llm_error, &text);
    return -1;
}

/* The beginning of a body that is not JSON, without a possible part of a secret at its end. */
static void append_raw(const struct llm_error *llm_error, const char *body, size_t len,
                       struct strbuf *out)
{
    size_t shown = len < RAW_BODY_SHOWN_BYTES ? len : RAW_BODY_SHOWN_BYTES;
    CLEANUP(strbuf_done) struct strbuf hidden = STRBUF_INIT;
    struct masker *secrets = NULL;
    struct masking *masking = NULL;

    if (llm_error->request == NULL) {
        utf8_append_repaired(out, body, shown);
        return;
    }
    secrets = secrets_of(llm_error->request);
    masking = masking_new(secrets);
    masking_feed(masking, body, shown, &hidden);
    if (len <= RAW_BODY_SHOWN_BYTES)
        masking_finish(masking, &hidden);
    utf8_append_repaired(out, hidden.text, hidden.len);
    masking_free(masking);
    masker_free(secrets);
}

/* A code may be a string or a number. */
static void append_code(struct strbuf *out, const json_t *code)
{
    if (json_is_string(code))
        strbuf_appendf(out, " %s", json_string_value(code));
    if (json_is_integer(code))
        strbuf_appendf(out, " %" JSON_INTEGER_FORMAT, json_integer_value(code));
}

/* The message of an error object or string; all its texts are appended to *words_out. */
static const char *read_error(const json_t *error, struct strbuf *words_out)
{
    const char *message = json_string_value(error);

    if (message == NULL)
        message = json_text_or(error, "message", NULL);
    if (message == NULL)
        message = json_text_or(error, "detail", NULL);
    if (message == NULL)
        message = json_text_or(error, "Message", "");
    strbuf_append(words_out, message);
    append_code(words_out, json_object_get(error, "code"));
    append_code(words_out, json_object_get(error, "type"));
    return message;
}

static enum llm_cause cause_of_status(long status)
{
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        if (statuses[i].status == status)
            return statuses[i].cause;
    }
    return status >= 500 ? LLM_CAUSE_INTERNAL_SERVER : LLM_CAUSE_API;
}

/* Azure repeats the status as the code. */
static bool is_status(const char *code, long status)
{
    int64_t number = 0;
    struct error ignored = ERROR_INIT;

    return text_parse_int(code, status, status, &number, &ignored) == 0;
}

/* code: of the error, or "" to take that of the body. */
static int refuse(struct llm_error *llm_error, long status, const char *code, const char *body,
                  size_t len)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT;
    json_auto_t *json = NULL;
    const json_t *whole = NULL;
    const json_t *error = NULL;
    const char *shown = "";
    struct error ignored = ERROR_INIT;

    if (json_parse(body, len, &json, &ignored) == 0) {
        /* A server that streams may send its error as the only event of an array. */
        whole = json_is_array(json) ? json_array_get(json, 0) : json;
        error = json_object_get(whole, "error");
        shown = read_error(error != NULL ? error : whole, &words);
        if (code[0] == '\0')
            code = json_text_or(error, "code", "");
    }
    if (is_status(code, status))
        code = "";
    append_raw(llm_error, body, len, &raw);
    if (words.len == 0)
        strbuf_append(&words, raw.text);
    if (shown[0] == '\0')
        shown = raw.len > 0 ? raw.text : "no words";
    llm_error_set(llm_error, cause_of_status(status),
                  "The model's server refused the call: %s (error code: %ld%s%s)", shown, status,
                  code[0] != '\0' ? ", " : "", code);
    judge(llm_error, words.text);
    return -1;
}

int llm_error_from_answer(struct llm_error *llm_error, long status, const char *body, size_t len)
{
    return refuse(llm_error, status, "", body, len);
}

int llm_error_from_typed_answer(struct llm_error *llm_error, long status, const char *type,
                                const char *body, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf code = STRBUF_INIT;

    strbuf_append_bytes(&code, type, strcspn(type, ":"));
    return refuse(llm_error, status, code.text, body, len);
}

/* Types of errors, in place of a status, in any case. */
static const struct phrase error_types[] = {
    {"invalid_request_error", LLM_CAUSE_BAD_REQUEST},
    {"request_too_large", LLM_CAUSE_BAD_REQUEST},
    {"authentication_error", LLM_CAUSE_AUTHENTICATION},
    {"permission_error", LLM_CAUSE_AUTHENTICATION},
    {"not_found_error", LLM_CAUSE_NOT_FOUND},
    {"timeout_error", LLM_CAUSE_TIMEOUT},
    {"rate_limit", LLM_CAUSE_RATE_LIMIT},
    {"throttlingException", LLM_CAUSE_RATE_LIMIT},
    {"validationException", LLM_CAUSE_BAD_REQUEST},
    {"serviceUnavailableException", LLM_CAUSE_UNAVAILABLE},
    {"modelTimeoutException", LLM_CAUSE_TIMEOUT},
};

/*
 * An error in the middle of an answer has no status, but often a code or type with the same
 * meaning.
 */
static enum llm_cause cause_of_member(const json_t *error, const char *words)
{
    json_int_t status = json_int_or(error, "code", 0);

    if (status >= 400 && status < 600)
        return cause_of_status((long)status);
    for (size_t i = 0; i < ARRAY_SIZE(error_types); i++) {
        if (strcasestr(words, error_types[i].text) != NULL)
            return error_types[i].cause;
    }
    return LLM_CAUSE_INTERNAL_SERVER;
}

int llm_error_from_error_member(struct llm_error *llm_error, const json_t *error)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const char *message = read_error(error, &words);

    llm_error_set(llm_error, cause_of_member(error, words.text),
                  "The model's server ended its answer with an error: %s",
                  message[0] != '\0' ? message : words.text);
    judge(llm_error, words.text);
    return -1;
}

/* Causes of transport errors; any other means that the server cannot be reached. */
static const struct {
    enum error_code code;
    enum llm_cause cause;
    const char *words;
} transport_errors[] = {
    {ERROR_CANCELLED, LLM_CAUSE_CANCELLED, "The model call was cancelled"},
    {ERROR_TIMEOUT, LLM_CAUSE_TIMEOUT, "The model did not answer in time (timeout)"},
    {ERROR_FORBIDDEN, LLM_CAUSE_REFUSED_ADDRESS, "The model's base URL is refused"},
    {ERROR_INVALID, LLM_CAUSE_BAD_REQUEST, "The model's base URL is not valid"},
    {ERROR_TOO_LARGE, LLM_CAUSE_API, "The model's answer is unusable"},
};

int llm_error_from_transport(struct llm_error *llm_error, const struct error *why)
{
    for (size_t i = 0; i < ARRAY_SIZE(transport_errors); i++) {
        if (transport_errors[i].code == why->code)
            return llm_error_set(llm_error, transport_errors[i].cause, "%s: %s",
                                 transport_errors[i].words, why->message);
    }
    return llm_error_set(llm_error, LLM_CAUSE_CONNECTION,
                         "Connection error: the model's server cannot be reached or broke off: %s",
                         why->message);
}

void llm_error_add(struct llm_error *llm_error, const char *format, ...)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    va_list args;

    strbuf_append(&text, llm_error->detail);
    va_start(args, format);
    strbuf_vappendf(&text, format, args);
    va_end(args);
    set_detail(llm_error, &text);
}

void llm_error_note_wait(struct llm_error *llm_error)
{
    int64_t wait_s = (llm_error->retry_after_ms + MS_PER_S - 1) / MS_PER_S;

    if (llm_error->retry_after_ms <= 0 || llm_error->is_final)
        return;
    llm_error_add(llm_error, " The server asks to wait %lld seconds.", (long long)wait_s);
}

bool llm_error_is_outage(const struct llm_error *llm_error)
{
    return causes[llm_error->cause].is_outage && !llm_error->is_final;
}

bool llm_error_may_retry(const struct llm_error *llm_error)
{
    return causes[llm_error->cause].may_retry && !llm_error->is_final;
}

int llm_error_report(const struct llm_error *llm_error, struct llm_failure *failure_out,
                     struct error *err)
{
    failure_out->kind = causes[llm_error->cause].kind;
    failure_out->is_outage = llm_error_is_outage(llm_error);
    failure_out->retry_after_ms = llm_error->retry_after_ms;
    memcpy(failure_out->detail, llm_error->detail, sizeof(failure_out->detail));
    return error_set(err, causes[llm_error->cause].code, "%s", llm_error->detail);
}

const char *llm_failure_code(const struct llm_failure *failure)
{
    return failure_codes[failure->kind];
}
