/* Titles: what a model is asked for one, and what becomes of its answer. */
#include <string.h>

#include "base/mem.h"
#include "model/secrets/secret_walk.h"
#include "store/conversation/job_store.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/events.h"
#include "worker/jobs/job.h"
#include "worker/jobs/jobs_test.h"

static void assert_title(struct job_test *test, const char *sql_text)
{
    CLEANUP(strbuf_done) struct strbuf expression = STRBUF_INIT;

    strbuf_appendf(&expression, "(title IS NOT DISTINCT FROM %s)::int", sql_text);
    assert_int_equal(job_test_row(test, expression.text), 1);
}

/* The sum of the calls' tokens in the stored stats. */
#define N_PROMPT_TOKENS                                                                            \
    "coalesce((stats::jsonb #>> '{usage_to_metrics,agent,accumulated_token_usage,prompt_tokens}')" \
    "::int, 0)"

static void models_answer_names_the_conversation(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("<think>hm</think>\\\"Fix the build\\\""), "{}");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'Fix the build'");
    assert_string_equal(test.result.text, "");
    assert_job_log(&test, FIRST_MESSAGE " S(stats)");
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
    assert_int_equal(job_test_n_asked(&test), 1);
    assert_non_null(strstr(test_server_request(test.server, 0), "Authorization: Bearer sk-agent"));
    assert_json_at(job_test_asked(&test, 0), "model", "\"test\"");
    assert_json_at(job_test_asked(&test, 0), "tools", NULL);
    assert_json_at(job_test_asked(&test, 0), "messages[0].role", "\"system\"");
    assert_json_at(job_test_asked(&test, 0), "messages[1].role", "\"user\"");
    assert_json_at(job_test_asked(&test, 0), "messages[1].content[0].text",
                   "\"Name the conversation that begins so, in at most 50 characters:\\n\\ngo\"");
    assert_json_at(job_test_asked(&test, 0), "messages[2]", NULL);
    job_test_end(&test);
}

static void title_is_not_replaced(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("Other"), "{}");
    job_test_change(&test, "title = 'Mine'");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'Mine'");
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_string_equal(test.result.text, "");
    assert_job_log(&test, FIRST_MESSAGE);
    job_test_end(&test);
}

static void waiting_client_gets_a_title_that_is_not_stored(void **state)
{
    static const char *const titles[] = {"NULL", "'Mine'"};

    for (size_t i = 0; i < 2; i++) {
        CLEANUP(strbuf_done) struct strbuf change = STRBUF_INIT;
        struct job_test test;

        job_test_begin(&test, *state, MODEL_ANSWER("Other"), "{}");
        strbuf_appendf(&change, "title = %s", titles[i]);
        job_test_change(&test, change.text);
        job_test_run(&test, "title", "{\"answer\": true}");
        assert_title(&test, titles[i]);
        assert_json_at(test.result.text, "", "{\"title\": \"Other\"}");
        assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
        assert_job_log(&test, FIRST_MESSAGE " S(stats)");
        job_test_end(&test);
    }
}

static void failed_model_leaves_the_first_words(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_REFUSAL("no"), "{}");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'go'");
    assert_int_equal(job_test_n_asked(&test), 1);
    assert_job_log(&test, FIRST_MESSAGE);
    job_test_change(&test, "title = NULL");
    job_test_run(&test, "title", "{\"answer\": true}");
    assert_json_at(test.result.text, "", "{\"title\": \"go\"}");
    assert_title(&test, "NULL");
    assert_job_log(&test, FIRST_MESSAGE);
    job_test_end(&test);
}

static void empty_answer_leaves_the_first_words(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("<think>hm</think> \\\"\\\""), "{}");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'go'");
    assert_job_log(&test, FIRST_MESSAGE " S(stats)");
    job_test_end(&test);
}

static void model_that_cannot_be_called_is_not_asked(void **state)
{
    static const char *const starts[] = {
        "{\"agent\": {\"llm\": {\"model\": \"scripted/none\"}}}",
        "{\"agent\": {\"llm\": {\"api_key\": null}}}",
    };

    for (size_t i = 0; i < 2; i++) {
        struct job_test test;

        job_test_begin(&test, *state, MODEL_ANSWER("Other"), starts[i]);
        job_test_run(&test, "title", "{}");
        assert_title(&test, "'go'");
        assert_int_equal(job_test_n_asked(&test), 0);
        assert_job_log(&test, FIRST_MESSAGE);
        job_test_end(&test);
    }
}

/* The title comes from the first message of the user, from all its texts. */
static void words_are_those_of_the_first_message(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_REFUSAL("no"),
                   "{\"initial_message\": {\"content\": [{\"type\": \"text\", \"text\": \"mend \"},"
                   " {\"type\": \"image\", \"image_urls\": [\"https://example.org/x.png\"]},"
                   " {\"type\": \"text\", \"text\": \"it\"}]}}");
    run_say(test.fixture, &test.id, "and more");
    job_test_change(&test, "wanted_at = NULL");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'mend it'");
    job_test_end(&test);
}

static void message_without_words_has_no_title(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("Other"),
                   "{\"initial_message\": {\"content\": [{\"type\": \"text\", \"text\": \" \"}]}}");
    job_test_run(&test, "title", "{\"answer\": true}");
    assert_json_at(test.result.text, "", "{\"title\": \"\"}");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "NULL");
    assert_int_equal(job_test_n_asked(&test), 0);
    job_test_end(&test);
}

