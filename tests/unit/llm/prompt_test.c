/*
 * A prompt as it grows: which form it has, when another model needs another one, and how messages
 * are rendered.
 */
#include "llm/llm_prompt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/formats/clip.h"
#include "llm/formats/thinking.h"
#include "support/test_catalogue.h"

enum { TOOL_TEXT_MAX = 50000 };

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define USER(parts) "{\"role\":\"user\",\"content\":[" parts "]}"
#define SYSTEM(parts) "{\"role\":\"system\",\"content\":[" parts "]}"
#define IMAGE "{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://a/b.png\"}}"
#define MARK "\"cache_control\":{\"type\":\"ephemeral\"}"

static void add(struct llm_prompt *prompt, const char *message)
{
    json_auto_t *json = parsed(message);

    llm_prompt_add(prompt, json);
}

static void begin(struct llm_prompt *prompt, const char *spec)
{
    json_auto_t *json = parsed(spec);

    llm_prompt_begin(prompt, test_catalogue(), json);
}

static bool fits(const struct llm_prompt *prompt, const char *spec)
{
    json_auto_t *json = parsed(spec);

    return llm_prompt_fits(prompt, test_catalogue(), json);
}

/* Which features the prompt for a model has: litellm, images, reasoning, plain, marks. */
static const struct {
    const char *spec;
    const char *features;
} forms[] = {
    {"{\"model\":\"openai/test\"}", "-i---"},
    {"{\"model\":\"openai/test\",\"disable_vision\":true}", "-----"},
    {"{\"model\":\"openai/test\",\"disable_vision\":false}", "-i---"},
    {"{\"model\":\"openai/test\",\"force_string_serializer\":true}", "-i-p-"},
    {"{\"model\":\"deepseek/deepseek-chat\"}", "---p-"},
    {"{\"model\":\"deepseek/deepseek-chat\",\"force_string_serializer\":false}", "-----"},
    {"{\"model\":\"deepseek/deepseek-reasoner\"}", "--rp-"},
    {"{\"model\":\"openai/ours\",\"model_canonical_name\":\"deepseek/deepseek-reasoner\"}",
     "--rp-"},
    {"{\"model\":\"openai/claude-opus-5\"}", "-i---"},
    {"{\"model\":\"openrouter/anthropic/claude-opus-5\"}", "-i--m"},
    {"{\"model\":\"anthropic/claude-opus-5\"}", "-i--m"},
    {"{\"model\":\"anthropic/ours\"}", "-i---"},
    {"{\"model\":\"anthropic/ours\",\"model_canonical_name\":\"claude-opus-5\"}", "-i--m"},
    {"{\"model\":\"anthropic/claude-opus-5\",\"caching_prompt\":false}", "-i---"},
    {"{\"model\":\"anthropic/claude-opus-5\","
     "\"capability_overrides\":{\"supports_prompt_cache\":false}}",
     "-i---"},
    {"{\"model\":\"anthropic/ours\",\"capability_overrides\":{\"supports_prompt_cache\":true}}",
     "-i--m"},
    {"{\"model\":\"openhands/claude-opus-5\"}", "li--m"},
    {"{\"model\":\"litellm_proxy/claude-opus-5\",\"base_url\":\"http://h\"}", "li--m"},
    {"{\"model\":\"litellm_proxy/gpt-5\",\"base_url\":\"http://h\"}", "li---"},
    {"{\"model\":\"nobody/model\"}", "-i---"},
    {"{}", "-i---"},
};

static void form_follows_from_model_and_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
        char features[6] = "";

        begin(&prompt, forms[i].spec);
        features[0] = prompt.features.takes_litellm ? 'l' : '-';
        features[1] = prompt.features.takes_images ? 'i' : '-';
        features[2] = prompt.features.takes_reasoning ? 'r' : '-';
        features[3] = prompt.features.takes_plain ? 'p' : '-';
        features[4] = prompt.features.marks_cache ? 'm' : '-';
        if (strcmp(features, forms[i].features) != 0)
            fail_msg("%s: %s", forms[i].spec, features);
        assert_true(fits(&prompt, forms[i].spec));
    }
}

