/*
 * Statuses and words of servers that refuse a call: the cause that they are taken for, and what the
 * user reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "llm/llm_error.h"

enum { RAW_BODY_SHOWN_BYTES = 300 };

static void refuse(struct llm_error *llm_error, long status, const char *body)
{
    *llm_error = (struct llm_error)LLM_ERROR_INIT;
    assert_int_equal(llm_error_from_answer(llm_error, status, body, strlen(body)), -1);
}

static void statuses_have_causes(void **state)
{
    static const struct {
        long status;
        enum llm_cause cause;
    } cases[] = {
        {300, LLM_CAUSE_API},
        {400, LLM_CAUSE_BAD_REQUEST},
        {401, LLM_CAUSE_AUTHENTICATION},
        {402, LLM_CAUSE_API},
        {403, LLM_CAUSE_AUTHENTICATION},
        {404, LLM_CAUSE_NOT_FOUND},
        {408, LLM_CAUSE_TIMEOUT},
        {409, LLM_CAUSE_CONFLICT},
        {413, LLM_CAUSE_BAD_REQUEST},
        {422, LLM_CAUSE_BAD_REQUEST},
        {424, LLM_CAUSE_INTERNAL_SERVER},
        {429, LLM_CAUSE_RATE_LIMIT},
        {499, LLM_CAUSE_API},
        {500, LLM_CAUSE_INTERNAL_SERVER},
        {501, LLM_CAUSE_INTERNAL_SERVER},
        {502, LLM_CAUSE_BAD_GATEWAY},
        {503, LLM_CAUSE_UNAVAILABLE},
        {504, LLM_CAUSE_TIMEOUT},
        {599, LLM_CAUSE_INTERNAL_SERVER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct llm_error llm_error;

        refuse(&llm_error, cases[i].status, "");
        if (llm_error.cause != cases[i].cause || llm_error.is_final)
            fail_msg("%ld", cases[i].status);
    }
}

/* In the message, in any case, whatever the words around them. */
static const struct {
    long status;
    const char *words;
    enum llm_cause cause;
} words[] = {
    {500, "LiteLLM.ContextWindowExceededError: x", LLM_CAUSE_CONTEXT_WINDOW},
    {500, "litellm.ContentPolicyViolationError: x", LLM_CAUSE_CONTENT_POLICY},
    {500, "litellm.AuthenticationError: x", LLM_CAUSE_AUTHENTICATION},
    {500, "litellm.PermissionDeniedError: x", LLM_CAUSE_AUTHENTICATION},
    {500, "litellm.NotFoundError: x", LLM_CAUSE_NOT_FOUND},
    {500, "litellm.RateLimitError: x", LLM_CAUSE_RATE_LIMIT},
    {500, "litellm.Timeout: x", LLM_CAUSE_TIMEOUT},
    {400, "litellm.ServiceUnavailableError: x", LLM_CAUSE_UNAVAILABLE},
    {400, "litellm.InternalServerError: x", LLM_CAUSE_INTERNAL_SERVER},
    {400, "litellm.BadGatewayError: x", LLM_CAUSE_BAD_GATEWAY},
    {400, "litellm.APIConnectionError: x", LLM_CAUSE_CONNECTION},
    {500, "litellm.BadRequestError: x", LLM_CAUSE_BAD_REQUEST},
    {400, "We are Overloaded.", LLM_CAUSE_OVERLOADED},
    {400, "context_length_exceeded", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "ContextWindowExceededError", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "Prompt is too long: 9 tokens", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "input length and `max_tokens` exceed context limit: 1", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "Please reduce the length of the messages", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "it exceeds the available context size", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "Context length exceeded", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "Your input exceeds the context window", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "context window exceeds limit", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "tokens exceed context limit", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "This model's maximum context length is 5", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "String too long. Expected a string with maximum length 5", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "the model's maximum context limit", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "it is longer than the model's context length", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "input tokens exceed the configured limit", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "`inputs` tokens + `max_new_tokens` must be <= 5", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "it exceeds the maximum number of tokens allowed", LLM_CAUSE_CONTEXT_WINDOW},
    {400, "must be followed by tool messages responding to each", LLM_CAUSE_MALFORMED_HISTORY},
    {400, "were found without `tool_result` blocks", LLM_CAUSE_MALFORMED_HISTORY},
    {400, "unexpected `tool_use_id` found", LLM_CAUSE_MALFORMED_HISTORY},
    {400, "role 'tool' must be a response to a preceeding", LLM_CAUSE_MALFORMED_HISTORY},
    {400, "role 'tool' must be a response to a preceding", LLM_CAUSE_MALFORMED_HISTORY},
    {400, "Failed to parse tool call arguments as JSON", LLM_CAUSE_MALFORMED_HISTORY},
    {400, "content_policy_violation", LLM_CAUSE_CONTENT_POLICY},
    {400, "content_filter", LLM_CAUSE_CONTENT_POLICY},
    {400, "our content management policy", LLM_CAUSE_CONTENT_POLICY},
    {400, "our content filtering policy", LLM_CAUSE_CONTENT_POLICY},
    {400, "Invalid API key", LLM_CAUSE_AUTHENTICATION},
    {400, "Incorrect API key provided", LLM_CAUSE_AUTHENTICATION},
    {400, "invalid_api_key", LLM_CAUSE_AUTHENTICATION},
    {400, "The API key is missing", LLM_CAUSE_AUTHENTICATION},
    {400, "API key not valid", LLM_CAUSE_AUTHENTICATION},
    {400, "Authentication failed", LLM_CAUSE_AUTHENTICATION},
    {400, "something else", LLM_CAUSE_BAD_REQUEST},
    /* Only a refused request is looked into for a reason of its own. */
    {429, "prompt is too long", LLM_CAUSE_RATE_LIMIT},
    {500, "invalid api key", LLM_CAUSE_INTERNAL_SERVER},
};

