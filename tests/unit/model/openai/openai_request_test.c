#include "model/openai/openai_request.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static const struct json_path body = {NULL, "body", 0};

#define TEXT(text) "{'cache_prompt': false, 'type': 'text', 'text': '" text "'}"

/* What the refusal must be; NULL: none. */
static void assert_refusal(const struct openai_request *ask, const char *expected)
{
    if (expected == NULL)
        assert_null(ask->refusal);
    else
        assert_string_equal(ask->refusal != NULL ? ask->refusal : "none", expected);
}

struct case_of_request {
    const char *values;
    const char *system;
    const char *content;
    const char *refusal;
};

/* Reads values as the schema gives them. */
static json_t *values_of(const struct object_schema *schema, const char *text)
{
    json_auto_t *input = json_of(text);
    json_auto_t *problems = json_array();
    json_t *values = object_schema_read(schema, input, &body, problems);

    if (json_array_size(problems) > 0)
        fail_msg("%s: %s", text, json_dumps(problems, 0));
    return values;
}

static void check(const struct case_of_request *row, enum openai_turns turns)
{
    CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
    json_auto_t *values = values_of(&openai_chat_schema, row->values);
    json_auto_t *problems = json_array();

    openai_request_read_chat(values, turns, &ask, problems);
    assert_json_is(problems, "[]");
    assert_string_equal(ask.system.text, row->system);
    assert_json_is(ask.content, row->content);
    assert_refusal(&ask, row->refusal);
}

#define CHAT(messages) "{'model': 'openhands_mine', 'messages': [" messages "]}"
#define SYSTEM(text) "{'role': 'system', 'content': '" text "'}"
#define USER(text) "{'role': 'user', 'content': '" text "'}"
#define ASSISTANT(text) "{'role': 'assistant', 'content': '" text "'}"

static const char last_is_not_users[] = "The last message must be the user's";
static const char no_input[] = "There is no input";
static const char wrong_part[] = "The parts of a message must be text, or images with a URL";

