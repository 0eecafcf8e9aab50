/*
 * Which sections a prompt and its context have, exactly; what the first events of a conversation
 * say besides.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "model/prompt/prompt.h"
#include "model/prompt/prompt_context.h"
#include "model/prompt/skills.h"
#include "unit/model/model_test.h"
#include "unit/support/json_path.h"
#include "unit/support/test_catalogue.h"

/* The names of the sections, that is, of the tags at the beginning of a line. */
static void append_sections(const char *prompt, struct strbuf *out)
{
    for (const char *at = prompt; at != NULL; at = strstr(at, "\n<")) {
        at += *at == '\n';
        if (*at == '<' && at[1] != '/')
            strbuf_appendf(out, "%s%.*s", out->len > 0 ? " " : "", (int)strcspn(at + 1, ">"),
                           at + 1);
    }
}

#define FIRST                                                                                      \
    "SOUL ROLE MEMORY EFFICIENCY FILE_SYSTEM_GUIDELINES CODE_QUALITY VERSION_CONTROL"              \
    " PULL_REQUESTS PROBLEM_SOLVING_WORKFLOW SELF_DOCUMENTATION"
#define LAST "EXTERNAL_SERVICES ENVIRONMENT_SETUP TROUBLESHOOTING PROCESS_MANAGEMENT"

static void make(const char *agent, struct conversation *conversation_out)
{
    conversation_out->spec = json_object();
    json_put(conversation_out->spec, "agent", json_of(agent));
}

static void prompts_have_the_sections_of_their_agent(void **state)
{
    static const struct {
        const char *agent;
        bool has_browser;
        const char *sections;
    } cases[] = {
        {"{}", false, FIRST " SECURITY SECURITY_RISK_ASSESSMENT " LAST},
        {"{'security_policy_filename': 'x'}", false,
         FIRST " SECURITY SECURITY_RISK_ASSESSMENT " LAST},
        {"{'security_policy_filename': ''}", false, FIRST " SECURITY_RISK_ASSESSMENT " LAST},
        {"{'system_prompt_kwargs': {'llm_security_analyzer': false}}", false,
         FIRST " SECURITY " LAST},
        {"{'tools': [{'name': 'browser_tool_set'}]}", true,
         FIRST " SECURITY SECURITY_RISK_ASSESSMENT BROWSER_TOOLS " LAST},
        {"{'tools': [{'name': 'browser_tool_set'}]}", false,
         FIRST " SECURITY SECURITY_RISK_ASSESSMENT " LAST},
        {"{'llm': {'model': 'anthropic/claude-x'}}", false,
         FIRST " SECURITY SECURITY_RISK_ASSESSMENT " LAST " IMPORTANT"},
        {"{'llm': {'model': 'anthropic/claude-x', 'model_canonical_name': 'gpt-4o'}}", false,
         FIRST " SECURITY SECURITY_RISK_ASSESSMENT " LAST},
        {"{'llm': {'model': 'x', 'model_canonical_name': 'claude-x'}}", false,
         FIRST " SECURITY SECURITY_RISK_ASSESSMENT " LAST " IMPORTANT"},
        {"{'persona': 'I am.'}", false,
         "MEMORY SECURITY SECURITY_RISK_ASSESSMENT EXTERNAL_SERVICES PROCESS_MANAGEMENT"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;

        make(cases[i].agent, &conversation);
        json_put(conversation.spec, "has_browser", json_boolean(cases[i].has_browser));
        strbuf_append(&prompt, "before ");
        prompt_append(test_catalogue(), &conversation, &prompt);
        append_sections(prompt.text + strlen("before "), &names);
        assert_string_equal(names.text, cases[i].sections);
    }
}

static bool prompt_has(const char *agent, enum catalogue_text text)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf part = STRBUF_INIT;
    const struct text_value values[] = {
        {"always_high", catalogue_text(test_catalogue(), TEXT_RISK_ALWAYS_HIGH)}};

    make(agent, &conversation);
    prompt_append(test_catalogue(), &conversation, &prompt);
    catalogue_append(test_catalogue(), text, "", values, ARRAY_SIZE(values), &part);
    return strstr(prompt.text, part.text) != NULL;
}

