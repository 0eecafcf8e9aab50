/*
 * Every function here walks text that comes from outside: requests, models, sandboxes, files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/auth_challenge.h"
#include "client/sse.h"
#include "llm/json_repair.h"
#include "model/event/title.h"
#include "model/masking/mask_omission.h"
#include "model/masking/masker.h"
#include "model/plugins/front_matter.h"
#include "model/plugins/mcp_file.h"
#include "model/plugins/skill_file.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_reference.h"
#include "model/secrets/secret_registry.h"
#include "model/tools/tool_repair.h"
#include "sandbox/editor/line_diff.h"
#include "sandbox/terminal/shell_split.h"
#include "sandbox/terminal/terminal_text.h"
#include "unit/linear/linear.h"

static void run_json(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;

    if (json_parse(text, len, &json, &err) < 0)
        assert_null(json);
}

static const char *const json_texts[] = {"|[|",           "[|1,|1]",    "\"|a|\"",
                                         "\"|\\u0061|\"", "\"|\\\\|\"", "[|\"a\", |\"b\"]",
                                         "| |",           "|a|",        "{\"a\":\"|\xc3\xa9|\"}",
                                         "\"|\xff|\"",    NULL};

static void run_lenient_json(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;

    if (json_parse_lenient(text, len, &json, &err) < 0)
        assert_null(json);
}

static const char *const lenient_texts[] = {
    "\"|\\ud800|\"", "\"|\\u0000|\"", "\"|\xff|\"", "\"|\xed\xa0\x80|\"",
    "|\\ud8|",       "[|1,|1]",       NULL};

static void run_repair(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *arguments = tool_repair_parse(text, &out);

    (void)len;
    (void)arguments;
}

static const char *const argument_texts[] = {"{\"a\":\"|\n|\"}",
                                             "{\"a\":\"|\x01|\"}",
                                             "{|\"|",
                                             "{\"a\":\"|\\\"|\"}",
                                             "{\"a\":|[|",
                                             "|{|",
                                             NULL};

/* Names in which words of secrets are looked for, and values that are copied. */
static void run_redact(const char *text, size_t len)
{
    json_auto_t *object = json_object();
    json_auto_t *copy = NULL;
    json_t *value = json_text(text, len);

    json_put(object, json_string_value(value), json_incref(value));
    json_put(object, "a", value);
    copy = redact_copy(object);
    assert_non_null(copy);
}

static void run_front_matter(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *head = NULL;
    const char *body = NULL;

    (void)len;
    if (front_matter_read(text, &head, &body, &err) < 0)
        assert_null(head);
}

static const char *const head_texts[] = {"---\n|a: b\n|---\n",
                                         "---\na: [|\"b\", |]\n---\n",
                                         "---\na: [|b, |\n---\n",
                                         "---\na:\n|  - b\n|---\n",
                                         "---\na: >\n|  b\n|---\n",
                                         "---\na: |b #|\n---\n",
                                         "---\na: \"|\\\"|\"\n---\n",
                                         "---\n| |\n---\n",
                                         "---\na: >\n|\n|---\n",
                                         "---\n|#|\n---\n",
                                         "---\na: |[|\n---\n",
                                         "---\na: [|{a: |\n---\n",
                                         "---\na: |&b |\n---\n",
                                         "---\na: b\n|  c: d\n|---\n",
                                         "---\n|:|\n---\n",
                                         "---\na: [|'|\n---\n",
                                         "|---\n|",
                                         "---\n|\xff|\n---\n",
                                         NULL};

static void run_skill(const char *text, size_t len)
{
    json_auto_t *skill = skill_from_file(SKILL_FILE, "/a.md", text);
    json_auto_t *agent = sub_agent_from_file("/a.md", text, "user");

    (void)len;
    (void)skill;
    (void)agent;
}

static void run_title(const char *text, size_t len)
{
    CLEANUP(mem_freep) char *said = title_from_text(text);
    CLEANUP(mem_freep) char *answered = title_from_answer(text);

    (void)len;
    (void)said;
    (void)answered;
}

static void run_utf8(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    utf8_append_repaired(&out, text, len);
    assert_true(utf8_is_valid(out.text, out.len));
    assert_true(utf8_offset(out.text, out.len, SIZE_MAX) == out.len);
}