/* Each differs in one thing alone. */
static void prompt_does_not_fit_another_form(void **state)
{
    static const struct {
        const char *spec;
        const char *other;
    } cases[] = {
        {"{\"model\":\"openai/a\"}", "{\"model\":\"openai/b\"}"},
        {"{\"model\":\"openai/a\"}", "{\"model\":\"openai/a\",\"disable_vision\":true}"},
        {"{\"model\":\"openai/a\"}", "{\"model\":\"openai/a\",\"force_string_serializer\":true}"},
        {"{\"model\":\"deepseek/a\"}",
         "{\"model\":\"deepseek/a\",\"model_canonical_name\":\"deepseek/deepseek-reasoner\"}"},
        {"{\"model\":\"anthropic/claude-opus-5\"}",
         "{\"model\":\"anthropic/claude-opus-5\",\"caching_prompt\":false}"},
        {"{\"model\":\"\",\"base_url\":\"http://h\"}",
         "{\"model\":\"a\",\"base_url\":\"http://h\"}"},
    };
    const struct llm_prompt nothing = LLM_PROMPT_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

        begin(&prompt, cases[i].spec);
        if (fits(&prompt, cases[i].other))
            fail_msg("%s %s", cases[i].spec, cases[i].other);
        begin(&prompt, cases[i].other);
        assert_false(fits(&prompt, cases[i].spec));
        assert_true(fits(&prompt, cases[i].other));
    }
    assert_false(fits(&nothing, "{\"model\":\"openai/a\"}"));
    llm_prompt_done(NULL);
}

/* What does not change the form: who serves it, and how it is asked. */
static void prompt_fits_the_same_model_elsewhere(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

    (void)state;
    begin(&prompt, "{\"model\":\"openai/a\"}");
    assert_true(fits(&prompt, "{\"model\":\"openai/a\",\"base_url\":\"http://h\","
                              "\"temperature\":1}"));
}

static void prompt_goes_back_to_an_earlier_end(void **state)
{
    static const char *const models[] = {"{\"model\":\"openai/a\"}",
                                         "{\"model\":\"anthropic/claude-opus-5\"}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
        CLEANUP(mem_freep) char *messages = NULL;
        CLEANUP(mem_freep) char *system = NULL;
        struct llm_prompt_end end = LLM_PROMPT_END_INIT;

        begin(&prompt, models[i]);
        add(&prompt, SYSTEM(TEXT("S")));
        add(&prompt, USER(TEXT("a")));
        end = prompt.end;
        messages = mem_dup_text(prompt.messages.text);
        system = mem_dup_text(prompt.system.text);
        add(&prompt, SYSTEM(TEXT("D")));
        add(&prompt, USER(TEXT("b")));
        add(&prompt, "{\"role\":\"assistant\",\"content\":[" TEXT("c") "]}");
        llm_prompt_rewind(&prompt, &end);
        assert_string_equal(prompt.messages.text, messages);
        assert_string_equal(prompt.system.text, system);
        assert_memory_equal(&prompt.end, &end, sizeof(end));
        llm_prompt_done(&prompt);
        assert_int_equal(prompt.messages.len + prompt.system.len, 0);
        assert_null(prompt.format);
        assert_null(prompt.model);
        /* A new beginning keeps nothing. */
        begin(&prompt, models[i]);
        add(&prompt, USER(TEXT("a")));
        begin(&prompt, models[i]);
        assert_int_equal(prompt.messages.len + prompt.system.len + prompt.tools.len, 0);
        assert_int_equal(prompt.end.role, LLM_ROLE_NONE);
    }
}

static void tools_replace_earlier_ones(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    json_auto_t *some = parsed("[{\"type\":\"function\"}]");
    json_auto_t *none = json_array();

    (void)state;
    begin(&prompt, "{\"model\":\"openai/a\"}");
    llm_prompt_set_tools(&prompt, some);
    llm_prompt_set_tools(&prompt, some);
    assert_string_equal(prompt.tools.text, "[{\"type\":\"function\"}]");
    llm_prompt_set_tools(&prompt, none);
    assert_int_equal(prompt.tools.len, 0);
    llm_prompt_set_tools(&prompt, some);
    begin(&prompt, "{\"model\":\"openai/a\"}");
    assert_int_equal(prompt.tools.len, 0);
}

