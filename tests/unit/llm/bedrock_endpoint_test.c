#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "client/sigv4.h"
#include "llm/llm_error.h"
#include "llm/llm_fixture.h"
#include "llm/route.h"
#include "support/test_catalogue.h"

#define CLAUDE "anthropic.claude-haiku-4-5-20251001-v1:0"
#define CLAUDE_PATH "/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
#define PROFILE_ARN "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.anthropic.claude-x"
#define HOST(region) "https://bedrock-runtime." region ".amazonaws.com"

/* --- addresses --- */

static const struct {
    const char *spec;
    const char *model;
    const char *region; /* NULL: unknown */
    const char *url;
} places[] = {
    {"{\"model\":\"bedrock/" CLAUDE "\",\"aws_region_name\":\"us-east-1\"}", CLAUDE, "us-east-1",
     HOST("us-east-1") CLAUDE_PATH},
    {"{\"model\":\"bedrock/" CLAUDE "\",\"aws_region_name\":\"us-east-1\",\"stream\":true}", CLAUDE,
     "us-east-1", HOST("us-east-1") CLAUDE_PATH "-stream"},
    {"{\"model\":\"bedrock/converse/" CLAUDE "\",\"aws_region_name\":\"us-gov-west-1\"}", CLAUDE,
     "us-gov-west-1", HOST("us-gov-west-1") CLAUDE_PATH},
    {"{\"model\":\"bedrock/" CLAUDE "\",\"aws_region_name\":\"cn-north-1\"}", CLAUDE, "cn-north-1",
     HOST("cn-north-1") ".cn" CLAUDE_PATH},
    {"{\"model\":\"bedrock/eu-west-3/" CLAUDE "\"}", CLAUDE, "eu-west-3",
     HOST("eu-west-3") CLAUDE_PATH},
    {"{\"model\":\"bedrock/converse/eu-west-3/" CLAUDE "\",\"aws_region_name\":\"us-east-2\"}",
     CLAUDE, "us-east-2", HOST("us-east-2") CLAUDE_PATH},
    {"{\"model\":\"bedrock/" PROFILE_ARN "\"}", PROFILE_ARN, "eu-central-1",
     HOST("eu-central-1") "/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Ainference-profile%2F"
                          "eu.anthropic.claude-x/converse"},
    {"{\"model\":\"bedrock/arn:aws:bedrock::1:x/y\",\"aws_region_name\":\"us-east-1\"}",
     "arn:aws:bedrock::1:x/y", "us-east-1",
     HOST("us-east-1") "/model/arn%3Aaws%3Abedrock%3A%3A1%3Ax%2Fy/converse"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"http://h:1/\"}", "m", NULL,
     "http://h:1/model/m/converse"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"http://h/a@b\"}", "m", NULL,
     "http://h/a@b/model/m/converse"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\" \",\"aws_bedrock_runtime_endpoint\":"
     "\"https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com\"}",
     "m", "us-west-2",
     "https://vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com/model/m/converse"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"https://"
     "bedrock-runtime-fips.us-east-2.amazonaws.com\","
     "\"aws_bedrock_runtime_endpoint\":\"https://bedrock-runtime-fips.us-east-2.amazonaws.com\"}",
     "m", "us-east-2", "https://bedrock-runtime-fips.us-east-2.amazonaws.com/model/m/converse"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"http://h/bedrock\",\"aws_region_name\":\"us-east-1\","
     "\"aws_profile_name\":\"\",\"aws_role_name\":null}",
     "m", "us-east-1", "http://h/bedrock/model/m/converse"},
};

static void a_model_has_a_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
        struct llm_error llm_error = LLM_ERROR_INIT;
        json_auto_t *spec = parsed(places[i].spec);

        if (llm_route_choose(test_catalogue(), spec, &route, &llm_error) < 0)
            fail_msg("%s: %s", places[i].spec, llm_error.detail);
        assert_string_equal(route.model, places[i].model);
        assert_string_equal(route.url, places[i].url);
        if (places[i].region == NULL)
            assert_null(route.region);
        else
            assert_string_equal(route.region, places[i].region);
    }
}

