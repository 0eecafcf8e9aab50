/*
 * Skills that the agent opens.
 */
#include "worker/worker_test.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "support/json_path.h"
#include "support/test_catalogue.h"
#include "worker/events.h"
#include "worker/tools/worker_tool.h"

#define SKILL(name, content, more)                                                                 \
    "{\"name\": \"" name "\", \"content\": \"" content "\", \"is_agentskills_format\": true" more  \
    "}"
#define SOURCE(path) ", \"source\": \"" path "\""
#define GIVEN(skills) "{\"agent\": {\"agent_context\": {\"skills\": [" skills "]}}}"
#define FOUND(skills, given)                                                                       \
    "{\"project_skills\": [" skills "], \"agent\": {\"agent_context\": {\"skills\": [" given "]}}" \
    "}"

/* Opens the skill of that name in a conversation with that specification. */
static void open_skill(const char *spec, const char *action, struct strbuf *seen)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *input = test_json(action);
    json_auto_t *observation = NULL;
    bool is_changed = true;

    conversation.spec = test_json(spec);
    observation =
        worker_tool_run(test_catalogue(), &conversation, "invoke_skill", input, &is_changed);
    assert_non_null(observation);
    assert_false(is_changed);
    strbuf_reset(seen);
    json_append_text(seen, observation);
    assert_json_at(seen->text, "kind", "\"InvokeSkillObservation\"");
    assert_json_at(seen->text, "content[1]", NULL);
}

/* text: as JSON. */
static void assert_opens(const char *spec, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

    open_skill(spec, "{\"name\": \"deploy\"}", &seen);
    assert_json_at(seen.text, "content[0].text", text);
    assert_json_at(seen.text, "is_error", "false");
    assert_json_at(seen.text, "skill_name", "\"deploy\"");
}

static void assert_refused(const char *spec, const char *action, const char *name, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

    open_skill(spec, action, &seen);
    assert_json_at(seen.text, "content[0].text", text);
    assert_json_at(seen.text, "is_error", "true");
    assert_json_at(seen.text, "skill_name", name);
}

static void opened_skill_tells_its_folder(void **state)
{
    (void)state;
    assert_opens(
        GIVEN(SKILL("test", "T", "") ", " SKILL("deploy", "Run it.", SOURCE("/w/deploy/SKILL.md"))),
        "\"Instructions of the skill \\\"deploy\\\":\\n\\nRun it.\\n\\nThe folder of this skill is"
        " `/w/deploy`: relative paths in it begin there.\"");
}

/* Only a path of the sandbox's is one. */
static void skill_without_a_folder_tells_none(void **state)
{
    static const char *const skills[] = {
        SKILL("deploy", "Run it.", ""),
        SKILL("deploy", "Run it.", SOURCE("")),
        SKILL("deploy", "Run it.", SOURCE("SKILL.md")),
        SKILL("deploy", "Run it.", SOURCE("github:a/b")),
        SKILL("deploy", "Run it.", ", \"source\": null"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(skills); i++) {
        CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;

        strbuf_appendf(&spec, GIVEN("%s"), skills[i]);
        assert_opens(spec.text, "\"Instructions of the skill \\\"deploy\\\":\\n\\nRun it.\"");
    }
}

static void skill_of_the_project_replaces_the_given_one(void **state)
{
    (void)state;
    assert_opens(FOUND(SKILL("deploy", "new", ""), SKILL("deploy", "old", "")),
                 "\"Instructions of the skill \\\"deploy\\\":\\n\\nnew\"");
    assert_opens(FOUND(SKILL("test", "new", ""), SKILL("deploy", "old", "")),
                 "\"Instructions of the skill \\\"deploy\\\":\\n\\nold\"");
    assert_opens(FOUND(SKILL("deploy", "new", ""), ""),
                 "\"Instructions of the skill \\\"deploy\\\":\\n\\nnew\"");
}

#define CLOSED                                                                                     \
    "{\"name\": \"deploy\", \"content\": \"x\"},"                                                  \
    " {\"name\": \"deploy\", \"content\": \"x\", \"is_agentskills_format\": false}, " SKILL(       \
        "deploy", "x", ", \"disable_model_invocation\": true")

static void skill_that_is_not_open_is_unknown(void **state)
{
    (void)state;
    assert_refused(FOUND(SKILL("a", "", "") ", " CLOSED, SKILL("b", "", "") ", " CLOSED),
                   "{\"name\": \"deploy\"}", "\"deploy\"",
                   "\"There is no skill named \\\"deploy\\\". These can be opened: a, b.\"");
    assert_refused(GIVEN(SKILL("a", "", ", \"disable_model_invocation\": false")), "{}", "\"\"",
                   "\"There is no skill named \\\"\\\". These can be opened: a.\"");
}

static void conversation_without_skills_says_so(void **state)
{
    static const char *const specs[] = {"{}", GIVEN(""), GIVEN(CLOSED), FOUND(CLOSED, "")};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
        assert_refused(specs[i], "{\"name\": \"deploy\"}", "\"deploy\"",
                       "\"There is no skill that can be opened.\"");
}

int invoke_skill_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_skill_tells_its_folder),
        cmocka_unit_test(skill_without_a_folder_tells_none),
        cmocka_unit_test(skill_of_the_project_replaces_the_given_one),
        cmocka_unit_test(skill_that_is_not_open_is_unknown),
        cmocka_unit_test(conversation_without_skills_says_so),
    };

    return cmocka_run_group_tests_name("invoke_skill", tests, NULL, NULL);
}