/* A message of so many letters "x". */
static char *long_start(size_t n, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, "{\"initial_message\": {\"content\": [{\"type\": \"text\", \"text\": \"");
    for (size_t i = 0; i < n; i++)
        strbuf_append_char(&text, 'x');
    strbuf_appendf(&text, "\"}]}%s}", more);
    return strbuf_take(&text);
}

static size_t count_x(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += *text == 'x' ? 1 : 0;
    return n;
}

/* A creator's own request, which shows how much of the message is sent. */
static void long_message_is_cut(void **state)
{
    static const struct {
        size_t n;
        size_t n_sent;
        bool is_cut;
    } cases[] = {{999, 999, false}, {1000, 1000, false}, {1001, 1000, true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(mem_freep) char *start =
            long_start(cases[i].n, ", \"prompt\": \"[{conversation_content}]\"");
        struct job_test test;
        const char *request = NULL;

        job_test_begin(&test, *state, MODEL_ANSWER("Other"), start);
        job_test_run(&test, "title", "{}");
        request = strstr(job_test_asked(&test, 0), "[x");
        assert_non_null(request);
        assert_int_equal(strcspn(request + 1, " ]"), cases[i].n_sent);
        assert_int_equal(count_x(request), cases[i].n_sent);
        assert_int_equal(strstr(request, "x … (cut off)]") != NULL, cases[i].is_cut);
        job_test_end(&test);
    }
}

/* The message's own braces are not a placeholder. */
static void creators_own_request_is_filled_in(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("Other"),
                   "{\"prompt\": \"{max_length}:{conversation_content}{x}{conversation_content}\","
                   " \"initial_message\": {\"content\": [{\"type\": \"text\","
                   " \"text\": \"{max_length}\"}]}}");
    job_test_run(&test, "title", "{}");
    assert_json_at(job_test_asked(&test, 0), "messages[1].content[0].text",
                   "\"50:{max_length}{x}{max_length}\"");
    assert_json_at(job_test_asked(&test, 0), "messages[2]", NULL);
    job_test_end(&test);
}

static void store_profile(struct job_test *test, const char *name, const char *key)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(document_done) struct document profile = document_new(COLLECTION_PROFILES, name);
    const struct worker_context *context = &test->fixture->context;
    const struct document_scope scope = {context->db, &context->keyring, test->fixture->user_id};
    struct error err = ERROR_INIT;

    strbuf_appendf(&body,
                   "{\"model\": \"openai/small\", \"base_url\": \"%s\", \"api_key\": \"%s\"}",
                   test_server_url(test->server, "/small"), key);
    json_decref(profile.body);
    profile.body = test_json(body.text);
    profile.secrets = json_object();
    secrets_take(&llm_secrets, profile.body, profile.secrets);
    assert_int_equal(document_store_put(&scope, &profile, 0, &err), 0);
}

static void profile_for_titles_is_asked_with_its_own_key(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("Other"), "{\"title_llm_profile\": \"small\"}");
    store_profile(&test, "small", "sk-small");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'Other'");
    assert_json_at(job_test_asked(&test, 0), "model", "\"small\"");
    assert_non_null(strstr(test_server_request(test.server, 0), "POST /small/chat/completions"));
    assert_non_null(strstr(test_server_request(test.server, 0), "Authorization: Bearer sk-small"));
    job_test_end(&test);
}

static void agents_model_stands_in_for_a_missing_profile(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("Other"), "{\"title_llm_profile\": \"missing\"}");
    job_test_run(&test, "title", "{}");
    assert_title(&test, "'Other'");
    assert_json_at(job_test_asked(&test, 0), "model", "\"test\"");
    assert_non_null(strstr(test_server_request(test.server, 0), "Authorization: Bearer sk-agent"));
    job_test_end(&test);
}

static void stopping_worker_leaves_the_title_to_another(void **state)
{
    struct job_test test;
    struct job job;

    job_test_begin(&test, *state, MODEL_ANSWER("Other"), "{}");
    run_control_request(&test.control, STOP_INTERRUPT);
    job = job_test_claim(&test, "title", "{}");
    job_run(&test.fixture->context, &test.control, &job);
    job_done(&job);
    assert_title(&test, "NULL");
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL"
                                    " AND lease_owner IS NULL AND due_at <= now()"),
                     1);
    job_test_end(&test);
}

int title_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_answer_names_the_conversation),
        cmocka_unit_test(title_is_not_replaced),
        cmocka_unit_test(waiting_client_gets_a_title_that_is_not_stored),
        cmocka_unit_test(failed_model_leaves_the_first_words),
        cmocka_unit_test(empty_answer_leaves_the_first_words),
        cmocka_unit_test(model_that_cannot_be_called_is_not_asked),
        cmocka_unit_test(words_are_those_of_the_first_message),
        cmocka_unit_test(message_without_words_has_no_title),
        cmocka_unit_test(long_message_is_cut),
        cmocka_unit_test(creators_own_request_is_filled_in),
        cmocka_unit_test(profile_for_titles_is_asked_with_its_own_key),
        cmocka_unit_test(agents_model_stands_in_for_a_missing_profile),
        cmocka_unit_test(stopping_worker_leaves_the_title_to_another),
    };

    return cmocka_run_group_tests_name("title", tests, run_fixture_set_up, run_fixture_tear_down);
}