static void words_have_causes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        struct llm_error raw;
        struct llm_error message;

        refuse(&raw, words[i].status, words[i].words);
        strbuf_appendf(&body, "{\"error\":{\"message\":\"%s\"}}", words[i].words);
        refuse(&message, words[i].status, body.text);
        if (raw.cause != words[i].cause || message.cause != words[i].cause || message.is_final)
            fail_msg("%s", words[i].words);
    }
}

static void accounts_that_are_used_up_are_not_waited_for(void **state)
{
    static const char *const phrases[] = {
        "insufficient_quota", "usage_limit_reached", "Budget has been exceeded",
        "budget_exceeded",    "ExceededBudget",      "Insufficient Balance",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
        struct llm_error llm_error;

        refuse(&llm_error, 429, phrases[i]);
        if (!llm_error.is_final || llm_error_may_retry(&llm_error))
            fail_msg("%s", phrases[i]);
        assert_int_equal(llm_error.cause, LLM_CAUSE_RATE_LIMIT);
    }
}

/* Which part of a body is shown, and which decide the cause. */
static void refusal_is_shown_in_the_servers_words(void **state)
{
    static const struct {
        const char *body;
        const char *shown;
        enum llm_cause cause;
    } cases[] = {
        {"{\"error\":{\"message\":\"why\",\"code\":\"content_filter\"}}",
         "why (error code: 400, content_filter)", LLM_CAUSE_CONTENT_POLICY},
        {"{\"error\":{\"message\":\"why\",\"type\":\"content_filter\"}}", "why (error code: 400)",
         LLM_CAUSE_CONTENT_POLICY},
        {"{\"error\":{\"message\":\"why\",\"code\":7}}", "why (error code: 400)",
         LLM_CAUSE_BAD_REQUEST},
        {"{\"error\":\"content_filter\"}", "content_filter (error code: 400)",
         LLM_CAUSE_CONTENT_POLICY},
        {"{\"error\":{\"detail\":\"content_filter\"}}", "content_filter (error code: 400)",
         LLM_CAUSE_CONTENT_POLICY},
        {"{\"message\":\"why\"}", "why (error code: 400)", LLM_CAUSE_BAD_REQUEST},
        {"{\"detail\":\"why\"}", "why (error code: 400)", LLM_CAUSE_BAD_REQUEST},
        {"{\"error\":{}}", "{\"error\":{}} (error code: 400)", LLM_CAUSE_BAD_REQUEST},
        {"[1]", "[1] (error code: 400)", LLM_CAUSE_BAD_REQUEST},
        {"content_filter", "content_filter (error code: 400)", LLM_CAUSE_CONTENT_POLICY},
        {"", "no words (error code: 400)", LLM_CAUSE_BAD_REQUEST},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        struct llm_error llm_error;

        refuse(&llm_error, 400, cases[i].body);
        strbuf_appendf(&expected, "The model's server refused the call: %s", cases[i].shown);
        assert_string_equal(llm_error.detail, expected.text);
        assert_int_equal(llm_error.cause, cases[i].cause);
    }
}

/* The beginning of a page is enough. */
static void long_body_is_shown_in_part(void **state)
{
    static const char head[] = "The model's server refused the call: ";
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct llm_error llm_error;

    (void)state;
    while (body.len < RAW_BODY_SHOWN_BYTES)
        strbuf_append_char(&body, 'x');
    refuse(&llm_error, 400, body.text);
    assert_int_equal(strspn(llm_error.detail + strlen(head), "x"), RAW_BODY_SHOWN_BYTES);
    strbuf_append(&body, "xxxx");
    refuse(&llm_error, 400, body.text);
    assert_int_equal(strspn(llm_error.detail + strlen(head), "x"), RAW_BODY_SHOWN_BYTES);
}

