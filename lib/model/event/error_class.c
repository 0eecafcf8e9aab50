#include "model/event/error_class.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

static const struct {
    const char *kind;
    bool is_retryable;
    const char *user_action;
} classes[ERROR_N_CLASSES] = {
#define X(constant, kind, retryable, user_action)                                                  \
    [(constant)] = {(kind), (retryable), (user_action)},
    ERROR_CLASSES(X)
#undef X
};

struct sign {
    const char *text;
    enum error_class class;
};

/* Codes whose class does not depend on the detail. */
static const struct sign codes[] = {
    {"LLMAuthenticationError", ERROR_CLASS_AUTH},
    {"ACPAuthRequired", ERROR_CLASS_AUTH},
    {"MaxBudgetReached", ERROR_CLASS_QUOTA},
    {"LLMRateLimitError", ERROR_CLASS_RATE_LIMIT},
    {"LLMBadRequestError", ERROR_CLASS_CONFIG},
    {"ACPInitError", ERROR_CLASS_CONFIG},
    {"ACPSpawnError", ERROR_CLASS_CONFIG},
    {"ACPPromptError", ERROR_CLASS_CONFIG},
    {"NotFoundError", ERROR_CLASS_CONFIG},
    {"LLMContextWindowExceedError", ERROR_CLASS_AGENT_ACTION},
    {"LLMMalformedConversationHistoryError", ERROR_CLASS_AGENT_ACTION},
    {"MaxIterationsReached", ERROR_CLASS_AGENT_LIMIT},
    {"ConversationOwnershipLostError", ERROR_CLASS_AGENT_LIMIT},
};

/* Phrases of details in lower case; the first that is found counts. */
static const struct sign phrases[] = {
    {"invalid api key", ERROR_CLASS_AUTH},
    {"incorrect api key", ERROR_CLASS_AUTH},
    {"invalid_api_key", ERROR_CLASS_AUTH},
    {"unauthorized", ERROR_CLASS_AUTH},
    {"error code: 401", ERROR_CLASS_AUTH},
    {"api key is missing", ERROR_CLASS_AUTH},
    {"invalid proxy server token", ERROR_CLASS_AUTH},
    {"token_not_found", ERROR_CLASS_AUTH},
    {"budget has been exceeded", ERROR_CLASS_QUOTA},
    {"insufficient balance", ERROR_CLASS_QUOTA},
    {"insufficient_quota", ERROR_CLASS_QUOTA},
    {"more credits", ERROR_CLASS_QUOTA},
    {"daily quota", ERROR_CLASS_QUOTA},
    {"weekly usage limit", ERROR_CLASS_QUOTA},
    {"session usage limit", ERROR_CLASS_QUOTA},
    {"rate limit", ERROR_CLASS_RATE_LIMIT},
    {"error code: 429", ERROR_CLASS_RATE_LIMIT},
    {"provider not provided", ERROR_CLASS_CONFIG},
    {"model not found", ERROR_CLASS_CONFIG},
    {"no models loaded", ERROR_CLASS_CONFIG},
    {"does not support thinking", ERROR_CLASS_CONFIG},
    {"invalid params", ERROR_CLASS_CONFIG},
    {"inactive_service", ERROR_CLASS_CONFIG},
    {"timeout", ERROR_CLASS_TRANSIENT},
    {"timed out", ERROR_CLASS_TRANSIENT},
    {"connection error", ERROR_CLASS_TRANSIENT},
    {"connection closed", ERROR_CLASS_TRANSIENT},
    {"bad gateway", ERROR_CLASS_TRANSIENT},
    {"cannot connect", ERROR_CLASS_TRANSIENT},
    {"error code: 5", ERROR_CLASS_TRANSIENT},
    {"duplicate tool names", ERROR_CLASS_INTERNAL},
    {"list_tools", ERROR_CLASS_INTERNAL},
    {"surrogates not allowed", ERROR_CLASS_INTERNAL},
};

/* Codes that count only if the detail has none of the phrases. */
static const struct sign late_codes[] = {
    {"LLMServiceUnavailableError", ERROR_CLASS_TRANSIENT},
    {"LLMTimeoutError", ERROR_CLASS_TRANSIENT},
    {"LLMNoResponseError", ERROR_CLASS_TRANSIENT},
    {"MCPTimeoutError", ERROR_CLASS_TRANSIENT},
    {"BadGatewayError", ERROR_CLASS_TRANSIENT},
    {"APIError", ERROR_CLASS_TRANSIENT},
};

static bool find_code(const struct sign *signs, size_t n, const char *code,
                      enum error_class *class_out)
{
    for (size_t i = 0; i < n; i++) {
        if (!text_equal(signs[i].text, code))
            continue;
        *class_out = signs[i].class;
        return true;
    }
    return false;
}

static bool find_phrase(const char *detail, enum error_class *class_out)
{
    CLEANUP(strbuf_done) struct strbuf lower = STRBUF_INIT;

    for (const char *at = detail; *at != '\0'; at++)
        strbuf_append_char(&lower, (char)tolower((unsigned char)*at));
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
        if (strstr(lower.text, phrases[i].text) == NULL)
            continue;
        *class_out = phrases[i].class;
        return true;
    }
    return false;
}

enum error_class error_class_of(const char *code, const char *detail)
{
    enum error_class class = ERROR_CLASS_UNKNOWN;

    if (find_code(codes, ARRAY_SIZE(codes), code, &class) || find_phrase(detail, &class) ||
        find_code(late_codes, ARRAY_SIZE(late_codes), code, &class))
        return class;
    return ERROR_CLASS_UNKNOWN;
}

json_t *error_class_to_json(enum error_class class)
{
    json_t *json = json_object();

    json_put_text(json, "kind", classes[class].kind);
    json_put(json, "retryable", json_boolean(classes[class].is_retryable));
    json_put_text(json, "user_action", classes[class].user_action);
    return json;
}
