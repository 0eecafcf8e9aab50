#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/prompt/prompt.h"
#include "model/prompt/prompt_context.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

static void start_with(struct conversation *conversation, const char *agent)
{
    json_auto_t *request = json_of("{'workspace': {'working_dir': '/w'}}");

    json_put(request, "agent", json_of(agent));
    start_conversation(request, conversation, NULL);
}

static void assert_order(const char *text, const char *const *parts, size_t n)
{
    const char *p = text;

    for (size_t i = 0; i < n; i++) {
        const char *found = strstr(p, parts[i]);

        if (found == NULL)
            fail_msg("%s is missing or out of order", parts[i]);
        p = found != NULL ? found : "";
    }
}

static void sections_stand_in_order(void **state)
{
    static const char *const tags[] = {"<SOUL>",
                                       "<ROLE>",
                                       "<MEMORY>",
                                       "<EFFICIENCY>",
                                       "<FILE_SYSTEM_GUIDELINES>",
                                       "<CODE_QUALITY>",
                                       "<VERSION_CONTROL>",
                                       "<PULL_REQUESTS>",
                                       "<PROBLEM_SOLVING_WORKFLOW>",
                                       "<SECURITY>",
                                       "<SECURITY_RISK_ASSESSMENT>",
                                       "<EXTERNAL_SERVICES>",
                                       "<ENVIRONMENT_SETUP>",
                                       "<TROUBLESHOOTING>",
                                       "<PROCESS_MANAGEMENT>",
                                       "</PROCESS_MANAGEMENT>"};
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;

    (void)state;
    start_default(&conversation);
    prompt_append(test_catalogue(), &conversation, &prompt);
    assert_order(prompt.text, tags, ARRAY_SIZE(tags));
    assert_null(strstr(prompt.text, "<IMPORTANT>"));
}

static void persona_replaces_who_and_how(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;

    (void)state;
    start_with(&conversation, "{'llm': {}, 'persona': 'You are a poet.'}");
    prompt_append(test_catalogue(), &conversation, &prompt);
    assert_int_equal(strncmp(prompt.text, "You are a poet.\n\n<MEMORY>", 24), 0);
    assert_null(strstr(prompt.text, "<ROLE>"));
    assert_null(strstr(prompt.text, "<TROUBLESHOOTING>"));
    assert_non_null(strstr(prompt.text, "<SECURITY>"));
}

static void own_prompt_replaces_all(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;

    (void)state;
    start_with(&conversation, "{'llm': {}, 'system_prompt': 'Be brief.', 'persona': 'x'}");
    prompt_append(test_catalogue(), &conversation, &prompt);
    assert_string_equal(prompt.text, "Be brief.");
}

static void switches_leave_sections_out(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;

    (void)state;
    start_with(&conversation, "{'llm': {'model': 'anthropic/claude-x'},"
                              " 'security_policy_filename': '',"
                              " 'system_prompt_kwargs': {'llm_security_analyzer': false}}");
    prompt_append(test_catalogue(), &conversation, &prompt);
    assert_null(strstr(prompt.text, "<SECURITY>"));
    assert_null(strstr(prompt.text, "<SECURITY_RISK_ASSESSMENT>"));
    assert_non_null(strstr(prompt.text, "<IMPORTANT>"));
}

/* The first block is the same for all conversations, so that providers can cache it. */
static void what_is_of_one_conversation_is_in_the_context(void **state)
{
    static const char *const parts[] = {
        "<REPO_CONTEXT>",   "<UNTRUSTED_CONTENT>", "[BEGIN repo]",
        "Build with make.", "</REPO_CONTEXT>",     "Be kind.",
        "<CUSTOM_SECRETS>", "- `$TOKEN`: for git", "<CURRENT_DATETIME>\n2026-01-01T00:00"};
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    (void)state;
    start_with(&conversation,
               "{'llm': {}, 'agent_context': {'system_message_suffix': 'Be kind.',"
               " 'current_datetime': '2026-01-01T00:00',"
               " 'secrets': {'TOKEN': {'kind': 'StaticSecret', 'value': 'v',"
               "  'description': 'for git'}},"
               " 'disabled_skills': ['off'],"
               " 'skills': [{'name': 'repo', 'content': 'Build with make.', 'trigger': null},"
               "  {'name': 'off', 'content': 'never'},"
               "  {'name': 'k', 'content': 'keyword', 'trigger': {'type': 'keyword'}}]}}");
    prompt_append_context(test_catalogue(), &conversation, &context);
    assert_order(context.text, parts, ARRAY_SIZE(parts));
    assert_null(strstr(context.text, "never"));
    assert_null(strstr(context.text, "keyword"));
}

static void conversation_without_anything_has_no_context(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    (void)state;
    start_default(&conversation);
    prompt_append_context(test_catalogue(), &conversation, &context);
    assert_string_equal(context.text, "");
}

int prompt_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_stand_in_order),
        cmocka_unit_test(persona_replaces_who_and_how),
        cmocka_unit_test(own_prompt_replaces_all),
        cmocka_unit_test(switches_leave_sections_out),
        cmocka_unit_test(what_is_of_one_conversation_is_in_the_context),
        cmocka_unit_test(conversation_without_anything_has_no_context),
    };

    return cmocka_run_group_tests_name("model/prompt", tests, NULL, NULL);
}
