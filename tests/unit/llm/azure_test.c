/*
 * Azure OpenAI: OpenAI's two formats under its own paths, with its own header, filter and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "llm/llm.h"
#include "llm/llm_fixture.h"

static const struct test_reply whole[] = {
    {.bytes = TEST_JSON_HEAD "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}",
     .ending = TEST_CLOSE}};

static void paths_and_header_are_azures(void **state)
{
    static const struct {
        const char *spec;
        const char *line;
    } rows[] = {
        /* The default version of chats is older than Responses. */
        {"{}", "POST /openai/v1/responses HTTP/1.1"},
        {"{\"api_version\":null}", "POST /openai/v1/responses HTTP/1.1"},
        {"{\"api_mode\":\"chat\"}", "POST /openai/deployments/gpt-5.1/chat/completions"
                                    "?api-version=2024-12-01-preview HTTP/1.1"},
        {"{\"api_version\":\"2025-04-01-preview\"}",
         "POST /openai/responses?api-version=2025-04-01-preview HTTP/1.1"},
        {"{\"api_version\":\"v1&x\",\"api_mode\":\"chat\"}",
         "POST /openai/deployments/gpt-5.1/chat/completions?api-version=v1%26x HTTP/1.1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_server_start(whole, 1, NULL);
        struct asked asked;
        const char *request = NULL;

        asked_init(&asked, *(struct llm *const *)*state, "azure/gpt-5.1",
                   test_server_url(server, ""), rows[i].spec);
        /* A chat's answer would look different: only the request counts here. */
        (void)asked_run(&asked);
        request = test_server_request(server, 0);
        if (strncmp(request, rows[i].line, strlen(rows[i].line)) != 0)
            fail_msg("%.200s", request);
        assert_non_null(strstr(request, "\r\napi-key: "));
        assert_null(strstr(request, "Authorization"));
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void other_providers_refusals_are_as_they_were(void **state)
{
    static const struct test_reply reply = {
        .bytes = "HTTP/1.1 404 No\r\nConnection: close\r\n\r\n"
                 "{\"error\":{\"code\":\"DeploymentNotFound\",\"message\":\"none\"}}",
        .ending = TEST_CLOSE};
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *(struct llm *const *)*state, server, "{}"), -1);
    assert_string_equal(
        asked.failure.detail,
        "The model's server refused the call: none (error code: 404, DeploymentNotFound)");
    asked_done(&asked);
    test_server_stop(server);
}

static void refusals_say_what_to_do(void **state)
{
    static const struct {
        const char *status;
        const char *body;
        const char *code;
        const char *detail;
    } rows[] = {
        {"404 No",
         "{\"error\":{\"code\":\"DeploymentNotFound\",\"message\":\"The API deployment for this "
         "resource does not exist.\"}}",
         "NotFoundError",
         "The model's server refused the call: The API deployment for this resource does not exist."
         " (error code: 404, DeploymentNotFound) The name after azure/ must be that of a"
         " deployment: \"gpt-5.1\" is none."},
        {"404 No", "{\"error\":{\"code\":\"404\",\"message\":\"Resource not found\"}}",
         "NotFoundError",
         "The model's server refused the call: Resource not found (error code: 404) Is base_url"
         " the address of the resource, such as https://RESOURCE.openai.azure.com, and api_version"
         " one that Azure knows?"},
        {"401 No", "{\"error\":{\"code\":\"401\",\"message\":\"Access denied\"}}",
         "LLMAuthenticationError",
         "The model's server refused the call: Access denied (error code: 401)"},
        {"400 Bad",
         "{\"error\":{\"message\":\"Odd.\",\"code\":\"content_filter\",\"innererror\":"
         "{\"code\":\"ResponsibleAIPolicyViolation\"}}}",
         "LLMContentPolicyViolationError",
         "The model's server refused the call: Odd. (error code: 400, content_filter)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct test_reply reply = {.bytes = NULL};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", rows[i].status,
                       strlen(rows[i].body), rows[i].body);
        reply.bytes = text.text;
        server = test_server_start(&reply, 1, NULL);
        asked_init(&asked, *(struct llm *const *)*state, "azure/gpt-5.1",
                   test_server_url(server, ""), "{}");
        assert_int_equal(asked_run(&asked), -1);
        assert_string_equal(llm_failure_code(&asked.failure), rows[i].code);
        assert_string_equal(asked.failure.detail, rows[i].detail);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* A chat of Azure begins with a piece without a choice, and may have a choice without a delta. */
static void filter_adds_nothing_to_an_answer(void **state)
{
    static const struct test_reply stream[] = {
        {.bytes = TEST_SSE_HEAD TEST_SSE(
             "{\"choices\":[],\"created\":0,\"id\":\"\",\"model\":\"\",\"object\":\"\","
             "\"prompt_filter_results\":[{\"prompt_index\":0,\"content_filter_results\":{}}]}")
             TEST_TEXT("good")
                 TEST_SSE("{\"id\":\"\",\"choices\":[{\"index\":0,\"finish_reason\":null,"
                          "\"content_filter_offsets\":{\"check_offset\":0}}],\"usage\":null}")
                     TEST_STOP TEST_END,
         .ending = TEST_CLOSE}};
    struct test_server *server = test_server_start(stream, 1, NULL);
    struct asked asked;

    asked_init(&asked, *(struct llm *const *)*state, "azure/mine", test_server_url(server, ""),
               "{\"stream\":true}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "good");
    assert_string_equal(asked.reply.response_id, "r1");
    asked_done(&asked);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_header_are_azures),
        cmocka_unit_test(refusals_say_what_to_do),
        cmocka_unit_test(other_providers_refusals_are_as_they_were),
        cmocka_unit_test(filter_adds_nothing_to_an_answer),
    };

    return cmocka_run_group_tests_name("azure", tests, llm_fixture_set_up, llm_fixture_tear_down);
}