static void run_decoders(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    percent_decode(&out, text, len, ' ');
    percent_append(&out, text);
    shell_word_append(&out, text);
    if (base64_decode(text, len, &out, &err) < 0 || base64url_decode(text, &out, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
}

static void run_masker(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct masker *masker = masker_new();
    char run[400];

    memset(run, 'a', sizeof(run) - 2);
    run[sizeof(run) - 2] = 'b';
    run[sizeof(run) - 1] = '\0';
    masker_add(masker, run);
    masker_add(masker, "abababababababababababababababac");
    masker_add(masker, "swordfish 4711");
    masker_append(masker, text, len, &out);
    masker_free(masker);
}

static const char *const masked_texts[] = {
    "|a|", "|ab|", "|swordfish |", "|swordfish 4711|", "|YWFh|", "|6161 |", "|%61|", "|\\u0061|",
    "|a\n|", "|\"a'|", "|\\\\|", "|%2|", "a|\n|", "|\\ud83d|",
    /* parts were left out of these */
    "<response clipped></NOTE>|a|", "<response clipped></NOTE>|\n|",
    "|<response clipped>a</NOTE>ab|", NULL};

static void run_names(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *update = json_object();

    (void)len;
    json_put_text(update, "A", text);
    secret_registry_append_unmasked(update, &out);
}

static void run_sse(const char *text, size_t len)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(len + 1);
    struct sse_input input = {text, len};
    struct sse_event event = {"", "", 0};
    struct error err = ERROR_INIT;

    while (event.data != NULL && sse_next(&sse, &input, &event, &err) == 0) {
    }
}

static const char *const event_streams[] = {"|data: a\n\n|",
                                            "data: |a|\n\n",
                                            "|\n|",
                                            "|\r|",
                                            "|data: a\n|\n",
                                            "|:\n|",
                                            "|event: a\n|",
                                            "|data: a\r\n\r\n|",
                                            "|data|",
                                            "|id: 1\n|",
                                            NULL};

static void run_statements(const char *text, size_t len)
{
    struct shell_statement statements[SHELL_STATEMENTS_MAX];
    size_t n = shell_split(text, statements);

    assert_true(n <= SHELL_STATEMENTS_MAX + 1);
    assert_true(len > 0 || !terminal_text_is_literal(text));
}

static const char *const scripts[] = {"|a\n|",
                                      "|a;|",
                                      "|(|",
                                      "|((|",
                                      "|{|",
                                      "|$(|",
                                      "|\"$(|",
                                      "|'|",
                                      "|<<E\n|",
                                      "|<<E <<F|",
                                      "|case a in|",
                                      "|if |",
                                      "|#\n|",
                                      "|\\\n|",
                                      "|a && |",
                                      "|$'|",
                                      "|`|",
                                      "|${a|",
                                      "cat <<E\n|a\n|E",
                                      "cat <<EEEE\n|EEE\n|",
                                      "|for |",
                                      "|[[|",
                                      NULL};

static void run_line_diff(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    strbuf_append_bytes(&before, text, len);
    strbuf_append(&before, "\nx\n");
    line_diff_append(&out, "a", before.text, text);
}

static void run_mcp_file(const char *text, size_t len)
{
    json_auto_t *found = json_object();
    json_auto_t *problems = json_array();

    (void)len;
    mcp_file_read(text, "/w/.mcp.json", NULL, found, problems);
}

static const char *const mcp_files[] = {"{\"a\":{\"command\":\"|x|\"}}",
                                        "{\"a\":{\"command\":\"x\",\"args\":[|\"b\",|1]}}",
                                        "{\"|a|\":{}}",
                                        "{\"a\":{\"url\":\"https://|\xc3\xa9|\"}}",
                                        "[|[|",
                                        NULL};

static void run_references(const char *text, size_t len)
{
    json_auto_t *names = json_object();
    json_auto_t *value = json_text(text, len);

    secret_reference_add_names(value, names);
}

static const char *const references[] = {"|$A|", "|${A|", "|${A:-|", "|${A:-x}|", "|${|", NULL};

static void run_challenge(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)len;
    auth_challenge_append(&out, text, "scope");
}

static const char *const challenges[] = {"|scope|",     "|a=\"b\", |", "|\"|", "a=\"|\\\\|\"",
                                         "|scope =x |", "|scop|",      NULL};

static void time_is_linear_in_the_text(void **state)
{
    static const struct linear_function functions[] = {
        {"json_parse", run_json, json_texts, 0, 0},
        {"json_parse_lenient", run_lenient_json, lenient_texts, 0, 0},
        {"tool_repair_parse", run_repair, argument_texts, 0, 0},
        {"redact_copy", run_redact, linear_any_text, 0, 0},
        {"front_matter_read", run_front_matter, head_texts, 6000, 1000},
        {"skill_from_file", run_skill, head_texts, 6000, 1000},
        {"title_from_text", run_title, linear_any_text, 0, 0},
        {"utf8_append_repaired", run_utf8, linear_any_text, 0, 0},
        {"percent_decode", run_decoders, linear_any_text, 0, 0},
        {"masker_append", run_masker, masked_texts, 0, 0},
        {"masker_append", run_masker, linear_any_text, 0, 0},
        {"secret_registry_append_unmasked", run_names, linear_any_text, 0, 0},
        {"sse_next", run_sse, event_streams, 0, 0},
        {"mcp_file_read", run_mcp_file, mcp_files, 0, 0},
        {"secret_reference_add_names", run_references, references, 0, 0},
        {"auth_challenge_append", run_challenge, challenges, 0, 0},
        {"statements_split", run_statements, scripts, 0, 0},
        {"statements_split", run_statements, linear_any_text, 0, 0},
        {"line_diff_append", run_line_diff, linear_any_text, 0, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_the_text),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
