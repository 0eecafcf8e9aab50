/*
 * What AWS's services send, and the signing of what is sent to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/codec/event_stream.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "client/sigv4.h"
#include "llm/formats/bedrock.h"
#include "llm/json_repair.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"
#include "unit/linear/linear.h"
#include "unit/support/event_frames.h"

static const char *const one_text[] = {"|a|", NULL};

static void run_bedrock(const char *text, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *whole = NULL;

    if (json_parse_lenient(text, len, &whole, &err) == 0 &&
        bedrock_read_answer(&draft, whole, &llm_error) == 0 &&
        response_builder_finish(&draft, &reply, &llm_error) == 0)
        assert_non_null(reply.text);
}

#define CONVERSE(blocks) "{\"output\":{\"message\":{\"content\":[" blocks "]}}}"

static const char *const converse_answers[] = {
    CONVERSE("{\"text\":\"|a|\"}"), CONVERSE("|{\"text\":\"a\"},|1"),
    CONVERSE("|{\"toolUse\":{\"toolUseId\":\"a\",\"name\":\"a\",\"input\":{\"a\":1}}},|1"),
    CONVERSE("|{\"reasoningContent\":{\"reasoningText\":{\"text\":\"a\",\"signature\":\"b\"}}},|1"),
    NULL};

/* Pieces of a call, a block of thinking and a text, in turn. */
static void run_bedrock_pieces(const char *text, size_t len)
{
    static const char *const pieces[] = {
        "{\"contentBlockDelta\":{\"contentBlockIndex\":1,\"delta\":{\"toolUse\":{\"input\":\"a\"}}}"
        "}",
        "{\"contentBlockDelta\":{\"contentBlockIndex\":0,\"delta\":{\"reasoningContent\":{\"text\":"
        "\"a\"}}}}",
        "{\"contentBlockDelta\":{\"contentBlockIndex\":2,\"delta\":{\"text\":\"a\"}}}",
    };
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    bool is_last = false;

    (void)text;
    for (size_t i = 0; i < len / 20; i++) {
        const char *event = i == 0 ? "{\"contentBlockStart\":{\"contentBlockIndex\":1,\"start\":"
                                     "{\"toolUse\":{\"toolUseId\":\"a\",\"name\":\"a\"}}}}"
                                   : pieces[i % 3];
        json_auto_t *json = NULL;

        assert_int_equal(json_parse_lenient(event, strlen(event), &json, &err), 0);
        assert_int_equal(bedrock_read_event(&draft, json, &is_last, &llm_error), 0);
    }
}

/* Byte by byte: a message with the text, one with many headers, and many without either. */
static void run_frames(const char *text, size_t len)
{
    CLEANUP(event_stream_done) struct event_stream stream = EVENT_STREAM_INIT(16 * len + 1000);
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
    struct event_stream_message message = {.payload = NULL};
    struct error err = ERROR_INIT;

    frame_append_raw(&bytes, &headers, text, len);
    for (size_t i = 0; i < len / 100; i++) {
        frame_append_raw(&bytes, &headers, "", 0);
    }
    for (size_t i = 0; i < len / 100; i++)
        frame_append_header(&headers, ":event-type", "abc");
    frame_append_raw(&bytes, &headers, "", 0);
    for (size_t i = 0; i < bytes.len; i++) {
        struct event_stream_input input = {bytes.text + i, 1};

        assert_int_equal(event_stream_next(&stream, &input, &message, &err), 0);
    }
    assert_string_equal(message.type, "abc");
}

static void run_signing(const char *text, size_t len)
{
    CLEANUP(sigv4_signature_done) struct sigv4_signature made = SIGV4_SIGNATURE_INIT;
    const struct http_header headers[] = {{"x-amz-a", text}, {NULL, NULL}};

    sigv4_sign(&(struct sigv4_request){.access_key_id = "a",
                                       .secret_access_key = "b",
                                       .session_token = "c",
                                       .region = "d",
                                       .service = "e",
                                       .method = "POST",
                                       .url = text,
                                       .headers = headers,
                                       .body = text,
                                       .body_len = len,
                                       .utc_us = 0},
               &made);
    assert_non_null(strstr(made.authorization.text, "host;x-amz-a;x-amz-date"));
}

static void time_is_linear_in_what_aws_sends(void **state)
{
    static const struct linear_function functions[] = {
        {"bedrock_read_answer", run_bedrock, converse_answers, LINEAR_OBJECTS},
        {"bedrock_read_event", run_bedrock_pieces, one_text, LINEAR_OBJECTS},
        {"event_stream_next", run_frames, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"sigv4_sign", run_signing, linear_any_text, LINEAR_FEW_BYTES, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_what_aws_sends),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_aws", tests, NULL, NULL);
}
