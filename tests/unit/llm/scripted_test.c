#include "llm/llm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "llm/llm_fixture.h"
#include "support/test_catalogue.h"

static void add_message(struct asked *asked, const char *role, const char *text)
{
    json_t *message = json_object();
    json_t *content = json_array();
    json_t *part = json_object();

    json_put_text(part, "type", "text");
    json_put_text(part, "text", text);
    json_push(content, part);
    json_put_text(message, "role", role);
    json_put(message, "content", content);
    json_push(asked->messages, message);
}

static void first_step_answers_the_first_message(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/unit", NULL, "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "first Hi");
    assert_string_equal(asked.reply.reasoning, "because");
    assert_string_equal(asked.reply.finish_reason, "tool_calls");
    assert_int_equal(asked.reply.n_calls, 2);
    assert_string_equal(asked.reply.calls[0].arguments,
                        "{\"command\":\"cd /workspace/project\",\"timeout\":5}");
    assert_string_equal(asked.reply.calls[1].arguments, "{broken");
    assert_string_not_equal(asked.reply.calls[0].id, asked.reply.calls[1].id);
    asked_done(&asked);
}

static void place_is_counted_in_the_conversation(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/unit", NULL, "{}");
    add_message(&asked, "assistant", "first");
    add_message(&asked, "tool", "ok");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "second");
    llm_reply_done(&asked.reply);
    add_message(&asked, "assistant", "second");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "The script ends here.");
    asked_done(&asked);
}

static void step_can_fail_as_a_server_would(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/unit", NULL, "{}");
    add_message(&asked, "user", "again");
    assert_int_equal(asked_run(&asked), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "LLMAuthenticationError");
    asked_done(&asked);
}

static void later_messages_are_answered_by_their_words(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/unit", NULL, "{}");
    add_message(&asked, "user", "2");
    add_message(&asked, "user", "please help!");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "helping");
    llm_reply_done(&asked.reply);
    add_message(&asked, "user", "helpless");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "anything else");
    asked_done(&asked);
}

static void directory_comes_from_the_terminal(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/unit", NULL, "{}");
    (void)json_array_insert_new(asked.messages, 0, json_object());
    json_put_text(json_array_get(asked.messages, 0), "role", "tool");
    json_put_text(json_array_get(asked.messages, 0), "content",
                  "x\n[Current working directory: /home/me]\n");
    assert_int_equal(asked_run(&asked), 0);
    assert_non_null(strstr(asked.reply.calls[0].arguments, "cd /home/me"));
    asked_done(&asked);
}

static void only_plain_names_are_files(void **state)
{
    static const char *const names[] = {
        "scripted/../scripted/unit", "scripted/..",  "scripted//etc/passwd",
        "scripted/unit.json",        "scripted/a/b", "scripted/none",
        "scripted/%2e%2e",           "scripted/-\n",
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct asked asked;

        asked_init(&asked, *llm, names[i], NULL, "{}");
        assert_int_equal(asked_run(&asked), -1);
        assert_string_equal(llm_failure_code(&asked.failure), "NotFoundError");
        asked_done(&asked);
    }
}

static void *cancel_call(void *call)
{
    llm_call_cancel(call);
    return NULL;
}

static void cancel_ends_a_delay(void **state)
{
    struct llm *const *llm = *state;
    int64_t began_ms = clock_monotonic_ms();
    struct asked asked;
    pthread_t thread = 0;

    asked_init(&asked, *llm, "scripted/unit", NULL, "{}");
    add_message(&asked, "user", "again");
    add_message(&asked, "assistant", "x");
    assert_int_equal(pthread_create(&thread, NULL, cancel_call, asked.call), 0);
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(asked.err.code, ERROR_CANCELLED);
    assert_true(clock_monotonic_ms() - began_ms < 60000);
    (void)pthread_join(thread, NULL);
    asked_done(&asked);
}

