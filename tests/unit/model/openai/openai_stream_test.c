#include "model/openai/openai_stream.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/openai/openai_answer.h"
#include "unit/model/model_test.h"

static const struct openai_usage usage = {10, 4, 3, 1};

/* The data of the i-th event; a new reference. */
static json_t *data_of(const struct strbuf *out, size_t index)
{
    const char *at = out->text;
    json_t *json = NULL;
    struct error err = ERROR_INIT;

    for (size_t i = 0; at != NULL && i <= index; i++) {
        at = strstr(at, "data: ");
        at = at != NULL ? at + strlen("data: ") : NULL;
    }
    if (at == NULL || json_parse_own(at, strcspn(at, "\n"), &json, &err) < 0)
        fail_msg("no event %zu in %s", index, out->text);
    return json;
}

static void assert_event(const struct strbuf *out, size_t index, const char *expected)
{
    json_auto_t *json = data_of(out, index);

    assert_json_is(json, expected);
}

static struct openai_stream stream_of(enum openai_form form, const json_t *asked)
{
    return (struct openai_stream){.form = form,
                                  .model = "openhands_p",
                                  .asked = asked,
                                  .begun_s = 7,
                                  .id = STRBUF_INIT,
                                  .item_id = STRBUF_INIT,
                                  .text = STRBUF_INIT};
}

static void set_text(struct strbuf *text, const char *to)
{
    strbuf_reset(text);
    strbuf_append(text, to);
}

/* --- chat --- */

#define CHUNK(choices, more)                                                                       \
    "{'id': 'chatcmpl-1', 'object': 'chat.completion.chunk', 'created': 7,"                        \
    " 'model': 'openhands_p', 'choices': [" choices "]" more "}"
#define CHOICE(delta, finish)                                                                      \
    "{'index': 0, 'delta': " delta ", 'logprobs': null, 'finish_reason': " finish "}"
#define USAGE                                                                                      \
    "{'prompt_tokens': 10, 'completion_tokens': 3, 'total_tokens': 13,"                            \
    " 'prompt_tokens_details': {'cached_tokens': 4},"                                              \
    " 'completion_tokens_details': {'reasoning_tokens': 1}}"