/* --- chat messages --- */

#define THOUGHTS                                                                                   \
    "\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"model\":\"openhands/m\"},"  \
    "{\"type\":\"thinking\",\"thinking\":\"so\",\"model\":\"other\"},"                             \
    "{\"type\":\"thinking\",\"thinking\":\"ah\"}]"

static const struct {
    const char *spec;
    const char *message;
    const char *rendered;
} chats[] = {
    {"{\"model\":\"openai/a\"}", USER(TEXT("a") "," TEXT(" \\n") "," IMAGE),
     USER(TEXT("a") "," IMAGE)},
    {"{\"model\":\"openai/a\",\"disable_vision\":true}", USER(TEXT("a") "," IMAGE),
     USER(TEXT("a"))},
    {"{\"model\":\"openai/a\"}", USER("{\"type\":\"audio\",\"x\":1},{\"text\":\"no type\"}"),
     USER("{\"type\":\"audio\",\"x\":1},{\"text\":\"no type\"}")},
    {"{\"model\":\"openai/a\"}", USER(""), "{\"role\":\"user\",\"content\":\"\"}"},
    {"{\"model\":\"openai/a\"}", "{\"role\":\"user\",\"content\":\"plain\"}",
     "{\"role\":\"user\",\"content\":\"plain\"}"},
    {"{\"model\":\"openai/a\"}", "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[1]}",
     "{\"role\":\"assistant\",\"tool_calls\":[1]}"},
    {"{\"model\":\"openai/a\"}", "{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[1]}",
     "{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[1]}"},
    {"{\"model\":\"openai/a\"}", "{\"role\":\"assistant\",\"tool_calls\":[]}",
     "{\"role\":\"assistant\",\"tool_calls\":[],\"content\":\"\"}"},
    {"{\"model\":\"openai/a\",\"force_string_serializer\":true}",
     USER(TEXT("a") "," TEXT(" ") "," TEXT("b")), "{\"role\":\"user\",\"content\":\"a\\nb\"}"},
    {"{\"model\":\"openai/a\",\"force_string_serializer\":true}", USER(TEXT(" ")),
     "{\"role\":\"user\",\"content\":\"\"}"},
    {"{\"model\":\"openai/a\"}",
     "{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"r\"," THOUGHTS "}",
     "{\"role\":\"assistant\",\"content\":\"x\"}"},
    {"{\"model\":\"openai/a\",\"model_canonical_name\":\"kimi-k3\"}",
     "{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"r\"}",
     "{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"r\"}"},
    {"{\"model\":\"openhands/m\"}", "{\"role\":\"assistant\",\"content\":\"x\"," THOUGHTS "}",
     "{\"role\":\"assistant\",\"content\":\"x\",\"thinking_blocks\":[{\"type\":\"thinking\","
     "\"thinking\":\"hm\"},{\"type\":\"thinking\",\"thinking\":\"ah\"}]}"},
    {"{\"model\":\"openhands/other-than-these\"}",
     "{\"role\":\"assistant\",\"content\":\"x\",\"thinking_blocks\":[{\"model\":\"m\"}]}",
     "{\"role\":\"assistant\",\"content\":\"x\"}"},
    {"{\"model\":\"openhands/claude-opus-5\"}", SYSTEM(TEXT("S") "," TEXT("D")),
     SYSTEM("{\"type\":\"text\",\"text\":\"S\"," MARK "}," TEXT("D"))},
    {"{\"model\":\"openhands/claude-opus-5\"}", SYSTEM(""),
     "{\"role\":\"system\",\"content\":\"\"}"},
};

static void chat_messages_are_rendered_for_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(chats); i++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

        begin(&prompt, chats[i].spec);
        add(&prompt, chats[i].message);
        assert_string_equal(prompt.messages.text, chats[i].rendered);
    }
}

