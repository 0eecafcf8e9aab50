#include "model/catalogue/model_table.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text_folder.h"
#include "model/catalogue/catalogue.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

#define HEAD "a/b\t1\t2\t-\t-\t10\t5\t-\tchat\n"

/* The row that a name finds, "" for none. */
static const char *found(const char *name)
{
    const struct model_facts *facts = catalogue_find_model(test_catalogue(), name);

    return facts != NULL ? facts->name : "";
}

static void a_model_has_the_facts_of_its_row(void **state)
{
    const struct model_facts *facts =
        catalogue_find_model(test_catalogue(), "anthropic/claude-sonnet-4-5");

    (void)state;
    assert_non_null(facts);
    assert_float_equal(facts->input, 3.0, 1e-9);
    assert_float_equal(facts->output, 15.0, 1e-9);
    assert_float_equal(facts->cache_read, 0.3, 1e-9);
    assert_float_equal(facts->cache_write, 3.75, 1e-9);
    assert_int_equal(facts->window_tokens, 200000);
    assert_int_equal(facts->max_output_tokens, 64000);
    assert_true(facts->has_vision && facts->is_reasoning && facts->speaks_chat);
    assert_false(facts->speaks_responses);
}

static void names_are_found_in_the_forms_that_agents_use(void **state)
{
    static const struct {
        const char *name;
        const char *row;
    } cases[] = {
        {"openai/gpt-4o", "openai/gpt-4o"},
        {"OpenAI/GPT-4o", "openai/gpt-4o"},
        {"gpt-4o", "openai/gpt-4o"},
        {"claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"},
        {"gemini-2.5-pro", "gemini/gemini-2.5-pro"},
        {"openhands/claude-opus-4-5", "anthropic/claude-opus-4-5"},
        {"litellm_proxy/prod/claude-opus-4-5", "anthropic/claude-opus-4-5"},
        {"litellm_proxy/openai/gpt-4o", "openai/gpt-4o"},
        {"openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"},
        {"openrouter/google/gemini-2.5-pro", "gemini/gemini-2.5-pro"},
        {"openrouter/z-ai/glm-4.6", "zai/glm-4.6"},
        {"groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"},
        {"gpt-5-2099-12-31", "openai/gpt-5"},
        {"anthropic/claude-opus-4-5-20991231", "anthropic/claude-opus-4-5"},
        {"anthropic/claude-opus-4-5-latest", "anthropic/claude-opus-4-5"},
        /* neither a longer name nor another provider is the same model */
        {"gpt-5-of-mine", ""},
        {"azure/my-gpt-4o", ""},
        {"custom/gpt-4o", ""},
        {"openrouter/deepseek/deepseek-chat:free", ""},
        {"scripted/hello", ""},
        {"-20991231", ""},
        {"openhands/", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (strcmp(found(cases[i].name), cases[i].row) != 0)
            fail_msg("%s: found \"%s\"", cases[i].name, found(cases[i].name));
    }
}

static void a_model_without_a_price_is_not_free(void **state)
{
    const struct model_facts *paid = catalogue_find_model(test_catalogue(), "gpt-4o");
    const struct model_facts *free_of_charge =
        catalogue_find_model(test_catalogue(), "ollama/llama3.1");

    (void)state;
    assert_non_null(paid);
    assert_non_null(free_of_charge);
    assert_true(paid->cache_write < 0);
    assert_true(free_of_charge->input >= 0 && free_of_charge->input <= 0);
}

/* Reads tables, of which NULL means an empty one. */
static int read_tables(const char *models, const char *names, struct model_table *table_out,
                       struct error *err)
{
    struct text_file files[] = {
        {.name = mem_dup_text(MODEL_TABLE_FILE),
         .path = mem_dup_text("m.tsv"),
         .text = mem_dup_text(models != NULL ? models : "#")},
        {.name = mem_dup_text(MODEL_NAMES_FILE),
         .path = mem_dup_text("n.tsv"),
         .text = mem_dup_text(names != NULL ? names : "#")},
    };
    const struct text_folder folder = {files, ARRAY_SIZE(files)};
    int rc = model_table_read(&folder, table_out, err);

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        mem_free(files[i].name);
        mem_free(files[i].path);
        mem_free(files[i].text);
    }
    return rc;
}

