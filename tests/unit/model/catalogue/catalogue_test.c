#include "model/catalogue/catalogue.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text_folder.h"
#include "model/catalogue/catalogue_texts.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

static int read_template(const char *text, const struct text_rules *rules,
                         struct text_template *template_out, struct error *err)
{
    CLEANUP(mem_freep) char *copy = mem_dup_text(text);
    const struct text_file file = {
        .name = NULL, .path = (char[]){"x.txt"}, .text = copy, .len = strlen(text)};

    return text_template_read(&file, rules, template_out, err);
}

static void parts_and_values_are_filled_in_once(void **state)
{
    const struct text_rules rules = {.parts = "more", .optional = "last", .values = "a|b"};
    const struct text_value values[] = {{"a", "{{b}}"}, {"b", "B"}};
    CLEANUP(text_template_done) struct text_template template = {NULL, 0};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(
        read_template("One {{a}},\n{ {b} }.\n\n@@ more\n\n{{b}}{{b}}\n", &rules, &template, &err),
        0);
    text_template_append(&template, "", values, 2, &text);
    assert_string_equal(text.text, "One {{b}},\n{ {b} }.");
    strbuf_reset(&text);
    text_template_append(&template, "more", values, 2, &text);
    assert_string_equal(text.text, "BB");
    assert_string_equal(text_template_part(&template, "last"), "");
}

static void faults_name_the_file_and_the_line(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"a\n{{c}}\n@@ more\nx", "x.txt:2: no value is called \"c\""},
        {"a\n@@ more\n\n{{ a }}", "x.txt:4: no value is called \" a \""},
        {"a\n@@ more\n{{a", "x.txt:3: \"{{\" without a name and \"}}\""},
        {"a\n{{a\n}}\n@@ more\nx", "x.txt:2: \"{{\" without a name and \"}}\""},
        {"a\nb\n{{a}}\n\n@@ more\nx\ny {{c}}", "x.txt:7: no value is called \"c\""},
        {"a {{a}} {{c}}\n@@ more\nx", "x.txt:1: no value is called \"c\""},
        {"a {{a}", "x.txt:1: \"{{\" without a name and \"}}\""},
        {"a {{}}", "x.txt:1: no value is called \"\""},
        {"a {{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}",
         "x.txt:1: no value is called \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaa\""},
        {"a {{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}",
         "x.txt:1: \"{{\" without a name and \"}}\""},
        {"a\n@@ other\nx", "x.txt:2: no part is called \"other\""},
        {"a\n@@ \nx", "x.txt:2: no part is called \"\""},
        {"a\n@@ more\nx\n@@ more\ny", "x.txt:4: the part \"more\" was there before"},
        {"a\n", "x.txt: the part \"more\" is missing or empty"},
        {"a\n@@ more\n\n", "x.txt: the part \"more\" is missing or empty"},
        {"\n@@ more\nx", "x.txt:1: the file must begin with its text"},
    };
    const struct text_rules rules = {.parts = "more", .values = "a|b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(text_template_done) struct text_template template = {NULL, 0};
        struct error err = ERROR_INIT;

        assert_int_equal(read_template(cases[i].text, &rules, &template, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].words);
    }
}

/* No file of the source tree has a text that cannot be rendered. */
static void every_file_is_read_and_rendered(void **state)
{
    const struct catalogue *catalogue = test_catalogue();

    (void)state;
    for (size_t i = 0; i < CATALOGUE_N_TEXTS; i++) {
        const struct text_template *template =
            catalogue_template(catalogue, (enum catalogue_text)i);

        for (size_t j = 0; j < template->n; j++) {
            CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

            if (j == 0 && text_sources[i].rules.has_only_parts)
                continue;
            text_template_append(template, template->parts[j].name, NULL, 0, &text);
            assert_true(text.len > 0);
            assert_null(strstr(text.text, "{{"));
        }
    }
}

