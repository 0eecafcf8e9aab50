/*
 * References to secrets in configurations and arguments.
 */
#include "worker/agent/mcp/variables.h"

#include <jansson.h>

#include "base/json.h"
#include "support/json_path.h"
#include "worker/agent/core/secret_list.h"
#include "worker/mcp/mcp_test.h"

#define SAYS "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"

static void assert_expands(struct agent *agent, const char *json, const char *expected)
{
    json_auto_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    json_auto_t *expanded = variables_expand(agent, value);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT;

    json_append_text(&before, value);
    json_append_text(&text, expanded);
    if (json_is_string(expanded))
        assert_string_equal(text.text, expected);
    else
        assert_json_at(text.text, "", expected);
    json_append_text(&after, value);
    assert_string_equal(before.text, after.text);
}

static void references_to_secrets_are_replaced(void **state)
{
    static const struct {
        const char *value;
        const char *expanded;
    } cases[] = {
        {"\"$KEY\"", "\"of-the-key\""},
        {"\"${KEY}\"", "\"of-the-key\""},
        {"\"a$KEY-b\"", "\"aof-the-key-b\""},
        {"\"$KEY$KEY\"", "\"of-the-keyof-the-key\""},
        {"\"$KEYS\"", "\"$KEYS\""},
        {"\"$KE\"", "\"$KE\""},
        {"\"$key\"", "\"$key\""},
        {"\"${KEY:-x}\"", "\"of-the-key\""},
        {"\"${NONE:-x y}!\"", "\"x y!\""},
        {"\"${NONE:-}!\"", "\"!\""},
        {"\"${NONE}\"", "\"${NONE}\""},
        {"\"${NONE:-x\"", "\"${NONE:-x\""},
        {"\"${KEY\"", "\"${KEY\""},
        {"\"${KEY:x}\"", "\"${KEY:x}\""},
        {"\"$\"", "\"$\""},
        {"\"$$KEY\"", "\"$of-the-key\""},
        {"\"${}\"", "\"${}\""},
        {"\"$1KEY\"", "\"$1KEY\""},
        {"\"plain\"", "\"plain\""},
        {"\"$_K9\"", "\"nine\""},
    };
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");

    claimed_agent_begin(&claimed, fixture, &id);
    secret_list_set(&claimed.agent.secrets, "KEY", "of-the-key");
    secret_list_set(&claimed.agent.secrets, "_K9", "nine");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_expands(&claimed.agent, cases[i].value, cases[i].expanded);
    assert_expands(&claimed.agent,
                   "{\"$KEY\": [\"$KEY\", 1, null, {\"a\": \"${KEY}\"}], \"b\": true}",
                   "{\"$KEY\": [\"of-the-key\", 1, null, {\"a\": \"of-the-key\"}], \"b\": true}");
    claimed_agent_end(&claimed);
}

/* A longer text is no reference. */
static void text_of_a_reference_has_at_most_1_kb(void **state)
{
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");

    claimed_agent_begin(&claimed, fixture, &id);
    for (size_t n = 1024; n <= 1025; n++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

        for (size_t i = 0; i < n; i++)
            strbuf_append_char(&text, 'x');
        strbuf_appendf(&value, "\"${NONE:-%s}\"", text.text);
        strbuf_appendf(&expected, "\"%s\"", text.text);
        assert_expands(&claimed.agent, value.text, n == 1024 ? expected.text : value.text);
    }
    claimed_agent_end(&claimed);
}

static void nothing_stays_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");

    claimed_agent_begin(&claimed, fixture, &id);
    assert_null(variables_expand(&claimed.agent, NULL));
    claimed_agent_end(&claimed);
}

/* The value that a name had before a client changed it. */
static void old_values_have_no_name(void **state)
{
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");

    claimed_agent_begin(&claimed, fixture, &id);
    secret_list_set(&claimed.agent.secrets, "KEY", "of-the-key");
    secret_list_set(&claimed.agent.secrets, "KEY", "another-key");
    assert_expands(&claimed.agent, "\"$KEY\"", "\"another-key\"");
    claimed_agent_end(&claimed);
}

int variables_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_to_secrets_are_replaced),
        cmocka_unit_test(text_of_a_reference_has_at_most_1_kb),
        cmocka_unit_test(nothing_stays_nothing),
        cmocka_unit_test(old_values_have_no_name),
    };

    return cmocka_run_group_tests_name("worker/variables", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