static void newcomers_script_plays_to_its_end(void **state)
{
    struct llm_options options = {.catalogue = test_catalogue(),
                                  .scripted_dir = DEFT_TOP_SRCDIR "/scripted"};
    struct llm *llm = llm_new(&options);
    struct asked asked;
    bool is_finished = false;

    (void)state;
    asked_init(&asked, llm, "scripted/hello", NULL, "{}");
    for (int i = 0; i < 10 && !is_finished; i++) {
        assert_int_equal(asked_run(&asked), 0);
        assert_int_equal(asked.reply.n_calls, 1);
        is_finished = strcmp(asked.reply.calls[0].name, "finish") == 0;
        add_message(&asked, "assistant", asked.reply.text);
        add_message(&asked, "tool", "ok");
        llm_reply_done(&asked.reply);
    }
    assert_true(is_finished);
    add_message(&asked, "user", "Tell me about the moon");
    assert_int_equal(asked_run(&asked), 0);
    assert_non_null(strstr(asked.reply.text, "about the moon"));
    asked_done(&asked);
    llm_free(llm);
}

static void placeholders_are_filled_in_texts(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/words", NULL, "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "Hi|/workspace/project|{{other}}|{{");
    assert_int_equal(asked.reply.n_calls, 2);
    assert_string_equal(asked.reply.calls[0].name, "finish");
    assert_string_equal(asked.reply.calls[0].arguments,
                        "{\"n\":null,\"l\":[\"{{cwd}}\"],\"t\":\"Hi\"}");
    assert_string_equal(asked.reply.calls[1].name, "t");
    assert_string_equal(asked.reply.calls[1].arguments, "{}");
    assert_string_equal(asked.reply.finish_reason, "tool_calls");
    /* A token for four bytes, and eight for a call. */
    assert_int_equal(asked.reply.usage.completion_tokens, strlen(asked.reply.text) / 4 + 16);
    assert_int_equal(
        asked.reply.usage.prompt_tokens,
        strlen("{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}]},"
               "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}") /
            4);
    asked_done(&asked);
}

static void long_message_is_shown_in_part(void **state)
{
    struct llm *const *llm = *state;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct asked asked;

    for (size_t i = 0; i < 201; i++)
        strbuf_append(&text, "\xe2\x82\xac");
    asked_init(&asked, *llm, "scripted/words", NULL, "{}");
    json_array_clear(asked.messages);
    add_message(&asked, "user", text.text);
    assert_int_equal(asked_run(&asked), 0);
    assert_int_equal(strchr(asked.reply.text, '|') - asked.reply.text, 3 * 200);
    asked_done(&asked);
}

static void step_that_fails_may_be_tried_again(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/words", NULL, "{\"num_retries\":2}");
    add_message(&asked, "assistant", "x");
    assert_int_equal(asked_run(&asked), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "LLMServiceUnavailableError");
    assert_string_equal(asked.failure.detail,
                        "The model's server refused the call: scripted failure (error code: 503)");
    add_message(&asked, "assistant", "x");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "fine");
    assert_string_equal(asked.reply.finish_reason, "stop");
    assert_int_equal(asked.reply.usage.completion_tokens, 1);
    asked_done(&asked);
}

static void words_are_matched_as_words(void **state)
{
    static const struct {
        const char *message;
        const char *text;
    } cases[] = {
        {"one", "matched"},          {"ONE!", "matched"},
        {"say one", "matched"},      {"one, two", "matched"},
        {"someone", "none matched"}, {"ones", "none matched"},
        {"ones one", "matched"},     {"1one", "none matched"},
        {"Two Words.", "matched"},   {"two  words", "none matched"},
        {"7", "none matched"},       {"", "none matched"},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct asked asked;

        asked_init(&asked, *llm, "scripted/words", NULL, "{}");
        add_message(&asked, "user", "second");
        add_message(&asked, "user", cases[i].message);
        assert_int_equal(asked_run(&asked), 0);
        if (strcmp(asked.reply.text, cases[i].text) != 0)
            fail_msg("%s: %s", cases[i].message, asked.reply.text);
        asked_done(&asked);
    }
}