/* The value of each declared name occurs in its file. */
static void every_value_is_used(void **state)
{
    const struct catalogue *catalogue = test_catalogue();

    (void)state;
    for (size_t i = 0; i < CATALOGUE_N_TEXTS; i++) {
        const struct text_template *template =
            catalogue_template(catalogue, (enum catalogue_text)i);
        const char *name = text_sources[i].rules.values;

        while (name != NULL && *name != '\0') {
            size_t len = strcspn(name, "|");
            CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
            bool is_used = false;

            strbuf_appendf(&value, "{{%.*s}}", (int)len, name);
            for (size_t j = 0; j < template->n; j++)
                is_used = is_used || strstr(template->parts[j].text, value.text) != NULL;
            assert_true(is_used);
            name += name[len] == '|' ? len + 1 : len;
        }
    }
}

static void the_first_family_that_matches_counts(void **state)
{
    const struct catalogue *catalogue = test_catalogue();

    (void)state;
    assert_non_null(strstr(catalogue_family_text(catalogue, "gpt-5"), "Begin a response"));
    assert_null(strstr(catalogue_family_text(catalogue, "gpt-5-codex"), "Begin a response"));
    assert_non_null(strstr(catalogue_family_text(catalogue, "anthropic/claude-x"), "Do exactly"));
    assert_string_equal(catalogue_family_text(catalogue, "gpt-4o"), "");
    assert_string_equal(catalogue_family_text(catalogue, "unknown"), "");
}

/* --- folders --- */

/* Replaces or, with NULL, removes a file of the source tree's folder. */
static void change(struct text_folder *folder, const char *name, const char *text)
{
    for (size_t i = 0; i < folder->n; i++) {
        struct text_file *file = &folder->files[i];

        if (strcmp(file->name, name) != 0)
            continue;
        mem_free(file->text);
        file->text = mem_dup_text(text != NULL ? text : "");
        if (text == NULL)
            file->name[0] = '-';
        return;
    }
    folder->files = mem_resize(folder->files, (folder->n + 1) * sizeof(*folder->files));
    folder->files[folder->n++] = (struct text_file){.name = mem_dup_text(name),
                                                    .path = mem_dup_text(name),
                                                    .text = mem_dup_text(text),
                                                    .is_override = true};
}

static int read_changed(const char *name, const char *text, struct catalogue **catalogue_out,
                        struct error *err)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;

    assert_int_equal(text_folder_read(TEST_CATALOGUE_DIR, "", &folder, err), 0);
    change(&folder, name, text);
    return catalogue_new(&folder, catalogue_out, err);
}

static void an_override_replaces_one_text(void **state)
{
    CLEANUP(catalogue_freep) struct catalogue *catalogue = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_changed("prompt/soul.txt", "You are Ada.\n", &catalogue, &err), 0);
    assert_string_equal(catalogue_text(catalogue, TEXT_SOUL), "You are Ada.");
    assert_string_equal(catalogue_text(catalogue, TEXT_ROLE),
                        catalogue_text(test_catalogue(), TEXT_ROLE));
}

static void an_override_adds_a_family(void **state)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    CLEANUP(catalogue_freep) struct catalogue *catalogue = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(text_folder_read(TEST_CATALOGUE_DIR, "", &folder, &err), 0);
    change(&folder, "prompt/families.tsv", "# ours\nqwen\tqwen\n");
    change(&folder, "prompt/important_qwen.txt", "Think.\n");
    assert_int_equal(catalogue_new(&folder, &catalogue, &err), 0);
    assert_string_equal(catalogue_family_text(catalogue, "qwen3-coder"), "Think.");
    assert_string_equal(catalogue_family_text(catalogue, "claude-x"), "");
}

/* Files that a catalogue may have besides its texts. */
static void tables_may_be_overridden(void **state)
{
    static const char *const names[] = {"prompt/families.tsv", "models.tsv", "model_names.tsv",
                                        "model_features.tsv", "prompt/important_new.txt"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
        CLEANUP(catalogue_freep) struct catalogue *catalogue = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(text_folder_read(TEST_CATALOGUE_DIR, "", &folder, &err), 0);
        change(&folder, names[i], "# nothing\n");
        for (size_t j = 0; j < folder.n; j++) {
            if (strcmp(folder.files[j].name, names[i]) == 0)
                folder.files[j].is_override = true;
        }
        if (catalogue_new(&folder, &catalogue, &err) < 0)
            fail_msg("%s", err.message);
    }
}