static void two_sections_have_two_forms(void **state)
{
    static const char with_memory[] = "{'agent_context': {'load_memory': true}}";
    static const char in_sandbox[] = "{'system_prompt_kwargs': {'cli_mode': false}}";

    (void)state;
    assert_true(prompt_has("{}", TEXT_MEMORY));
    assert_false(prompt_has("{}", TEXT_MEMORY_TIERS));
    assert_true(prompt_has(with_memory, TEXT_MEMORY_TIERS));
    assert_false(prompt_has(with_memory, TEXT_MEMORY));
    assert_true(prompt_has("{}", TEXT_RISK));
    assert_false(prompt_has("{}", TEXT_RISK_SANDBOX));
    assert_true(prompt_has(in_sandbox, TEXT_RISK_SANDBOX));
    assert_false(prompt_has(in_sandbox, TEXT_RISK));
}

static void contexts_have_what_is_given(void **state)
{
    static const struct {
        const char *context;
        const char *secrets;
        const char *sections;
        const char *has; /* NULL: nothing in particular */
    } cases[] = {
        {"{}", "{}", "", NULL},
        {"{'system_message_suffix': ' '}", "{}", "", NULL},
        {"{'skills': [{'name': 'a', 'content': 'A'}]}", "{}", "REPO_CONTEXT UNTRUSTED_CONTENT",
         "</UNTRUSTED_CONTENT>\n\n[BEGIN a]\nA\n[END a]\n</REPO_CONTEXT>"},
        {"{'skills': [{'name': 'a', 'content': 'A'}, {'name': 'b', 'content': 'B'}],"
         " 'system_message_suffix': 'S'}",
         "{}", "REPO_CONTEXT UNTRUSTED_CONTENT",
         "[END a]\n\n[BEGIN b]\nB\n[END b]\n</REPO_CONTEXT>\n\nS"},
        {"{'skills': [{'name': 'a', 'content': ''}, {'name': 'off', 'content': 'x'},"
         " {'name': 'k', 'content': 'x', 'trigger': {}}], 'disabled_skills': ['off']}",
         "{}", "", NULL},
        {"{}", "{'A': {'description': 'for a'}, 'B': {}, 'C': {'description': null}}",
         "CUSTOM_SECRETS", "- `$A`: for a\n- `$B`\n- `$C`"},
        {"{'current_datetime': 'now'}", "{}", "CURRENT_DATETIME",
         "<CURRENT_DATETIME>\nnow\n</CURRENT_DATETIME>"},
        {"{'current_datetime': 'now', 'system_message_suffix': 'S'}", "{'A': {}}",
         "CUSTOM_SECRETS CURRENT_DATETIME", "S\n\n<CUSTOM_SECRETS>"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
        json_t *registry = json_object();

        make("{}", &conversation);
        json_put(conversation_agent(&conversation), "agent_context", json_of(cases[i].context));
        json_put(registry, "secret_sources", json_of(cases[i].secrets));
        json_put(conversation.spec, "secret_registry", registry);
        prompt_append_context(test_catalogue(), &conversation, &context);
        append_sections(context.text, &names);
        assert_string_equal(names.text, cases[i].sections);
        if (cases[i].has != NULL && strstr(context.text, cases[i].has) == NULL)
            fail_msg("no %s in %s", cases[i].has, context.text);
        if (cases[i].sections[0] == '\0')
            assert_string_equal(context.text, "");
    }
}

/* --- the first events --- */

static void plan(struct conversation *conversation, const char *content, struct event_list *events,
                 struct conversation_change *change_out)
{
    json_auto_t *list = json_of(content);
    struct error err = ERROR_INIT;

    assert_int_equal(
        conversation_plan_message(conversation,
                                  &(struct planned_message){test_catalogue(), list, MESSAGE_ONLY},
                                  events, change_out, &err),
        0);
}

static void the_first_message_counts_the_models(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;

    (void)state;
    make("{'llm': {'model': 'm', 'usage_id': 'agent'},"
         " 'condenser': {'llm': {'model': 'c', 'usage_id': 'condenser'}}}",
         &conversation);
    plan(&conversation, "[]", &list, &change);
    assert_json_at(change.stats, "usage_to_metrics.agent.model_name", "\"m\"");
    assert_json_at(change.stats, "usage_to_metrics.condenser.model_name", "\"c\"");
    assert_json_at(change.stats, "usage_to_metrics.default", NULL);
    conversation_change_done(&change);
    assert_null(change.stats);
    conversation.is_begun = true;
    plan(&conversation, "[]", &list, &change);
    assert_null(change.stats);
    conversation_change_done(NULL);
}

static void a_model_without_names_is_counted_by_default(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;

    (void)state;
    make("{'llm': {}}", &conversation);
    plan(&conversation, "[]", &list, &change);
    assert_json_at(change.stats, "usage_to_metrics.default.model_name", "\"\"");
    assert_json_at(change.stats, "usage_to_metrics.condenser", NULL);
}

static void the_prompt_is_the_first_event(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    const json_t *event = NULL;

    (void)state;
    make("{'system_prompt': 'Be brief.', 'tools': [{'name': 'terminal'}],"
         " 'agent_context': {'system_message_suffix': 'S'}}",
         &conversation);
    plan(&conversation, "[]", &list, &change);
    event = list.items[0].json;
    assert_string_equal(json_text_or(json_object_get(event, "system_prompt"), "text", ""),
                        "Be brief.");
    assert_string_equal(json_text_or(json_object_get(event, "dynamic_context"), "text", ""), "S");
    assert_int_equal(json_array_size(json_object_get(event, "tools")), 1);
}

static void scripted_models_get_their_title_from_the_first_text(void **state)
{
    static const struct {
        const char *content;
        bool is_later; /* a message was there before */
        const char *title;
    } cases[] = {
        {"[{'text': 'Fix it'}]", false, "Fix it"},
        {"[{'image_urls': []}, {'text': ' '}, {'text': 'Fix it'}, {'text': 'x'}]", false, "Fix it"},
        {"[]", false, NULL},
        {"[{'text': ''}]", false, NULL},
        {"[{'text': 'Fix it'}]", true, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
        CLEANUP(conversation_change_done) struct conversation_change change =
            CONVERSATION_CHANGE_INIT;

        make("{'llm': {'model': 'scripted/hello'}}", &conversation);
        if (cases[i].is_later)
            conversation.last_user_message_id = uuid_random();
        plan(&conversation, cases[i].content, &list, &change);
        assert_false(change.wants_title);
        if (cases[i].title == NULL)
            assert_null(change.first_title);
        else
            assert_string_equal(change.first_title, cases[i].title);
    }
}

/* --- skills --- */

static void skills_are_called_by_their_words(void **state)
{
    static const struct {
        const char *context;
        const char *spec_skills; /* active before */
        const char *content;
        const char *names;
        size_t n_parts;
    } cases[] = {
        {"{'skills': [{'name': 'a', 'trigger': {'keywords': ['x']}},"
         " {'name': 'b', 'trigger': {'triggers': ['y']}}]}",
         "[]", "[{'text': 'x'}, {'text': 'y'}]", "['a', 'b']", 2},
        {"{'skills': [{'name': 'a', 'trigger': {'keywords': [5, 'z', 'x']}},"
         " {'name': 'b', 'trigger': {'keywords': ['y']}}]}",
         "[]", "[{'text': 'y'}]", "['b']", 1},
        /* a name is added once, with the first skill that has it */
        {"{'skills': [{'name': 'a', 'trigger': {'keywords': ['x']}},"
         " {'name': 'a', 'trigger': {'keywords': ['y']}}]}",
         "[]", "[{'text': 'x y'}]", "['a']", 1},
        {"{'skills': [{'name': 'a', 'trigger': {'keywords': ['x']}},"
         " {'name': 'b', 'trigger': {'keywords': ['x']}},"
         " {'name': 'c', 'trigger': {'keywords': ['x']}}], 'disabled_skills': ['a', 5]}",
         "['b']", "[{'text': 'x'}]", "['c']", 1},
        {"{'skills': [{'name': 'a', 'trigger': {'keywords': ['x']}}],"
         " 'user_message_suffix': 'S'}",
         "[]", "[{'text': 'q'}]", "[]", 1},
        {"{'skills': [{'name': 'a'}], 'user_message_suffix': ' '}", "[]", "[{'text': 'a'}]", "[]",
         0},
        {"{'skills': [{'name': 'a', 'trigger': {'keywords': ['xy']}}]}", "[]",
         "[{'text': 'x'}, {'text': 'y'}]", "[]", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(skill_texts_done) struct skill_texts texts = SKILL_TEXTS_INIT;
        json_auto_t *content = json_of(cases[i].content);

        make("{}", &conversation);
        json_put(conversation_agent(&conversation), "agent_context", json_of(cases[i].context));
        json_put(conversation.spec, "activated_knowledge_skills", json_of(cases[i].spec_skills));
        skills_for_message(test_catalogue(), &conversation, content, &texts);
        assert_json_is(texts.names, cases[i].names);
        assert_int_equal(json_array_size(texts.parts), cases[i].n_parts);
    }
    skill_texts_done(NULL);
}

static void a_skills_text_says_which_word_called_it(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(skill_texts_done) struct skill_texts texts = SKILL_TEXTS_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    const struct text_value values[] = {{"word", "y"}, {"content", "C"}};
    json_auto_t *content = json_of("[{'text': 'the y, the z'}]");

    (void)state;
    make("{'agent_context': {'skills': [{'name': 'a', 'content': 'C',"
         " 'trigger': {'keywords': ['x', 'y', 'z']}}]}}",
         &conversation);
    skills_for_message(test_catalogue(), &conversation, content, &texts);
    catalogue_append(test_catalogue(), TEXT_EXTRA_INFO, "", values, ARRAY_SIZE(values), &expected);
    assert_string_equal(json_text_or(json_array_get(texts.parts, 0), "text", ""), expected.text);
}

static void activated_skills_are_noted_once(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation none = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *content = json_array();
    json_auto_t *first = json_of("['a', 5, 'b']");
    json_auto_t *second = json_of("['b', 'c']");

    (void)state;
    event_add_pause(&list);
    make("{}", &conversation);
    assert_false(conversation_note_skills(&none, &list));
    assert_false(conversation_note_skills(&conversation, &list));
    (void)event_add_user_message_with(&list, content, first, content);
    (void)event_add_user_message_with(&list, content, second, content);
    assert_true(conversation_note_skills(&conversation, &list));
    assert_json_is(json_object_get(conversation.spec, "activated_knowledge_skills"),
                   "['a', 'b', 'c']");
    assert_false(conversation_note_skills(&conversation, &list));
}

int prompt_form_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_have_the_sections_of_their_agent),
        cmocka_unit_test(two_sections_have_two_forms),
        cmocka_unit_test(contexts_have_what_is_given),
        cmocka_unit_test(the_first_message_counts_the_models),
        cmocka_unit_test(a_model_without_names_is_counted_by_default),
        cmocka_unit_test(the_prompt_is_the_first_event),
        cmocka_unit_test(scripted_models_get_their_title_from_the_first_text),
        cmocka_unit_test(skills_are_called_by_their_words),
        cmocka_unit_test(a_skills_text_says_which_word_called_it),
        cmocka_unit_test(activated_skills_are_noted_once),
    };

    return cmocka_run_group_tests_name("model/prompt forms", tests, NULL, NULL);
}