static void long_detail_is_cut_between_characters(void **state)
{
    struct llm_error llm_error = LLM_ERROR_INIT;
    char text[LLM_DETAIL_BYTES + 2] = "";

    (void)state;
    memset(text, 'x', LLM_DETAIL_BYTES - 1);
    (void)llm_error_set(&llm_error, LLM_CAUSE_API, "%s", text);
    assert_string_equal(llm_error.detail, text);
    memcpy(text + LLM_DETAIL_BYTES - 2, "\xe2\x82\xac", 4);
    (void)llm_error_set(&llm_error, LLM_CAUSE_API, "%s", text);
    assert_int_equal(strlen(llm_error.detail), LLM_DETAIL_BYTES - 2);
}

/* An error in the middle of an answer, after status 200. */
static void error_in_an_answer_has_a_cause(void **state)
{
    static const struct {
        const char *error;
        enum llm_cause cause;
        const char *detail;
    } cases[] = {
        {"{\"message\":\"why\",\"code\":400}", LLM_CAUSE_BAD_REQUEST, "why"},
        {"{\"message\":\"why\",\"code\":599}", LLM_CAUSE_INTERNAL_SERVER, "why"},
        {"{\"message\":\"why\",\"code\":404}", LLM_CAUSE_NOT_FOUND, "why"},
        {"{\"message\":\"why\",\"code\":399}", LLM_CAUSE_INTERNAL_SERVER, "why"},
        {"{\"message\":\"why\",\"code\":600}", LLM_CAUSE_INTERNAL_SERVER, "why"},
        {"{\"type\":\"invalid_request_error\"}", LLM_CAUSE_BAD_REQUEST, " invalid_request_error"},
        {"{\"type\":\"request_too_large\"}", LLM_CAUSE_BAD_REQUEST, " request_too_large"},
        {"{\"type\":\"authentication_error\"}", LLM_CAUSE_AUTHENTICATION, " authentication_error"},
        {"{\"type\":\"permission_error\"}", LLM_CAUSE_AUTHENTICATION, " permission_error"},
        {"{\"type\":\"not_found_error\"}", LLM_CAUSE_NOT_FOUND, " not_found_error"},
        {"{\"type\":\"timeout_error\"}", LLM_CAUSE_TIMEOUT, " timeout_error"},
        {"{\"code\":\"rate_limit_exceeded\"}", LLM_CAUSE_RATE_LIMIT, " rate_limit_exceeded"},
        {"{\"type\":\"api_error\",\"message\":\"why\"}", LLM_CAUSE_INTERNAL_SERVER, "why"},
        {"\"why\"", LLM_CAUSE_INTERNAL_SERVER, "why"},
        {"{\"message\":\"prompt is too long\",\"code\":400}", LLM_CAUSE_CONTEXT_WINDOW,
         "prompt is too long"},
        {"{\"code\":429}", LLM_CAUSE_RATE_LIMIT, " 429"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        struct llm_error llm_error = LLM_ERROR_INIT;
        struct error err = ERROR_INIT;
        json_auto_t *error = NULL;

        assert_int_equal(json_parse(cases[i].error, strlen(cases[i].error), &error, &err), 0);
        assert_int_equal(llm_error_from_error_member(&llm_error, error), -1);
        strbuf_appendf(&expected, "The model's server ended its answer with an error: %s",
                       cases[i].detail);
        assert_string_equal(llm_error.detail, expected.text);
        assert_int_equal(llm_error.cause, cases[i].cause);
    }
}

static void failure_of_the_transport_has_a_cause(void **state)
{
    static const struct {
        enum error_code code;
        enum llm_cause cause;
        const char *detail;
    } cases[] = {
        {ERROR_CANCELLED, LLM_CAUSE_CANCELLED, "The model call was cancelled: why"},
        {ERROR_TIMEOUT, LLM_CAUSE_TIMEOUT, "The model did not answer in time (timeout): why"},
        {ERROR_FORBIDDEN, LLM_CAUSE_REFUSED_ADDRESS, "The model's base URL is refused: why"},
        {ERROR_INVALID, LLM_CAUSE_BAD_REQUEST, "The model's base URL is not valid: why"},
        {ERROR_TOO_LARGE, LLM_CAUSE_API, "The model's answer is unusable: why"},
        {ERROR_UNAVAILABLE, LLM_CAUSE_CONNECTION,
         "Connection error: the model's server cannot be reached or broke off: why"},
        {ERROR_INTERNAL, LLM_CAUSE_CONNECTION,
         "Connection error: the model's server cannot be reached or broke off: why"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct llm_error llm_error = LLM_ERROR_INIT;
        struct error why = ERROR_INIT;

        error_set(&why, cases[i].code, "why");
        assert_int_equal(llm_error_from_transport(&llm_error, &why), -1);
        assert_string_equal(llm_error.detail, cases[i].detail);
        assert_int_equal(llm_error.cause, cases[i].cause);
    }
}

/* What the client, the log and the retry make of each cause. */
static void each_cause_is_reported_in_one_way(void **state)
{
    static const struct {
        enum llm_cause cause;
        const char *code;
        enum error_code for_logs;
        bool may_retry;
    } cases[LLM_N_CAUSES] = {
        {LLM_CAUSE_BAD_REQUEST, "LLMBadRequestError", ERROR_INVALID, false},
        {LLM_CAUSE_CONTEXT_WINDOW, "LLMContextWindowExceedError", ERROR_INVALID, false},
        {LLM_CAUSE_MALFORMED_HISTORY, "LLMMalformedConversationHistoryError", ERROR_INVALID, false},
        {LLM_CAUSE_CONTENT_POLICY, "LLMContentPolicyViolationError", ERROR_INVALID, false},
        {LLM_CAUSE_UNSUPPORTED, "LLMBadRequestError", ERROR_UNSUPPORTED, false},
        {LLM_CAUSE_REFUSED_ADDRESS, "LLMBadRequestError", ERROR_FORBIDDEN, false},
        {LLM_CAUSE_AUTHENTICATION, "LLMAuthenticationError", ERROR_UNAUTHENTICATED, false},
        {LLM_CAUSE_NOT_FOUND, "NotFoundError", ERROR_NOT_FOUND, false},
        {LLM_CAUSE_TIMEOUT, "LLMTimeoutError", ERROR_TIMEOUT, true},
        {LLM_CAUSE_RATE_LIMIT, "LLMRateLimitError", ERROR_RATE_LIMITED, true},
        {LLM_CAUSE_INTERNAL_SERVER, "LLMServiceUnavailableError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_BAD_GATEWAY, "BadGatewayError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_UNAVAILABLE, "LLMServiceUnavailableError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_OVERLOADED, "LLMServiceUnavailableError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_CONNECTION, "LLMServiceUnavailableError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_NO_RESPONSE, "LLMNoResponseError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_CONFLICT, "APIError", ERROR_UNAVAILABLE, true},
        {LLM_CAUSE_API, "APIError", ERROR_UNAVAILABLE, false},
        {LLM_CAUSE_CANCELLED, "OperationCancelled", ERROR_CANCELLED, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct llm_error llm_error = LLM_ERROR_INIT;
        struct llm_failure failure = LLM_FAILURE_INIT;
        struct error err = ERROR_INIT;

        (void)llm_error_set(&llm_error, cases[i].cause, "why");
        assert_int_equal(llm_error_may_retry(&llm_error), cases[i].may_retry);
        assert_int_equal(llm_error_report(&llm_error, &failure, &err), -1);
        assert_string_equal(llm_failure_code(&failure), cases[i].code);
        assert_string_equal(failure.detail, "why");
        assert_int_equal(err.code, cases[i].for_logs);
        assert_string_equal(err.message, "why");
    }
}

static void wait_that_the_server_asks_for_is_told(void **state)
{
    static const struct {
        int64_t wait_ms;
        bool is_final;
        const char *detail;
    } cases[] = {
        {-1, false, "why"},
        {0, false, "why"},
        {1, false, "why The server asks to wait 1 seconds."},
        {1000, false, "why The server asks to wait 1 seconds."},
        {1001, false, "why The server asks to wait 2 seconds."},
        {60000, true, "why"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct llm_error llm_error = LLM_ERROR_INIT;

        (void)llm_error_set(&llm_error, LLM_CAUSE_RATE_LIMIT, "why");
        assert_true(llm_error.retry_after_ms < 0);
        llm_error.retry_after_ms = cases[i].wait_ms;
        llm_error.is_final = cases[i].is_final;
        llm_error_note_wait(&llm_error);
        assert_string_equal(llm_error.detail, cases[i].detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_have_causes),
        cmocka_unit_test(words_have_causes),
        cmocka_unit_test(accounts_that_are_used_up_are_not_waited_for),
        cmocka_unit_test(refusal_is_shown_in_the_servers_words),
        cmocka_unit_test(long_body_is_shown_in_part),
        cmocka_unit_test(long_detail_is_cut_between_characters),
        cmocka_unit_test(error_in_an_answer_has_a_cause),
        cmocka_unit_test(failure_of_the_transport_has_a_cause),
        cmocka_unit_test(each_cause_is_reported_in_one_way),
        cmocka_unit_test(wait_that_the_server_asks_for_is_told),
    };

    json_setup();
    return cmocka_run_group_tests_name("refusal_words", tests, NULL, NULL);
}