static void chat_is_streamed_in_chunks(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(openai_stream_done) struct openai_stream stream = stream_of(OPENAI_FORM_CHAT, NULL);

    (void)state;
    openai_stream_begin(&stream, &out);
    assert_int_equal(strncmp(stream.id.text, "chatcmpl-", strlen("chatcmpl-")), 0);
    assert_non_null(strstr(out.text, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"));
    set_text(&stream.id, "chatcmpl-1");
    strbuf_reset(&out);
    assert_true(openai_stream_add(&stream, "two\nlines", &out));
    openai_stream_keep_alive(&out);
    openai_stream_end(&stream, OPENAI_END_COMPLETE, &usage, &out);
    assert_event(&out, 0, CHUNK(CHOICE("{'content': 'two\\nlines'}", "null"), ""));
    assert_event(&out, 1, CHUNK(CHOICE("{}", "'stop'"), ""));
    assert_non_null(strstr(out.text, "\n\n: keep-alive\n\ndata: "));
    assert_string_equal(out.text + out.len - strlen("}\n\ndata: [DONE]\n\n"),
                        "}\n\ndata: [DONE]\n\n");
    assert_null(strstr(out.text, "usage"));
}

static void usage_is_told_where_it_is_asked_for(void **state)
{
    json_auto_t *asked = json_of("{'stream_options': {'include_usage': true}}");
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(openai_stream_done) struct openai_stream stream = stream_of(OPENAI_FORM_CHAT, asked);

    (void)state;
    openai_stream_begin(&stream, &out);
    set_text(&stream.id, "chatcmpl-1");
    strbuf_reset(&out);
    openai_stream_end(&stream, OPENAI_END_CUT, &usage, &out);
    assert_event(&out, 0, CHUNK(CHOICE("{}", "'length'"), ", 'usage': null"));
    assert_event(&out, 1, CHUNK("", ", 'usage': " USAGE));
}

static void failed_chat_ends_with_an_error(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(openai_stream_done) struct openai_stream stream = stream_of(OPENAI_FORM_CHAT, NULL);

    (void)state;
    openai_stream_fail(&stream, "it \"failed\"", &out);
    assert_event(&out, 0,
                 "{'error': {'message': 'it \\\"failed\\\"', 'type': 'server_error',"
                 " 'param': null, 'code': null}}");
    assert_null(strstr(out.text, "[DONE]"));
}

static void text_has_a_limit(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(openai_stream_done) struct openai_stream stream = stream_of(OPENAI_FORM_CHAT, NULL);
    CLEANUP(mem_freep) char *most = mem_alloc(OPENAI_STREAM_MAX_BYTES + 1);

    (void)state;
    memset(most, 'a', OPENAI_STREAM_MAX_BYTES);
    assert_true(openai_stream_add(&stream, most, &out));
    strbuf_reset(&out);
    assert_false(openai_stream_add(&stream, "b", &out));
    assert_int_equal(out.len, 0);
    assert_int_equal(stream.text.len, OPENAI_STREAM_MAX_BYTES);
}

/* --- response --- */

#define AT "'item_id': 'msg_1', 'output_index': 0, 'content_index': 0"
#define PART(text) "{'type': 'output_text', 'text': '" text "', 'annotations': []}"
#define MESSAGE(status, content)                                                                   \
    "{'id': 'msg_1', 'type': 'message', 'role': 'assistant', 'status': '" status                   \
    "', 'content': [" content "]}"

/* The types of all events, each followed by a space. */
static void append_types(const struct strbuf *out, struct strbuf *types)
{
    const char *at = strstr(out->text, "event: ");

    for (size_t i = 0; at != NULL; i++) {
        json_auto_t *json = data_of(out, i);
        size_t len = strcspn(at, "\n") - strlen("event: ");

        assert_int_equal(json_int_or(json, "sequence_number", -1), i);
        assert_int_equal(strncmp(at + strlen("event: "), json_text_or(json, "type", ""), len), 0);
        strbuf_appendf(types, "%s ", json_text_or(json, "type", "") + strlen("response."));
        at = strstr(at + 1, "event: ");
    }
}

static void assert_response(const struct strbuf *out, size_t index, const char *status,
                            size_t n_output)
{
    json_auto_t *json = data_of(out, index);
    json_t *response = json_object_get(json, "response");

    assert_string_equal(json_text_or(response, "status", ""), status);
    assert_string_equal(json_text_or(response, "object", ""), "response");
    assert_string_equal(json_text_or(response, "instructions", ""), "Be brief.");
    assert_int_equal(json_array_size(json_object_get(response, "output")), n_output);
    assert_true(json_is_null(json_object_get(response, "usage")) == (n_output == 0));
}

static void response_is_streamed_as_events(void **state)
{
    json_auto_t *asked = json_of("{'instructions': 'Be brief.'}");
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf types = STRBUF_INIT;
    CLEANUP(openai_stream_done) struct openai_stream stream =
        stream_of(OPENAI_FORM_RESPONSE, asked);

    (void)state;
    openai_stream_begin(&stream, &out);
    set_text(&stream.item_id, "msg_1");
    assert_true(openai_stream_add(&stream, "one ", &out));
    assert_true(openai_stream_add(&stream, "two", &out));
    openai_stream_end(&stream, OPENAI_END_COMPLETE, &usage, &out);
    append_types(&out, &types);
    assert_string_equal(types.text, "created in_progress output_item.added content_part.added "
                                    "output_text.delta output_text.delta output_text.done "
                                    "content_part.done output_item.done completed ");
    assert_response(&out, 0, "in_progress", 0);
    assert_response(&out, 9, "completed", 1);
    assert_event(&out, 5,
                 "{'type': 'response.output_text.delta', 'sequence_number': 5, " AT
                 ", 'delta': 'two', 'logprobs': []}");
    assert_event(&out, 6,
                 "{'type': 'response.output_text.done', 'sequence_number': 6, " AT
                 ", 'text': 'one two', 'logprobs': []}");
    assert_event(&out, 7,
                 "{'type': 'response.content_part.done', 'sequence_number': 7, " AT
                 ", 'part': " PART("one two") "}");
    assert_event(&out, 8,
                 "{'type': 'response.output_item.done', 'sequence_number': 8, 'output_index': 0,"
                 " 'item': " MESSAGE("completed", PART("one two")) "}");
}

static void cut_and_failed_responses_say_so(void **state)
{
    json_auto_t *asked = json_of("{'instructions': 'Be brief.'}");
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf failed = STRBUF_INIT;
    CLEANUP(openai_stream_done) struct openai_stream stream =
        stream_of(OPENAI_FORM_RESPONSE, asked);

    (void)state;
    openai_stream_end(&stream, OPENAI_END_CUT, &usage, &cut);
    assert_response(&cut, 3, "incomplete", 1);
    assert_non_null(strstr(cut.text, "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"));
    openai_stream_fail(&stream, "it failed", &failed);
    assert_response(&failed, 0, "failed", 0);
    assert_non_null(
        strstr(failed.text, "\"error\":{\"code\":\"server_error\",\"message\":\"it failed\"}"));
}

int openai_stream_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_is_streamed_in_chunks),
        cmocka_unit_test(usage_is_told_where_it_is_asked_for),
        cmocka_unit_test(failed_chat_ends_with_an_error),
        cmocka_unit_test(text_has_a_limit),
        cmocka_unit_test(response_is_streamed_as_events),
        cmocka_unit_test(cut_and_failed_responses_say_so),
    };

    return cmocka_run_group_tests_name("model/openai_stream", tests, NULL, NULL);
}