/* Where the mark for the cache goes: to the end of the last message that can have one. */
static void mark_goes_to_the_last_message_that_can_have_one(void **state)
{
    static const struct {
        const char *message;
        const char *rest; /* of the text, from the mark's place on; NULL: where it was before */
    } steps[] = {
        {SYSTEM(TEXT("S")), ""},
        {USER(TEXT("a")), "}]}"},
        {"{\"role\":\"assistant\",\"content\":\"x\"}", NULL},
        {"{\"role\":\"user\",\"content\":\"plain\"}", NULL},
        {"{\"role\":\"tool\",\"content\":\"r\"}", "}"},
        {"{\"role\":\"tool\",\"content\":[" TEXT("r") "]}", "}"},
    };
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    size_t mark_at = 0;

    (void)state;
    begin(&prompt, "{\"model\":\"openhands/claude-opus-5\"}");
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        add(&prompt, steps[i].message);
        if (i == 0)
            assert_int_equal(prompt.end.mark_at, 0);
        else if (steps[i].rest == NULL)
            assert_int_equal(prompt.end.mark_at, mark_at);
        else
            assert_string_equal(prompt.messages.text + prompt.end.mark_at, steps[i].rest);
        mark_at = prompt.end.mark_at;
        assert_int_equal(prompt.end.role, i == 2 ? LLM_ROLE_ASSISTANT : LLM_ROLE_USER);
    }
    begin(&prompt, "{\"model\":\"openai/a\"}");
    add(&prompt, USER(TEXT("a")));
    assert_int_equal(prompt.end.mark_at, 0);
}

/* --- Anthropic's messages --- */

#define A "{\"model\":\"anthropic/a\"}"
#define TOLD(parts) "{\"role\":\"user\",\"content\":[" parts

#define USE_OF(arguments)                                                                          \
    "{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"" arguments  \
    "\"}}"
#define USED "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"t\",\"input\":{}}"
#define OPENING USER(TEXT("(The conversation begins with a message of the assistant.)")) ","

static const struct {
    const char *spec;
    const char *message;
    const char *rendered; /* the last message is still open */
} messages[] = {
    {A, USER(TEXT("a") "," TEXT(" ")), TOLD(TEXT("a"))},
    {A, USER("{\"text\":\"no type\"}"), TOLD(TEXT("no type"))},
    {A, USER(TEXT(" ")), ""},
    {"{\"model\":\"anthropic/a\",\"disable_vision\":true}", USER(IMAGE), ""},
    {A,
     "{\"role\":\"tool\",\"tool_call_id\":\"a.b\\u00e9\",\"content\":[" TEXT("r") "," TEXT(
         "") "," IMAGE "]}",
     TOLD("{\"type\":\"tool_result\",\"tool_use_id\":\"a_2eb_c3_a9\",\"content\":[" TEXT(
         "r") ",{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://a/b.png\"}}]}")},
    {A, "{\"role\":\"tool\",\"content\":[]}",
     TOLD("{\"type\":\"tool_result\",\"tool_use_id\":\"_\"}")},
    {A,
     USER("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/jpeg;base64,AA\"}},"
          "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/gif;base64,AA\"}},"
          "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/webp;base64,AA\"}}"),
     TOLD("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/jpeg\","
          "\"data\":\"AA\"}},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
          "\"image/gif\",\"data\":\"AA\"}},{\"type\":\"image\",\"source\":{\"type\":\"base64\","
          "\"media_type\":\"image/webp\",\"data\":\"AA\"}}")},
    {A, USER("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png,AA\"}}"),
     TOLD(TEXT("[an image in a form that this model does not take]"))},
    {A, USER("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/pn;base64,AA\"}}"),
     TOLD(TEXT("[an image in a form that this model does not take]"))},
    {A, USER("{\"type\":\"image_url\"}"),
     TOLD(TEXT("[an image in a form that this model does not take]"))},
    /* Arguments that are no object were answered with an error. */
    {A,
     "{\"role\":\"assistant\",\"tool_calls\":[" USE_OF("[1]") "," USE_OF("7") "," USE_OF("") "]}",
     OPENING "{\"role\":\"assistant\",\"content\":[" USED "," USED "," USED},
};

