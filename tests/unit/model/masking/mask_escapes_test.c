/*
 * What escapes mean, and which need more text; what a visitor of texts tells.
 */
#include "model/masking/mask_escapes.h"

#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/masking/event_text.h"
#include "unit/model/model_test.h"

struct decode_case {
    const char *text;
    size_t n_read;
    const char *bytes;
};

static void assert_decoded(mask_decode *decode, const struct decode_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct mask_decoded decoded = decode(cases[i].text, strlen(cases[i].text));

        if (decoded.n_read != cases[i].n_read || decoded.n != strlen(cases[i].bytes) ||
            memcmp(decoded.bytes, cases[i].bytes, decoded.n) != 0)
            fail_msg("%s: %zu bytes are read, %zu meant", cases[i].text, decoded.n_read, decoded.n);
    }
}

static void percent_signs_are_decoded(void **state)
{
    static const struct decode_case cases[] = {
        {"a", 1, "a"},   {"+", 1, " "},    {"%41", 3, "A"},  {"%7e", 3, "~"},    {"%7E", 3, "~"},
        {"%2B", 3, " "}, {"%2b", 3, " "},  {"%", 0, ""},     {"%4", 0, ""},      {"%g", 1, "%"},
        {"%4g", 1, "%"}, {"%41b", 3, "A"}, {"%%41", 1, "%"}, {"%C3", 3, "\xC3"},
    };

    (void)state;
    assert_decoded(mask_decode_percent, cases, ARRAY_SIZE(cases));
}

static void escapes_are_decoded(void **state)
{
    static const struct decode_case cases[] = {
        {"a", 1, "a"},
        {"\"", 1, ""},
        {"'", 1, ""},
        {"\\", 0, ""},
        {"\\n", 2, "\n"},
        {"\\r", 2, "\r"},
        {"\\t", 2, "\t"},
        {"\\b", 2, "\b"},
        {"\\f", 2, "\f"},
        {"\\a", 2, "\a"},
        {"\\e", 2, "\033"},
        {"\\\\", 2, "\\"},
        {"\\/", 2, "/"},
        {"\\\"", 2, ""},
        {"\\'", 2, ""},
        {"\\\n", 2, ""},
        {"\\ ", 2, " "},
        {"\\z", 2, "z"},
        {"\\8", 2, "8"},
        {"\\x", 0, ""},
        {"\\x4", 0, ""},
        {"\\x41", 4, "A"},
        {"\\x4g", 2, "x"},
        {"\\xg", 2, "x"},
        {"\\1", 0, ""},
        {"\\10", 0, ""},
        {"\\101", 4, "A"},
        {"\\077", 4, "?"},
        {"\\18", 2, "1"},
        {"\\108", 2, "1"},
        {"\\7x", 2, "7"},
        {"\\u", 0, ""},
        {"\\u004", 0, ""},
        {"\\u0041", 6, "A"},
        {"\\u004g", 2, "u"},
        {"\\u007f", 6, "\x7f"},
        {"\\u0080", 6, "\xC2\x80"},
        {"\\u00e9", 6, "\xC3\xA9"},
        {"\\u07ff", 6, "\xDF\xBF"},
        {"\\u0800", 6, "\xE0\xA0\x80"},
        {"\\uffff", 6, "\xEF\xBF\xBF"},
        {"\\u20AC", 6, "\xE2\x82\xAC"},
        {"\\ud7ff", 6, "\xED\x9F\xBF"},
        {"\\ue000", 6, "\xEE\x80\x80"},
        {"\\udc00", 6, "\xED\xB0\x80"},
        /* pairs of surrogates */
        {"\\ud83d", 0, ""},
        {"\\ud83d\\", 0, ""},
        {"\\ud83d\\u", 0, ""},
        {"\\ud83d\\udc0", 0, ""},
        {"\\ud83d\\ude00", 12, "\xF0\x9F\x98\x80"},
        {"\\ud800\\udc00", 12, "\xF0\x90\x80\x80"},
        {"\\udbff\\udfff", 12, "\xF4\x8F\xBF\xBF"},
        {"\\ud83dx", 6, "\xED\xA0\xBD"},
        {"\\ud83d\\n", 6, "\xED\xA0\xBD"},
        {"\\ud83d\\u0041", 6, "\xED\xA0\xBD"},
        {"\\ud83d\\ue000", 6, "\xED\xA0\xBD"},
        {"\\ud83d\\ugggg", 6, "\xED\xA0\xBD"},
    };

    (void)state;
    assert_decoded(mask_decode_escape, cases, ARRAY_SIZE(cases));
}

/* Changes texts that say "old". */
static bool change_old(void *context, json_t *string)
{
    (void)context;
    if (strcmp(json_string_value(string), "old") != 0)
        return false;
    assert_int_equal(json_string_set(string, "new"), 0);
    return true;
}

static void visitors_tell_whether_they_changed_a_text(void **state)
{
    static const struct text_visitor visitor = {change_old, NULL};
    static const struct {
        const char *action;
        bool is_changed;
    } cases[] = {
        {"{'kind': 'ThinkAction', 'thought': 'old'}", true},
        {"{'kind': 'ThinkAction', 'thought': 'x'}", false},
        {"{'kind': 'ThinkAction', 'other': 'old'}", false},
        {"{'kind': 'FileEditorAction', 'file_text': 'old', 'new_str': 'x'}", true},
        {"{'kind': 'FileEditorAction', 'file_text': 'x', 'new_str': 'old'}", true},
        {"{'kind': 'TaskTrackerAction', 'task_list': [{'title': 'old'}, {'title': 'x'}]}", true},
        {"{'kind': 'MCPToolAction', 'data': {'a': ['x', 'old', 'x'], 'b': 'x'}}", true},
        {"{'kind': 'MCPToolAction', 'data': {'a': ['x'], 'b': 5}}", false},
        {"{'kind': 'ClientAction_t', 'a': 'old', 'b': 'x'}", true},
        {"{'kind': 'ClientAction_t', 'a': 'x'}", false},
        {"{'kind': 'Unknown', 'thought': 'old'}", false},
        {"{'thought': 'old'}", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *action = json_of(cases[i].action);
        json_auto_t *arguments = json_of(cases[i].action);

        conversation.spec = json_object();
        if (action_texts_visit(action, &conversation, &visitor) != cases[i].is_changed)
            fail_msg("%s", cases[i].action);
        (void)json_object_del(arguments, "kind");
        if (arguments_texts_visit(arguments, action, &conversation, &visitor) !=
            cases[i].is_changed)
            fail_msg("%s as arguments", cases[i].action);
    }
}

static void arguments_beside_the_action_are_told_too(void **state)
{
    static const struct text_visitor visitor = {change_old, NULL};
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *action = json_of("{'kind': 'ThinkAction', 'thought': 'x'}");
    json_auto_t *arguments = json_of("{'thought': 'x', 'summary': 'old', 'security_risk': 'old'}");

    (void)state;
    conversation.spec = json_object();
    assert_true(arguments_texts_visit(arguments, action, &conversation, &visitor));
    assert_json_is(arguments, "{'thought': 'x', 'summary': 'new', 'security_risk': 'old'}");
}

int mask_escapes_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent_signs_are_decoded),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(visitors_tell_whether_they_changed_a_text),
        cmocka_unit_test(arguments_beside_the_action_are_told_too),
    };

    return cmocka_run_group_tests_name("model/mask escapes", tests, NULL, NULL);
}
