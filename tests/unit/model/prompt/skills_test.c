#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "model/prompt/skills.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

static void start_with_skills(struct conversation *conversation)
{
    json_auto_t *request =
        json_of("{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'agent_context': {"
                " 'user_message_suffix': 'Be quick.', 'disabled_skills': ['off'], 'skills': ["
                "  {'name': 'pdf', 'content': 'Use pdftotext.',"
                "   'trigger': {'type': 'keyword', 'keywords': ['pdf', 'acrobat']}},"
                "  {'name': 'off', 'content': 'never', 'trigger': {'type': 'keyword',"
                "   'keywords': ['pdf']}},"
                "  {'name': 'task', 'content': 'Do it so.', 'trigger': {'type': 'task',"
                "   'triggers': ['/task']}},"
                "  {'name': 'repo', 'content': 'always'}]}}}");

    start_conversation(request, conversation, NULL);
}

struct skill_case {
    const char *text;
    const char *names;
};

static void whole_words_call_for_skills(void **state)
{
    static const struct skill_case cases[] = {
        {"Read the PDF, please", "['pdf']"},
        {"pdf", "['pdf']"},
        {"pdfs and xpdf", "[]"},
        {"pdfs? no: (pdf)", "['pdf']"},
        {"acrobat pdf", "['pdf']"},
        {"run /task on the acrobat file", "['pdf', 'task']"},
        {"", "[]"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(skill_texts_done) struct skill_texts texts = SKILL_TEXTS_INIT;
        json_auto_t *content = json_array();
        json_auto_t *names = json_of(cases[i].names);

        json_push(content, text_content(cases[i].text));
        start_with_skills(&conversation);
        skills_for_message(test_catalogue(), &conversation, content, &texts);
        assert_json_equal(texts.names, names);
        assert_int_equal(json_array_size(texts.parts), json_array_size(names) + 1);
    }
}

static void skill_that_is_active_is_not_added_again(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(skill_texts_done) struct skill_texts texts = SKILL_TEXTS_INIT;
    json_auto_t *content = json_array();

    (void)state;
    json_push(content, text_content("pdf"));
    start_with_skills(&conversation);
    json_put(conversation.spec, "activated_knowledge_skills", json_of("['pdf']"));
    skills_for_message(test_catalogue(), &conversation, content, &texts);
    assert_int_equal(json_array_size(texts.names), 0);
}

/* The user's own words stay as they are. */
static void message_carries_the_skills_texts_beside_it(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_array();
    const json_t *message = NULL;
    const json_t *parts = NULL;

    (void)state;
    json_push(content, text_content("read the pdf"));
    start_with_skills(&conversation);
    conversation.last_seq = 1;
    conversation.is_begun = true;
    assert_int_equal(conversation_plan_message(
                         &conversation,
                         &(struct planned_message){test_catalogue(), content, MESSAGE_ONLY}, &list,
                         &change, &err),
                     0);
    message = list.items[0].json;
    parts = json_object_get(message, "extended_content");
    assert_non_null(strstr(json_text_or(json_array_get(parts, 0), "text", ""), "Use pdftotext."));
    assert_string_equal(json_text_or(json_array_get(parts, 1), "text", ""), "Be quick.");
    assert_json_equal(json_object_get(json_object_get(message, "llm_message"), "content"), content);
    assert_int_equal(json_array_size(json_object_get(message, "activated_skills")), 1);
    assert_true(conversation_note_skills(&conversation, &list));
    assert_false(conversation_note_skills(&conversation, &list));
    assert_json_equal(json_object_get(conversation.spec, "activated_knowledge_skills"),
                      json_object_get(message, "activated_skills"));
}

int skills_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_words_call_for_skills),
        cmocka_unit_test(skill_that_is_active_is_not_added_again),
        cmocka_unit_test(message_carries_the_skills_texts_beside_it),
    };

    return cmocka_run_group_tests_name("model/skills", tests, NULL, NULL);
}