static void messages_are_rendered_as_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

        begin(&prompt, messages[i].spec);
        add(&prompt, messages[i].message);
        assert_string_equal(prompt.messages.text, messages[i].rendered);
    }
}

/* --- texts of tools --- */

/* A text of so many times the piece. */
static json_t *clipped(const char *piece, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_append(&text, piece);
    return clip_tool_text(text.text);
}

static void longest_text_of_a_tool_is_counted_in_characters(void **state)
{
    static const char note[] =
        "\n[... the middle of this output was left out because it is too long ...]\n";
    const char *text = NULL;
    const char *middle = NULL;
    json_auto_t *cut = NULL;

    (void)state;
    assert_null(clipped("x", TOOL_TEXT_MAX));
    assert_null(clipped("\xc3\xa9", TOOL_TEXT_MAX));
    assert_null(clip_tool_text(""));
    cut = clipped("ab", TOOL_TEXT_MAX / 2 + 1);
    text = json_string_value(cut);
    middle = strstr(text, note);
    assert_non_null(middle);
    assert_int_equal(strlen(text), TOOL_TEXT_MAX);
    /* As much of the head as of the tail, or one character more. */
    assert_int_equal(middle - text, (TOOL_TEXT_MAX - strlen(note) + 1) / 2);
    assert_int_equal(strncmp(text, "abab", 4), 0);
    assert_string_equal(text + strlen(text) - 4, "abab");
}

static void tools_alone_are_clipped(void **state)
{
    static const char *const models[] = {"{\"model\":\"openai/a\"}", A};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf tool = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf user = STRBUF_INIT;
        CLEANUP(llm_prompt_done) struct llm_prompt short_prompt = LLM_PROMPT_INIT;
        CLEANUP(llm_prompt_done) struct llm_prompt long_prompt = LLM_PROMPT_INIT;

        while (text.len < TOOL_TEXT_MAX * (size_t)2)
            strbuf_append(&text, "0123456789");
        strbuf_appendf(&tool,
                       "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":["
                       "{\"type\":\"text\",\"text\":\"%s\"}]}",
                       text.text);
        strbuf_appendf(&user, USER("{\"type\":\"text\",\"text\":\"%s\"}"), text.text);
        begin(&short_prompt, models[i]);
        begin(&long_prompt, models[i]);
        add(&short_prompt, tool.text);
        add(&long_prompt, user.text);
        assert_true(short_prompt.messages.len < TOOL_TEXT_MAX + 200);
        assert_true(long_prompt.messages.len > TOOL_TEXT_MAX * (size_t)2);
    }
}

static void blocks_of_other_models_are_left_out(void **state)
{
    json_auto_t *blocks = parsed("[{\"a\":1,\"model\":\"m\"},{\"b\":1,\"model\":\"n\"},{\"c\":1},"
                                 "\"no object\",null]");
    json_auto_t *own = thinking_of_model(blocks, "m");
    json_auto_t *none = thinking_of_model(NULL, "m");
    CLEANUP(mem_freep) char *text = json_to_text(own);

    (void)state;
    assert_string_equal(text, "[{\"a\":1},{\"c\":1}]");
    assert_int_equal(json_array_size(none), 0);
    /* The blocks themselves are as they were. */
    assert_string_equal(json_text_or(json_array_get(blocks, 0), "model", ""), "m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_follows_from_model_and_specification),
        cmocka_unit_test(prompt_does_not_fit_another_form),
        cmocka_unit_test(prompt_fits_the_same_model_elsewhere),
        cmocka_unit_test(prompt_goes_back_to_an_earlier_end),
        cmocka_unit_test(tools_replace_earlier_ones),
        cmocka_unit_test(chat_messages_are_rendered_for_the_model),
        cmocka_unit_test(mark_goes_to_the_last_message_that_can_have_one),
        cmocka_unit_test(messages_are_rendered_as_blocks),
        cmocka_unit_test(longest_text_of_a_tool_is_counted_in_characters),
        cmocka_unit_test(tools_alone_are_clipped),
        cmocka_unit_test(blocks_of_other_models_are_left_out),
    };

    json_setup();
    return cmocka_run_group_tests_name("prompt", tests, NULL, NULL);
}