static void features_are_read_from_the_table(void **state)
{
    static const struct {
        enum model_feature feature;
        const char *model;
        enum model_answer answer;
    } cases[] = {
        {MODEL_PLAIN_TEXT, "x-ab", MODEL_YES},      {MODEL_PLAIN_TEXT, "ABC", MODEL_NO},
        {MODEL_PLAIN_TEXT, "xabc", MODEL_YES},      {MODEL_PLAIN_TEXT, "a", MODEL_UNKNOWN},
        {MODEL_REASONING_BACK, "r", MODEL_YES},     {MODEL_EFFORT, "e", MODEL_NO},
        {MODEL_CACHE_RETENTION, "c", MODEL_YES},    {MODEL_CACHE_RETENTION, "r", MODEL_UNKNOWN},
        {MODEL_REASONING_BACK, "ab", MODEL_UNKNOWN}};
    CLEANUP(catalogue_freep) struct catalogue *catalogue = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_changed("model_features.tsv",
                                  "plain_text\tyes\tAb\nplain_text\tno\t^abc\n"
                                  "reasoning_back\tyes\tr\neffort\tno\te\n\n# c\n"
                                  "cache_retention\tyes\tc",
                                  &catalogue, &err),
                     0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (catalogue_ask_feature(catalogue, cases[i].feature, cases[i].model) != cases[i].answer)
            fail_msg("%s", cases[i].model);
    }
}

static void a_folder_that_does_not_parse_is_refused(void **state)
{
    static const struct {
        const char *name;
        const char *text;
        const char *words;
    } cases[] = {
        {"prompt/soul.txt", NULL, "the catalogue has no file prompt/soul.txt"},
        {"prompt/sole.txt", "You are Ada.", "prompt/sole.txt: the catalogue has no file of this"},
        {"tools/terminal.txt", "Runs.\n@@ command\nx\n", "the part \"is_input\" is missing"},
        {"instructions/goal.txt", "a {{objectives}}", ":1: no value is called \"objectives\""},
        {"model_features.tsv", "# x\neffort\tyes\n", "model_features.tsv:2: a rule is"},
        {"model_features.tsv", "taste\tyes\tgpt\n", ":1: no feature is called \"taste\""},
        {"models.tsv", NULL, "the catalogue has no file models.tsv"},
        {"model_names.tsv", NULL, "the catalogue has no file model_names.tsv"},
        {"model_features.tsv", NULL, "the catalogue has no file model_features.tsv"},
        {"model_features.tsv", "effort\tmaybe\tgpt\n", ":1: a rule is"},
        {"model_features.tsv", "effort\tyes\t\n", ":1: a rule is"},
        {"model_features.tsv", "effort\tno\tgpt\tmore\n", ":1: a rule is"},
        {"prompt/families.tsv", "\tgpt\n", "families.tsv:1: a row is"},
        {"prompt/families.tsv", "a\t-\tb\n", "families.tsv:1: a row is"},
        {"tools/all_tools.txt", "Text.\n@@ security_risk\nx\n@@ summary\nx\n",
         ":1: the file must begin with its first part"},
        {"prompt/families.tsv", NULL, "the catalogue has no file prompt/families.tsv"},
        {"prompt/families.tsv", "gpt-\t-\nqwen\n", "families.tsv:2: a row is"},
        {"prompt/families.tsv", "qwen\tqwen\n", ":1: there is no file prompt/important_qwen.txt"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(catalogue_freep) struct catalogue *catalogue = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(read_changed(cases[i].name, cases[i].text, &catalogue, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        if (strstr(err.message, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].words, err.message);
    }
}

int catalogue_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_values_are_filled_in_once),
        cmocka_unit_test(faults_name_the_file_and_the_line),
        cmocka_unit_test(every_file_is_read_and_rendered),
        cmocka_unit_test(every_value_is_used),
        cmocka_unit_test(the_first_family_that_matches_counts),
        cmocka_unit_test(an_override_replaces_one_text),
        cmocka_unit_test(an_override_adds_a_family),
        cmocka_unit_test(tables_may_be_overridden),
        cmocka_unit_test(features_are_read_from_the_table),
        cmocka_unit_test(a_folder_that_does_not_parse_is_refused),
    };

    return cmocka_run_group_tests_name("model/catalogue", tests, NULL, NULL);
}