static void script_ends_without_a_step(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "scripted/words", NULL, "{}");
    add_message(&asked, "user", "second");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.text, "The script ends here.");
    asked_done(&asked);
}

/* The last one that a tool names; what is no path is passed over. */
static void directory_is_the_last_one_that_was_named(void **state)
{
    static const struct {
        const char *role;
        const char *text;
        const char *cwd;
    } cases[] = {
        {"tool", "[Current working directory: /a/b]", "/a/b"},
        {"tool", "[Current working directory: /a", "/workspace/project"},
        {"tool", "[Current working directory: a]", "/workspace/project"},
        {"assistant", "[Current working directory: /a]", "/workspace/project"},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct asked asked;
        const char *at = NULL;

        asked_init(&asked, *llm, "scripted/words", NULL, "{}");
        json_array_clear(asked.messages);
        add_message(&asked, "tool", "[Current working directory: x]");
        add_message(&asked, cases[i].role, cases[i].text);
        add_message(&asked, "user", "Hi");
        assert_int_equal(asked_run(&asked), 0);
        at = strchr(asked.reply.text, '|') + 1;
        assert_int_equal(strncmp(at, cases[i].cwd, strlen(cases[i].cwd)), 0);
        assert_int_equal(at[strlen(cases[i].cwd)], '|');
        asked_done(&asked);
    }
}

static void script_that_cannot_be_read_is_named(void **state)
{
    static const struct {
        const char *model;
        const char *code;
        const char *detail; /* its beginning */
    } cases[] = {
        {"scripted/broken", "LLMBadRequestError", "Script \"broken\" is broken: "},
        {"scripted/none", "NotFoundError", "There is no script \"none\": not_found"},
        {"scripted/a.b", "NotFoundError", "There is no script \"a.b\"."},
        {"scripted/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "NotFoundError",
         "There is no script "
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":"},
        {"scripted/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
         "NotFoundError",
         "There is no script "
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"."},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct asked asked;

        asked_init(&asked, *llm, cases[i].model, NULL, "{}");
        assert_int_equal(asked_run(&asked), -1);
        assert_string_equal(llm_failure_code(&asked.failure), cases[i].code);
        if (strncmp(asked.failure.detail, cases[i].detail, strlen(cases[i].detail)) != 0)
            fail_msg("%s", asked.failure.detail);
        asked_done(&asked);
    }
    assert_true(llm_model_is_scripted("scripted/x"));
    assert_false(llm_model_is_scripted("scripted"));
    assert_false(llm_model_is_scripted("openai/scripted/x"));
}

static void without_a_folder_there_are_no_scripts(void **state)
{
    const struct llm_options options = {.catalogue = test_catalogue()};
    struct llm *llm = llm_new(&options);
    struct asked asked;

    (void)state;
    asked_init(&asked, llm, "scripted/unit", NULL, "{}");
    assert_int_equal(asked_run(&asked), -1);
    assert_string_equal(asked.failure.detail, "There is no script \"unit\".");
    asked_done(&asked);
    llm_free(llm);
    llm_free(NULL);
    llm_call_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_step_answers_the_first_message),
        cmocka_unit_test(place_is_counted_in_the_conversation),
        cmocka_unit_test(step_can_fail_as_a_server_would),
        cmocka_unit_test(later_messages_are_answered_by_their_words),
        cmocka_unit_test(directory_comes_from_the_terminal),
        cmocka_unit_test(only_plain_names_are_files),
        cmocka_unit_test(cancel_ends_a_delay),
        cmocka_unit_test(newcomers_script_plays_to_its_end),
        cmocka_unit_test(placeholders_are_filled_in_texts),
        cmocka_unit_test(long_message_is_shown_in_part),
        cmocka_unit_test(step_that_fails_may_be_tried_again),
        cmocka_unit_test(words_are_matched_as_words),
        cmocka_unit_test(script_ends_without_a_step),
        cmocka_unit_test(directory_is_the_last_one_that_was_named),
        cmocka_unit_test(script_that_cannot_be_read_is_named),
        cmocka_unit_test(without_a_folder_there_are_no_scripts),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