static const struct {
    const char *spec;
    enum llm_cause cause;
    const char *words;
} misplaced[] = {
    {"{\"model\":\"bedrock/m\"}", LLM_CAUSE_BAD_REQUEST, "need aws_region_name"},
    {"{\"model\":\"bedrock/\"}", LLM_CAUSE_BAD_REQUEST, "missing after bedrock/"},
    {"{\"model\":\"bedrock/us-east-1/\"}", LLM_CAUSE_BAD_REQUEST, "is no model"},
    {"{\"model\":\"bedrock/invoke/m\",\"aws_region_name\":\"us-east-1\"}", LLM_CAUSE_BAD_REQUEST,
     "bedrock/invoke/m is no model"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"evil.example/\"}", LLM_CAUSE_BAD_REQUEST,
     "no region of AWS"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"us-east\"}", LLM_CAUSE_BAD_REQUEST,
     "no region of AWS"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"useast1\"}", LLM_CAUSE_BAD_REQUEST,
     "no region of AWS"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"us-east-1-us-east-1-us-east-1-us-east-1\"}",
     LLM_CAUSE_BAD_REQUEST, "no region of AWS"},
    {"{\"model\":\"bedrock/arn:aws:bedrock:evil.example:1:x\"}", LLM_CAUSE_BAD_REQUEST,
     "need aws_region_name"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"http://a\",\"aws_bedrock_runtime_endpoint\":"
     "\"http://b\"}",
     LLM_CAUSE_BAD_REQUEST, "name two servers"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"http://a?b=\"}", LLM_CAUSE_BAD_REQUEST, "query"},
    {"{\"model\":\"bedrock/m\",\"base_url\":\"http://me:word@a/\"}", LLM_CAUSE_BAD_REQUEST,
     "name or password"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"us-east-1\",\"aws_profile_name\":\"p\"}",
     LLM_CAUSE_UNSUPPORTED, "does not support aws_profile_name"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"us-east-1\",\"aws_role_name\":\"p\"}",
     LLM_CAUSE_UNSUPPORTED, "does not support aws_role_name"},
    {"{\"model\":\"bedrock/m\",\"aws_region_name\":\"us-east-1\",\"aws_session_name\":\"p\"}",
     LLM_CAUSE_UNSUPPORTED, "does not support aws_session_name"},
};

static void what_has_no_place_is_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(misplaced); i++) {
        CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
        struct llm_error llm_error = LLM_ERROR_INIT;
        json_auto_t *spec = parsed(misplaced[i].spec);

        assert_int_equal(llm_route_choose(test_catalogue(), spec, &route, &llm_error), -1);
        if (llm_error.cause != misplaced[i].cause ||
            strstr(llm_error.detail, misplaced[i].words) == NULL)
            fail_msg("%s: %s", misplaced[i].spec, llm_error.detail);
        assert_null(route.model);
        assert_null(route.url);
        assert_null(route.region);
    }
}

/* --- credentials --- */

#define KEYS "\"aws_access_key_id\":\"AKIDEXAMPLE\",\"aws_secret_access_key\":\"wJalrXUtnFEMI\""
#define TOKEN "\"aws_session_token\":\"FwoGZXIvYXdzE-token\""
#define REGION "\"aws_region_name\":\"eu-west-1\""

static const struct test_reply good_reply[] = {
    {.bytes = TEST_JSON_HEAD "{\"output\":{\"message\":{\"content\":[{\"text\":\"x\"}]}},"
                             "\"stopReason\":\"end_turn\"}",
     .ending = TEST_CLOSE}};

static void begin(struct asked *asked, struct llm *llm, struct test_server *server,
                  const char *spec, const char *api_key)
{
    asked_init(asked, llm, "bedrock/us.anthropic.claude-x:0", test_server_url(server, ""), spec);
    secret_done(&asked->key);
    if (api_key != NULL)
        secret_set(&asked->key, api_key);
}

/* The value of a header of the request; "" if it has none. */
static void append_header(struct test_server *server, const char *name, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    const char *found = NULL;

    strbuf_appendf(&line, "\r\n%s: ", name);
    found = strcasestr(test_server_request(server, 0), line.text);
    if (found != NULL)
        strbuf_append_bytes(out, found + line.len, strcspn(found + line.len, "\r"));
}

static void an_api_key_is_a_bearer_token(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(good_reply, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    struct asked asked;

    begin(&asked, *llm, server, "{}", "ABSK-key-of-the-test");
    assert_int_equal(asked_run(&asked), 0);
    append_header(server, "Authorization", &value);
    assert_string_equal(value.text, "Bearer ABSK-key-of-the-test");
    assert_null(strcasestr(test_server_request(server, 0), "x-amz-date"));
    asked_done(&asked);
    test_server_stop(server);
}

#define PATH "/model/us.anthropic.claude-x%3A0/converse"

/* The signature of a request as it came, for comparison. */
static void assert_signed(struct test_server *server, const char *url, const char *token)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf date = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf iso = STRBUF_INIT;
    CLEANUP(sigv4_signature_done) struct sigv4_signature made = SIGV4_SIGNATURE_INIT;
    const struct http_header headers[] = {{"x-amz-own", "1"}, {NULL, NULL}};
    const char *body = strstr(test_server_request(server, 0), "\r\n\r\n") + 4;
    struct sigv4_request request = {
        .access_key_id = "AKIDEXAMPLE",
        .secret_access_key = "wJalrXUtnFEMI",
        .session_token = token,
        .region = "eu-west-1",
        .service = "bedrock",
        .method = "POST",
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
    };
    struct error err = ERROR_INIT;

    append_header(server, "X-Amz-Date", &date);
    assert_int_equal(date.len, 16);
    strbuf_appendf(&iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", date.text, date.text + 4, date.text + 6,
                   date.text + 9, date.text + 11, date.text + 13);
    assert_int_equal(clock_parse(iso.text, &request.utc_us, &err), 0);
    assert_true(clock_utc_us() - request.utc_us < INT64_C(60000000));
    request.url = url;
    sigv4_sign(&request, &made);
    append_header(server, "Authorization", &value);
    assert_string_equal(value.text, made.authorization.text);
}