static void rows_that_do_not_parse_are_refused_by_line(void **state)
{
    static const struct {
        const char *models;
        const char *names;
        const char *words;
    } cases[] = {
        {HEAD "c/d\t1\t2", NULL, "m.tsv:2: a model has nine columns"},
        {"# x\n\nab\t1\t2\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:3: a model's name is its provider"},
        {"a/b\t-1\t2\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: a price is a number"},
        {"a/b\tnan\t2\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: a price is a number"},
        {"a/b\t1x\t2\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: a price is a number"},
        {"a/b\t1\t9e99\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: a price is a number"},
        {"a/b\t1\t\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: a price is a number"},
        {"a/b\t1\t-\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: the prices of input and output"},
        {"a/b\t1\t2\t-\t-\t0\t5\t-\tchat", NULL, "m.tsv:1: a number of tokens"},
        {"a/b\t1\t2\t-\t-\t10\t5\tsmell\tchat", NULL, "m.tsv:1: a feature or a format"},
        {"a/b\t1\t2\t-\t-\t10\t5\t-\tchat,", NULL, "m.tsv:1: a feature or a format"},
        {HEAD HEAD, NULL, "m.tsv:2: models must be sorted"},
        {"a/B\t1\t2\t-\t-\t10\t5\t-\tchat", NULL, "m.tsv:1: a model's name must be in lower"},
        {HEAD, "strip\tx", "n.tsv:1: a rule is"},
        {HEAD, "same\tx/", "n.tsv:1: a rule is"},
        {HEAD, "strop\tx/", "n.tsv:1: a rule is"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
        struct error err = ERROR_INIT;

        assert_int_equal(read_tables(cases[i].models, cases[i].names, &table, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        if (strncmp(err.message, cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("%s: %s", cases[i].words, err.message);
    }
}

static void an_operators_table_stands_alone(void **state)
{
    CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_tables(HEAD, "strip\tours/\nstrip\tours/\n", &table, &err), 0);
    assert_non_null(model_table_find(&table, "ours/ours/a/b"));
    assert_null(model_table_find(&table, "openai/gpt-4o"));
}

static void each_column_is_a_fact(void **state)
{
    static const char rows[] =
        "a/none\t-\t-\t-\t-\t-\t-\t-\t-\n"
        "a/some\t0\t1.5\t0.25\t1000000\t1\t1000000000\tvision\tchat,messages\n"
        "b/more\t2\t3\t-\t4\t5\t6\treasoning,vision\tresponses\n";
    static const struct model_facts expected[] = {
        {.input = -1, .output = -1, .cache_read = -1, .cache_write = -1},
        {.input = 0,
         .output = 1.5,
         .cache_read = 0.25,
         .cache_write = 1000000,
         .window_tokens = 1,
         .max_output_tokens = 1000000000,
         .has_vision = true,
         .speaks_chat = true,
         .speaks_messages = true},
        {.input = 2,
         .output = 3,
         .cache_read = -1,
         .cache_write = 4,
         .window_tokens = 5,
         .max_output_tokens = 6,
         .has_vision = true,
         .is_reasoning = true,
         .speaks_responses = true},
    };
    CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_tables(rows, NULL, &table, &err), 0);
    assert_int_equal(table.n, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        const struct model_facts *facts = &table.rows[i];

        assert_float_equal(facts->input, expected[i].input, 1e-9);
        assert_float_equal(facts->output, expected[i].output, 1e-9);
        assert_float_equal(facts->cache_read, expected[i].cache_read, 1e-9);
        assert_float_equal(facts->cache_write, expected[i].cache_write, 1e-9);
        assert_int_equal(facts->window_tokens, expected[i].window_tokens);
        assert_int_equal(facts->max_output_tokens, expected[i].max_output_tokens);
        assert_int_equal(facts->has_vision, expected[i].has_vision);
        assert_int_equal(facts->is_reasoning, expected[i].is_reasoning);
        assert_int_equal(facts->speaks_chat, expected[i].speaks_chat);
        assert_int_equal(facts->speaks_responses, expected[i].speaks_responses);
        assert_int_equal(facts->speaks_messages, expected[i].speaks_messages);
    }
}

static void other_rows_are_refused(void **state)
{
    static const char *const rows[] = {
        "a/b\t1\t2\t-\t-\t10\t5\t-\tchat\tmore",
        "a/b\t1\t2\t1000001\t-\t10\t5\t-\tchat",
        "a/b\t1\t2\t-\tx\t10\t5\t-\tchat",
        "a/b\t1\t2\t-\t-\t1000000001\t5\t-\tchat",
        "a/b\t1\t2\t-\t-\t10\tx\t-\tchat",
        "a/b\t-\t2\t-\t-\t10\t5\t-\tchat",
        "a/b\t1\t2\t-\t-\t10\t5\tchat\tchat",
        "a/b\t1\t2\t-\t-\t10\t5\t\tchat",
        "b/b\t1\t2\t-\t-\t10\t5\t-\tchat\na/b\t1\t2\t-\t-\t10\t5\t-\tchat",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
        struct error err = ERROR_INIT;

        if (read_tables(rows[i], NULL, &table, &err) == 0)
            fail_msg("%s", rows[i]);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(table.n, 0);
    }
}

/* A row's name without its rest. */
#define ROW(name) name "\t1\t2\t-\t-\t10\t5\t-\tchat\n"

static void names_are_found_by_the_rules(void **state)
{
    static const char rows[] =
        ROW("a/m-1-5") ROW("a/n-20250101") ROW("b/x/y") ROW("c/m-latest") ROW("d/m");
    static const char rules[] = "strip\tvia/\nsame\told/\ta/\nbare\tc/\nbare\td/\nsame\tw/\td/\n";
    static const struct {
        const char *name;
        const char *row; /* NULL: none */
    } cases[] = {
        {"a/m-1-5", "a/m-1-5"},
        {"A/M-1.5", "a/m-1-5"},
        {"a/m-1.5-20250929", "a/m-1-5"},
        {"a/m-1-5-2025-08-07", "a/m-1-5"},
        {"a/m-1-5-latest", "a/m-1-5"},
        {"a/m-1-5-2025092", NULL},
        {"a/m-1-5-2025-8-07", NULL},
        {"a/m-1-5-2025092x", NULL},
        {"a/m-1-5-newest", NULL},
        {"a/n-20250101", "a/n-20250101"},
        {"a/n", NULL},
        {"c/m-latest", "c/m-latest"},
        {"via/a/m-1-5", "a/m-1-5"},
        {"via/via/a/m-1-5", "a/m-1-5"},
        {"via/old/m-1.5", "a/m-1-5"},
        {"old/m-1-5", "a/m-1-5"},
        {"w/m", "d/m"},
        {"m", "d/m"},
        {"via/m", "d/m"},
        {"m-latest", "c/m-latest"},
        {"x/y", NULL},
        {"b/x/y", "b/x/y"},
        {"other/m", NULL},
        {"via/", NULL},
        {"", NULL},
    };
    CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_tables(rows, rules, &table, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct model_facts *facts = model_table_find(&table, cases[i].name);
        const char *row = facts != NULL ? facts->name : "none";

        if (strcmp(row, cases[i].row != NULL ? cases[i].row : "none") != 0)
            fail_msg("%s: found %s", cases[i].name, row);
    }
}

static void names_have_a_greatest_length(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
        CLEANUP(model_table_done) struct model_table longer = {NULL, 0, NULL, 0};
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf row = STRBUF_INIT;
        struct error err = ERROR_INIT;

        strbuf_append(&row, "a/");
        while (row.len < 300 + extra)
            strbuf_append_char(&row, 'x');
        strbuf_append(&row, "\t1\t2\t-\t-\t10\t5\t-\tchat\n");
        assert_int_equal(read_tables(row.text, NULL, &longer, &err), extra == 0 ? 0 : -1);
        assert_int_equal(read_tables(ROW("a/bc") ROW("a/bcd"), "strip\tvia/\n", &table, &err), 0);
        while (name.len < 296)
            strbuf_append(&name, "via/");
        strbuf_append(&name, extra == 0 ? "a/bc" : "a/bcd");
        assert_int_equal(model_table_find(&table, name.text) != NULL, extra == 0);
    }
}

static void rules_that_do_not_parse_are_refused(void **state)
{
    static const char *const rules[] = {"strip\tx/\ty/", "bare\tx/\ty/", "same\tx/\ty/\tz/",
                                        "bare\tx",       "same\tx\ty/",  "same"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        CLEANUP(model_table_done) struct model_table table = {NULL, 0, NULL, 0};
        struct error err = ERROR_INIT;

        if (read_tables(HEAD, rules[i], &table, &err) == 0)
            fail_msg("%s", rules[i]);
    }
}

static void features_go_by_the_last_rule_that_matches(void **state)
{
    static const struct {
        enum model_feature feature;
        const char *model;
        enum model_answer answer;
    } cases[] = {
        {MODEL_PLAIN_TEXT, "deepseek/deepseek-chat", MODEL_YES},
        {MODEL_PLAIN_TEXT, "openai/gpt-4o", MODEL_UNKNOWN},
        {MODEL_REASONING_BACK, "moonshot/Kimi-K3", MODEL_YES},
        {MODEL_EFFORT, "o3-mini", MODEL_YES},
        {MODEL_EFFORT, "openai/o4-mini", MODEL_YES},
        {MODEL_EFFORT, "openai/gpt-4o", MODEL_NO},
        {MODEL_EFFORT, "mine/foo3", MODEL_UNKNOWN},
        {MODEL_CACHE_RETENTION, "gpt-5.1", MODEL_YES},
        {MODEL_CACHE_RETENTION, "gpt-5-mini", MODEL_NO},
        {MODEL_CACHE_RETENTION, "gpt-5.1-codex-mini", MODEL_YES},
        {MODEL_CACHE_RETENTION, "azure/gpt-5.1-codex-mini", MODEL_NO},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(catalogue_ask_feature(test_catalogue(), cases[i].feature, cases[i].model),
                         cases[i].answer);
}

int model_table_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_has_the_facts_of_its_row),
        cmocka_unit_test(names_are_found_in_the_forms_that_agents_use),
        cmocka_unit_test(a_model_without_a_price_is_not_free),
        cmocka_unit_test(rows_that_do_not_parse_are_refused_by_line),
        cmocka_unit_test(an_operators_table_stands_alone),
        cmocka_unit_test(each_column_is_a_fact),
        cmocka_unit_test(other_rows_are_refused),
        cmocka_unit_test(names_are_found_by_the_rules),
        cmocka_unit_test(names_have_a_greatest_length),
        cmocka_unit_test(rules_that_do_not_parse_are_refused),
        cmocka_unit_test(features_go_by_the_last_rule_that_matches),
    };

    return cmocka_run_group_tests_name("model/model_table", tests, NULL, NULL);
}