static void messages_become_one(void **state)
{
    static const struct case_of_request rows[] = {
        {CHAT(USER("Hi")), "", "[" TEXT("Hi") "]", NULL},
        {CHAT(SYSTEM("A") ", {'role': 'developer', 'content': 'B'}, " USER("Hi")), "A\n\nB",
         "[" TEXT("Hi") "]", NULL},
        {CHAT(SYSTEM("A") ", " SYSTEM("") ", " USER("Hi") ", " SYSTEM("C")), "A\n\nC",
         "[" TEXT("Hi") "]", NULL},
        {CHAT(USER("1") ", " ASSISTANT("2") ", " USER("3")), "",
         "[" TEXT("Said before, by the user:") ", " TEXT("1") ", " TEXT(
             "Said before, by the "
             "assistant:") ", " TEXT("2") ", " TEXT("Said now:") ", " TEXT("3") "]",
         NULL},
        {CHAT(USER("1") ", " ASSISTANT("2")), "",
         "[" TEXT("Said before, by the user:") ", " TEXT("1") ", " TEXT("Said now:") ", " TEXT(
             "2") "]",
         last_is_not_users},
        {CHAT("{'role': 'tool', 'content': 'x'}"), "", "[" TEXT("x") "]", last_is_not_users},
        {CHAT(""), "", "[]", no_input},
        {CHAT(SYSTEM("A")), "A", "[]", no_input},
        {CHAT(USER(" ")), "", "[" TEXT(" ") "]", no_input},
        {CHAT("{'role': 'user', 'content': null}"), "", "[]", no_input},
        {CHAT("{'role': 'user'}"), "", "[]", no_input},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(&rows[i], OPENAI_ALL_TURNS);
}

static void a_known_conversation_gets_new_turns_alone(void **state)
{
    static const struct case_of_request rows[] = {
        {CHAT(SYSTEM("A") ", " USER("1") ", " ASSISTANT("2") ", " USER("3")), "A",
         "[" TEXT("3") "]", NULL},
        {CHAT(USER("1") ", " ASSISTANT("2") ", " USER("3") ", " USER("4")), "",
         "[" TEXT("Said before, by the user:") ", " TEXT("3") ", " TEXT("Said now:") ", " TEXT(
             "4") "]",
         NULL},
        {CHAT(USER("1")), "", "[" TEXT("1") "]", NULL},
        {CHAT(USER("1") ", " ASSISTANT("2")), "", "[]", last_is_not_users},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(&rows[i], OPENAI_NEW_TURNS);
}

#define PARTS(parts) CHAT("{'role': 'user', 'content': [" parts "]}")
#define IMAGE "{'type': 'image', 'image_urls': ['http://x/y.png']}"

static void parts_are_texts_and_images(void **state)
{
    static const struct case_of_request rows[] = {
        {PARTS("{'type': 'text', 'text': 'a'}, {'type': 'input_text', 'text': 'b'},"
               " {'type': 'output_text', 'text': 'c'}"),
         "", "[" TEXT("a") ", " TEXT("b") ", " TEXT("c") "]", NULL},
        {PARTS("{'type': 'image_url', 'image_url': {'url': 'http://x/y.png'}}"), "", "[" IMAGE "]",
         NULL},
        {PARTS("{'type': 'input_image', 'image_url': 'http://x/y.png'}"), "", "[" IMAGE "]", NULL},
        {PARTS("{'type': 'image_url', 'image_url': {}}, {'type': 'text', 'text': 'a'}"), "",
         "[" TEXT("a") "]", wrong_part},
        {PARTS("{'type': 'image_url'}, {'type': 'text', 'text': 'a'}"), "", "[" TEXT("a") "]",
         wrong_part},
        {PARTS("{'type': 'input_audio', 'image_url': 'x'}"), "", "[]", wrong_part},
        {PARTS("{'type': 'text'}"), "", "[" TEXT("") "]", no_input},
        {PARTS(""), "", "[]", no_input},
        {CHAT("{'role': 'system', 'content': [{'type': 'text', 'text': 'a'},"
              " {'type': 'input_image', 'image_url': 'u'}, {'type': 'text', 'text': 'b'}]}, " USER(
                  "Hi")),
         "a\n\nb", "[" TEXT("Hi") "]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check(&rows[i], OPENAI_ALL_TURNS);
}

static void malformed_parts_are_named(void **state)
{
    CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
    json_auto_t *values =
        values_of(&openai_chat_schema,
                  CHAT(USER("Hi") ", {'role': 'user', 'content': [{'type': 'text', 'text': 5}]},"
                                  " {'role': 'user', 'content': 7}"));
    json_auto_t *problems = json_array();

    (void)state;
    openai_request_read_chat(values, OPENAI_ALL_TURNS, &ask, problems);
    assert_int_equal(json_array_size(problems), 2);
    assert_string_equal(problem_at(problems, "messages.1.content.0.text"), "string_type");
    assert_string_equal(problem_at(problems, "messages.2.content"), "list_type");
}

static void a_model_with_the_prefix_names_a_profile(void **state)
{
    static const struct {
        const char *values;
        const char *profile;
    } rows[] = {
        {CHAT(USER("Hi")), "mine"},
        {"{'model': 'openhands_', 'messages': []}", ""},
        {"{'model': 'gpt-5', 'messages': []}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
        json_auto_t *values = values_of(&openai_chat_schema, rows[i].values);
        json_auto_t *problems = json_array();

        openai_request_read_chat(values, OPENAI_ALL_TURNS, &ask, problems);
        if (rows[i].profile == NULL)
            assert_null(ask.profile);
        else
            assert_string_equal(ask.profile, rows[i].profile);
    }
}

static void requests_may_ask_for_a_stream(void **state)
{
    static const struct {
        const char *values;
        bool is_streamed;
    } rows[] = {
        {"{'model': 'm', 'stream': true, 'messages': [" USER("Hi") "]}", true},
        {"{'model': 'm', 'stream': false, 'stream_options': null, 'messages': [" USER("Hi") "]}",
         false},
        {"{'model': 'm', 'messages': [" USER("Hi") "]}", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
        json_auto_t *values = values_of(&openai_chat_schema, rows[i].values);
        json_auto_t *problems = json_array();

        openai_request_read_chat(values, OPENAI_ALL_TURNS, &ask, problems);
        assert_refusal(&ask, NULL);
        assert_int_equal(ask.is_streamed, rows[i].is_streamed);
    }
}

/* Characters, not bytes. */
static void the_system_text_is_limited(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *values = values_of(&openai_chat_schema, CHAT(SYSTEM("") ", " USER("Hi")));
        json_auto_t *problems = json_array();

        for (size_t i = 0; i < SUFFIX_MAX_CHARS + extra; i++)
            strbuf_append(&text, "\xc3\xa4");
        json_put_text(json_array_get(json_object_get(values, "messages"), 0), "content", text.text);
        openai_request_read_chat(values, OPENAI_ALL_TURNS, &ask, problems);
        assert_refusal(&ask, extra == 0 ? NULL : "The system text is longer than 32768 characters");
    }
}

static void responses_take_a_text_or_a_list(void **state)
{
    static const struct case_of_request rows[] = {
        {"{'model': 'm', 'input': 'Hi', 'instructions': 'Be brief'}", "Be brief",
         "[" TEXT("Hi") "]", NULL},
        {"{'model': 'm', 'input': [" SYSTEM("B") ", " USER("1") ", " ASSISTANT("2") ", " USER(
             "3") "], 'instructions': 'A'}",
         "A\n\nB",
         "[" TEXT("Said before, by the user:") ", " TEXT("1") ", " TEXT(
             "Said before, by the "
             "assistant:") ", " TEXT("2") ", " TEXT("Said now:") ", " TEXT("3") "]",
         NULL},
        {"{'model': 'm', 'input': ''}", "", "[" TEXT("") "]", no_input},
        {"{'model': 'm', 'input': 'Hi', 'store': true}", "", "[" TEXT("Hi") "]",
         "Responses are not stored; set store to false"},
        {"{'model': 'm', 'input': 'Hi', 'store': false, 'previous_response_id': null}", "",
         "[" TEXT("Hi") "]", NULL},
        {"{'model': 'm', 'input': 'Hi', 'previous_response_id': 'r'}", "", "[" TEXT("Hi") "]",
         "previous_response_id is not supported"},
        {"{'model': 'm', 'input': 'Hi', 'stream': true}", "", "[" TEXT("Hi") "]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
        json_auto_t *values = values_of(&openai_response_schema, rows[i].values);
        json_auto_t *problems = json_array();

        openai_request_read_response(values, &ask, problems);
        assert_json_is(problems, "[]");
        assert_string_equal(ask.system.text, rows[i].system);
        assert_json_is(ask.content, rows[i].content);
        assert_refusal(&ask, rows[i].refusal);
    }
}

static void malformed_inputs_are_named(void **state)
{
    static const struct {
        const char *values;
        const char *path;
        const char *type;
    } rows[] = {
        {"{'model': 'm', 'input': 5}", "input", "list_type"},
        {"{'model': 'm', 'input': [{'role': 'tool', 'content': 'x'}]}", "input.0.role",
         "literal_error"},
        {"{'model': 'm', 'input': [{'role': 'user'}]}", "input.0.content", "missing"},
        {"{'model': 'm', 'input': [{'content': 'x'}]}", "input.0.role", "missing"},
        {"{'model': 'm', 'input': [{'role': 'user', 'content': [{}]}]}", "input.0.content.0.type",
         "missing"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(openai_request_done) struct openai_request ask = OPENAI_REQUEST_INIT;
        json_auto_t *values = values_of(&openai_response_schema, rows[i].values);
        json_auto_t *problems = json_array();

        openai_request_read_response(values, &ask, problems);
        assert_string_equal(problem_at(problems, rows[i].path), rows[i].type);
    }
}

static void bodies_are_checked_by_their_schemas(void **state)
{
    static const struct {
        const struct object_schema *schema;
        const char *input;
        const char *path;
        const char *type;
    } rows[] = {
        {&openai_chat_schema, "{'messages': []}", "model", "missing"},
        {&openai_chat_schema, "{'model': 'm'}", "messages", "missing"},
        {&openai_chat_schema, "{'model': 'm', 'messages': [{'content': 'x'}]}", "messages.0.role",
         "missing"},
        {&openai_chat_schema, "{'model': 'm', 'messages': [{'role': 'robot'}]}", "messages.0.role",
         "literal_error"},
        {&openai_chat_schema, "{'model': 'm', 'messages': [], 'stream': 'x'}", "stream",
         "bool_parsing"},
        {&openai_chat_schema,
         "{'model': 'm', 'messages': [], 'stream_options': {'include_usage': 'x'}}",
         "stream_options.include_usage", "bool_parsing"},
        {&openai_response_schema, "{'input': 'x'}", "model", "missing"},
        {&openai_response_schema, "{'model': 'm'}", "input", "missing"},
        {&openai_response_schema, "{'model': 'm', 'input': 'x', 'instructions': 5}", "instructions",
         "string_type"},
        {&openai_response_schema, "{'model': 'm', 'input': 'x', 'previous_response_id': 5}",
         "previous_response_id", "string_type"},
        {&openai_response_schema, "{'model': 'm', 'input': 'x', 'store': 'x'}", "store",
         "bool_parsing"},
        {&openai_response_schema, "{'model': 'm', 'input': 'x', 'stream': 'x'}", "stream",
         "bool_parsing"},
        {&openai_response_schema, "{'model': 'm', 'input': 'x', 'metadata': {'a': 5}}",
         "metadata.a", "string_type"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        json_auto_t *input = json_of(rows[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *values = object_schema_read(rows[i].schema, input, &body, problems);

        assert_non_null(values);
        assert_string_equal(problem_at(problems, rows[i].path), rows[i].type);
    }
}

int openai_request_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_become_one),
        cmocka_unit_test(a_known_conversation_gets_new_turns_alone),
        cmocka_unit_test(parts_are_texts_and_images),
        cmocka_unit_test(malformed_parts_are_named),
        cmocka_unit_test(a_model_with_the_prefix_names_a_profile),
        cmocka_unit_test(requests_may_ask_for_a_stream),
        cmocka_unit_test(the_system_text_is_limited),
        cmocka_unit_test(responses_take_a_text_or_a_list),
        cmocka_unit_test(malformed_inputs_are_named),
        cmocka_unit_test(bodies_are_checked_by_their_schemas),
    };

    return cmocka_run_group_tests_name("model/openai request", tests, NULL, NULL);
}