static void aws_credentials_sign_the_request(void **state)
{
    struct llm *const *llm = *state;
    static const char *const tokens[] = {"", "FwoGZXIvYXdzE-token"};

    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        struct test_server *server = test_server_start(good_reply, 1, NULL);
        CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
        struct asked asked;

        begin(&asked, *llm, server,
              i == 0 ? "{" KEYS "," REGION ",\"extra_headers\":{\"x-amz-own\":\"1\",\"a\":\"b\"}}"
                     : "{" KEYS "," REGION "," TOKEN ",\"extra_headers\":{\"x-amz-own\":\"1\"}}",
              i == 0 ? NULL : " ");
        if (asked_run(&asked) < 0)
            fail_msg("%s", asked.failure.detail);
        assert_signed(server, test_server_url(server, PATH), tokens[i]);
        append_header(server, "X-Amz-Security-Token", &value);
        assert_string_equal(value.text, tokens[i]);
        assert_null(strstr(test_server_request(server, 0), "wJalrXUtnFEMI"));
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* A host with a name is called by libcurl, which must send path and host as they were signed. */
static void a_named_host_is_sent_what_was_signed(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(good_reply, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct asked asked;

    strbuf_appendf(&url, "http://localhost%s", strrchr(test_server_url(server, ""), ':'));
    begin(&asked, *llm, server, "{" KEYS "," REGION ",\"extra_headers\":{\"x-amz-own\":\"1\"}}",
          NULL);
    json_put_text(asked.spec, "base_url", url.text);
    if (asked_run(&asked) < 0)
        fail_msg("%s", asked.failure.detail);
    strbuf_append(&url, PATH);
    assert_signed(server, url.text, "");
    asked_done(&asked);
    test_server_stop(server);
}

static const struct {
    const char *spec;
    const char *api_key;
    const char *words;
} without_access[] = {
    {"{" REGION "}", NULL, "needs credentials: a Bedrock API key as api_key, or"},
    {"{" REGION "}", " ", "needs credentials: a Bedrock API key as api_key, or"},
    {"{" REGION ",\"aws_access_key_id\":\"a\"}", NULL,
     "needs credentials: aws_access_key_id and aws_secret_access_key, both"},
    {"{" REGION ",\"aws_secret_access_key\":\"a\",\"aws_access_key_id\":\" \"}", NULL, "both"},
    {"{" REGION "," TOKEN "}", NULL, "both"},
    {"{" KEYS "," REGION "}", "key", "not both: clear api_key"},
    {"{" REGION "," TOKEN "}", "key", "not both: clear api_key"},
    {"{" KEYS "}", NULL, "needs aws_region_name"},
};

static void calls_without_access_are_refused_in_words(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(without_access); i++) {
        struct test_server *server = test_server_start(good_reply, 1, NULL);
        struct asked asked;

        begin(&asked, *llm, server, without_access[i].spec, without_access[i].api_key);
        assert_int_equal(asked_run(&asked), -1);
        assert_int_equal(asked.failure.kind, LLM_FAILURE_BAD_REQUEST);
        if (strstr(asked.failure.detail, without_access[i].words) == NULL)
            fail_msg("%s: %s", without_access[i].spec, asked.failure.detail);
        assert_int_equal(test_server_n_requests(server), 0);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* AWS repeats what it would have signed. */
static void what_a_refusal_repeats_is_hidden(void **state)
{
    static const struct test_reply reply[] = {
        {.bytes = "HTTP/1.1 403 Forbidden\r\nx-amzn-ErrorType: InvalidSignatureException:\r\n"
                  "Connection: close\r\n\r\n{\"message\":\"The canonical string should have been "
                  "x-amz-security-token:FwoGZXIvYXdzE-token AKIDEXAMPLE wJalrXUtnFEMI\"}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct asked asked;

    begin(&asked, *llm, server, "{" KEYS "," REGION "," TOKEN "}", NULL);
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(asked.failure.kind, LLM_FAILURE_AUTHENTICATION);
    assert_non_null(strstr(asked.failure.detail,
                           "x-amz-security-token:<secret-hidden> <secret-hidden> <secret-hidden> "
                           "(error code: 403, InvalidSignatureException)"));
    assert_null(strstr(asked.err.message, "wJalr"));
    asked_done(&asked);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_has_a_place),
        cmocka_unit_test(what_has_no_place_is_refused_in_words),
        cmocka_unit_test(an_api_key_is_a_bearer_token),
        cmocka_unit_test(aws_credentials_sign_the_request),
        cmocka_unit_test(a_named_host_is_sent_what_was_signed),
        cmocka_unit_test(calls_without_access_are_refused_in_words),
        cmocka_unit_test(what_a_refusal_repeats_is_hidden),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
