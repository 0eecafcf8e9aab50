/*
 * The objects that clients see: ConversationInfo of a conversation and of a row's texts, the full
 * state, and snapshots that must not grow too large.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "unit/model/model_test.h"
#include "unit/support/json_path.h"

#define ID "01234567-89ab-4def-8123-456789abcdef"
#define PARENT "00000000-0000-4000-8000-00000000000a"
#define MESSAGE "00000000-0000-4000-8000-00000000000b"
#define LEAF "00000000-0000-4000-8000-00000000000c"

#define ROW_DEFAULTS                                                                               \
    "'id': '" ID "', 'persistence_dir': "                                                          \
    "'/workspace/conversations/0123456789ab4def8123456789abcdef'"

#define SPEC_DEFAULTS                                                                              \
    "'agent': {}, 'workspace': {}, 'max_iterations': 500, 'stuck_detection': true,"                \
    " 'confirmation_policy': {'kind': 'NeverConfirm'}, 'activated_knowledge_skills': [],"          \
    " 'invoked_skills': [], 'blocked_actions': {}, 'blocked_messages': {},"                        \
    " 'secret_registry': {'secret_sources': {}}, 'tags': {}"

static void a_conversation_without_specification_has_all_members(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *info = NULL;

    (void)state;
    conversation.id = (struct uuid){ID};
    info = conversation_info(&conversation);
    assert_json_is(
        info,
        "{" ROW_DEFAULTS ", " SPEC_DEFAULTS ", 'security_analyzer': null, 'hook_config': null,"
        " 'execution_status': 'idle', 'last_user_message_id': null, 'leaf_event_id': null,"
        " 'stats': {'usage_to_metrics': {}}, 'agent_state': {}, 'title': null,"
        " 'created_at': '1970-01-01T00:00:00.000000Z',"
        " 'updated_at': '1970-01-01T00:00:00.000000Z', 'parent_conversation_id': null,"
        " 'sub_conversation_ids': [], 'runtime_info': null, 'metrics': null,"
        " 'forked_from_conversation_id': null, 'forked_from_event_id': null,"
        " 'current_model_id': null, 'available_models': [],"
        " 'supports_runtime_model_switch': false, 'launched_agent_profile': null,"
        " 'client_tools': [], 'tool_module_qualnames': {}}");
}

/* All members of a specification that clients see; "own" is not one. */
#define SPEC                                                                                       \
    "{'agent': {'llm': {'api_key': '**********', 'extra_headers': {'X': '**********'}},"           \
    " 'agent_context': {'skills': [{'name': 's'}], 'persona': 'p'}}, 'workspace': {'w': 1},"       \
    " 'max_iterations': 3, 'stuck_detection': false, 'confirmation_policy': {'c': 1},"             \
    " 'security_analyzer': {'s': 1}, 'activated_knowledge_skills': ['k'],"                         \
    " 'invoked_skills': ['i'], 'secret_registry': {'secret_sources': {'A': {'value':"              \
    " '**********'}}}, 'hook_config': {'h': 1}, 'tags': {'t': '1'},"                               \
    " 'forked_from': {'conversation_id': 'f', 'event_id': 'e', 'n_events': 2},"                    \
    " 'launched_agent_profile': {'l': 1}, 'client_tools': [{'n': 1}],"                             \
    " 'tool_module_qualnames': {'q': 'm'}, 'own': 1}"

#define SHOWN_SPEC(key, skills)                                                                    \
    "'agent': {'llm': {'api_key': " key ", 'extra_headers': {'X': '**********'}},"                 \
    " 'agent_context': {'skills': " skills ", 'persona': 'p'}}, 'workspace': {'w': 1},"            \
    " 'max_iterations': 3, 'stuck_detection': false, 'confirmation_policy': {'c': 1},"             \
    " 'security_analyzer': {'s': 1}, 'activated_knowledge_skills': ['k'],"                         \
    " 'invoked_skills': ['i'], 'blocked_actions': {}, 'blocked_messages': {},"                     \
    " 'secret_registry': {'secret_sources': {'A': {'value': " key "}}},"                           \
    " 'hook_config': {'h': 1}, 'tags': {'t': '1'}"

#define SHOWN_REST                                                                                 \
    "'metrics': null, 'forked_from_conversation_id': 'f', 'forked_from_event_id': 'e',"            \
    " 'current_model_id': null, 'available_models': [], 'supports_runtime_model_switch': false,"   \
    " 'launched_agent_profile': {'l': 1}, 'client_tools': [{'n': 1}],"                             \
    " 'tool_module_qualnames': {'q': 'm'}"

#define SHOWN_ROW                                                                                  \
    ROW_DEFAULTS ", 'execution_status': 'running', 'last_user_message_id': '" MESSAGE "',"         \
                 " 'leaf_event_id': '" LEAF "', 'stats': {'s': 1}, 'agent_state': {'mine': 1}"

#define SHOWN_ROW_REST                                                                             \
    "'title': 'A \\u00e4', 'created_at': '1970-01-01T00:00:01.000002Z',"                           \
    " 'updated_at': '1970-01-01T00:00:03.000000Z', 'parent_conversation_id': '" PARENT "',"        \
    " 'sub_conversation_ids': ['x', 'y']"

#define AGENT_STATE                                                                                \
    "{'mine': 1, 'task_list': [], 'runtime_id': 'r', 'tasks': [], 'delegates': [], 'worktree': "   \
    "'pending', 'server_call': [], 'server_sessions': {'s': 'sealed'}}"

static void make(struct conversation *conversation)
{
    conversation->id = (struct uuid){ID};
    conversation->parent_id = (struct uuid){PARENT};
    conversation->last_user_message_id = (struct uuid){MESSAGE};
    conversation->leaf_event_id = (struct uuid){LEAF};
    conversation->status = STATUS_RUNNING;
    conversation->title = mem_dup_text("A \xc3\xa4");
    conversation->children = mem_dup_text("x,y");
    conversation->created_at_us = 1000002;
    conversation->updated_at_us = 3000000;
    conversation->stats = json_of("{'s': 1}");
    conversation->agent_state = json_of(AGENT_STATE);
    conversation->spec = json_of(SPEC);
}

static void members_come_from_the_specification_and_the_row(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *info = NULL;
    json_auto_t *brief = NULL;

    (void)state;
    make(&conversation);
    info = conversation_info(&conversation);
    brief = conversation_info_brief(&conversation);
    assert_json_is(info, "{" SHOWN_SPEC("null", "[{'name': 's'}]") ", " SHOWN_REST ", " SHOWN_ROW
                                                                   ", " SHOWN_ROW_REST
                                                                   ", 'runtime_info': null}");
    assert_json_is(brief,
                   "{" SHOWN_SPEC("null", "[]") ", " SHOWN_REST ", " SHOWN_ROW ", " SHOWN_ROW_REST
                                                ", 'runtime_info': null}");
    /* what is shown is not what is kept */
    assert_json_is(conversation.spec, SPEC);
    assert_json_is(conversation.agent_state, AGENT_STATE);
}

static void an_agent_without_skills_gets_none(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *brief = NULL;

    (void)state;
    conversation.spec = json_of("{'agent': {'agent_context': {'persona': 'p'}}}");
    brief = conversation_info_brief(&conversation);
    assert_json_is(json_object_get(brief, "agent"), "{'agent_context': {'persona': 'p'}}");
}

static void the_specifications_part_is_brief(void **state)
{
    json_auto_t *spec = json_of(SPEC);
    CLEANUP(mem_freep) char *text = conversation_spec_info(spec);
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(json_parse(text, strlen(text), &json, &err), 0);
    assert_json_is(json, "{" SHOWN_SPEC("null", "[]") ", " SHOWN_REST "}");
}

static void both_parts_of_a_row_make_the_brief_info(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(mem_freep) char *spec_info = NULL;
    json_auto_t *brief = NULL;
    json_auto_t *joined = NULL;
    struct error err = ERROR_INIT;
    struct conversation_texts texts = {
        .id = {ID},
        .parent_id = PARENT,
        .status = "running",
        .title = "A \xc3\xa4",
        .stats = "{\"s\":1}",
        .agent_state =
            "{\"mine\":1,\"server_sessions\":{},\"task_list\":[],\"runtime_id\":\"r\",\"tasks\":[],"
            "\"worktree\":\"pending\"}",
        .last_user_message_id = MESSAGE,
        .leaf_event_id = LEAF,
        .children = "x,y",
        .created_at_us = 1000002,
        .updated_at_us = 3000000,
    };

    (void)state;
    make(&conversation);
    brief = conversation_info_brief(&conversation);
    assert_int_equal(json_object_del(brief, "runtime_info"), 0);
    spec_info = conversation_spec_info(conversation.spec);
    texts.spec_info = spec_info;
    assert_int_equal(conversation_append_info(&texts, &out, &err), 0);
    strbuf_append_char(&out, '}');
    assert_int_equal(json_parse(out.text, out.len, &joined, &err), 0);
    assert_json_equal(joined, brief);
}

static void absent_texts_are_null(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const struct conversation_texts texts = {
        .id = {ID}, .status = "idle", .stats = "{}", .agent_state = "{}", .spec_info = "{\"a\":1}"};

    (void)state;
    assert_int_equal(conversation_append_info(&texts, &out, &err), 0);
    strbuf_append_char(&out, '}');
    assert_json_at(out.text, "parent_conversation_id", "null");
    assert_json_at(out.text, "title", "null");
    assert_json_at(out.text, "last_user_message_id", "null");
    assert_json_at(out.text, "leaf_event_id", "null");
    assert_json_at(out.text, "sub_conversation_ids", "[]");
    assert_json_at(out.text, "a", "1");
    assert_json_at(out.text, "runtime_info", NULL);
}

static void a_damaged_state_of_a_row_is_an_error_of_ours(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const struct conversation_texts texts = {
        .id = {ID}, .status = "idle", .stats = "{}", .agent_state = "{", .spec_info = "{\"a\":1}"};

    (void)state;
    assert_int_equal(conversation_append_info(&texts, &out, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
}

static void the_full_state_has_no_nulls_and_keeps_markers(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation empty = CONVERSATION_INIT;
    json_auto_t *full = NULL;
    json_auto_t *least = NULL;

    (void)state;
    make(&conversation);
    full = conversation_full_state(&conversation);
    assert_json_is(
        full,
        "{" SHOWN_SPEC("'**********'",
                       "[{'name': 's'}]") ", " SHOWN_ROW
                                          ", 'activated_path_rules': [], 'head_is_empty': false}");
    empty.id = (struct uuid){ID};
    least = conversation_full_state(&empty);
    assert_json_is(least, "{" ROW_DEFAULTS ", " SPEC_DEFAULTS ", 'execution_status': 'idle',"
                          " 'stats': {'usage_to_metrics': {}}, 'agent_state': {},"
                          " 'activated_path_rules': [], 'head_is_empty': false}");
}

static void the_head_is_empty_before_the_first_event_of_a_branch(void **state)
{
    static const struct {
        bool is_branched;
        const char *leaf;
        bool is_empty;
    } cases[] = {{true, "", true}, {true, LEAF, false}, {false, "", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *full = NULL;

        conversation.is_branched = cases[i].is_branched;
        assert_int_equal(uuid_parse(cases[i].leaf, &conversation.leaf_event_id),
                         cases[i].leaf[0] != '\0');
        full = conversation_full_state(&conversation);
        assert_int_equal(json_is_true(json_object_get(full, "head_is_empty")), cases[i].is_empty);
    }
}

static void a_snapshot_is_an_event_with_the_full_state(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *event = NULL;
    json_auto_t *full = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    make(&conversation);
    strbuf_append(&out, "before");
    conversation_append_snapshot(&conversation, 1000002, &out);
    assert_memory_equal(out.text, "before{", 7);
    assert_int_equal(json_parse(out.text + 6, out.len - 6, &event, &err), 0);
    full = conversation_full_state(&conversation);
    assert_json_equal(json_object_get(event, "value"), full);
    assert_string_equal(json_text_or(event, "kind", ""), "ConversationStateUpdateEvent");
    assert_string_equal(json_text_or(event, "key", ""), "full_state");
    assert_string_equal(json_text_or(event, "timestamp", ""), "1970-01-01T00:00:01.000002");
}

/* An object that takes at least n bytes of text. */
static json_t *large(size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *object = json_object();

    while (text.len < n)
        strbuf_append(&text, "0123456789");
    json_put_text(object, "x", text.text);
    return object;
}

/* Members leave in their order, until the rest fits. */
static void large_snapshots_leave_out_members(void **state)
{
    static const char *const optional[] = {"agent", "agent_state", "hook_config", "secret_registry",
                                           "stats"};

    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(optional); n++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        json_auto_t *event = NULL;
        struct error err = ERROR_INIT;

        make(&conversation);
        strbuf_append(&out, " ");
        if (n == 1) {
            json_decref(conversation.agent_state);
            conversation.agent_state = large(EVENT_MAX_BYTES);
        } else if (n == 4) {
            json_decref(conversation.stats);
            conversation.stats = large(EVENT_MAX_BYTES);
        } else {
            json_put(conversation.spec, optional[n], large(EVENT_MAX_BYTES));
        }
        conversation_append_snapshot(&conversation, 1, &out);
        assert_in_range(out.len, 500, EVENT_MAX_BYTES);
        assert_int_equal(json_parse(out.text + 1, out.len - 1, &event, &err), 0);
        for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
            assert_int_equal(json_object_get(json_object_get(event, "value"), optional[i]) != NULL,
                             i > n);
        assert_json_at(out.text, "value.tags.t", "\"1\"");
    }
}

static void a_snapshot_of_the_greatest_size_is_whole(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t without = 0;

    (void)state;
    make(&conversation);
    json_put_text(conversation.spec, "hook_config", "");
    conversation_append_snapshot(&conversation, 1, &out);
    without = out.len;
    for (size_t i = without; i < EVENT_MAX_BYTES; i++)
        strbuf_append_char(&text, 'x');
    json_put_text(conversation.spec, "hook_config", text.text);
    strbuf_reset(&out);
    conversation_append_snapshot(&conversation, 1, &out);
    assert_int_equal(out.len, EVENT_MAX_BYTES);
    strbuf_append_char(&text, 'x');
    json_put_text(conversation.spec, "hook_config", text.text);
    strbuf_reset(&out);
    conversation_append_snapshot(&conversation, 1, &out);
    assert_json_at(out.text, "value.agent", NULL);
}

int conversation_info_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_without_specification_has_all_members),
        cmocka_unit_test(members_come_from_the_specification_and_the_row),
        cmocka_unit_test(an_agent_without_skills_gets_none),
        cmocka_unit_test(the_specifications_part_is_brief),
        cmocka_unit_test(both_parts_of_a_row_make_the_brief_info),
        cmocka_unit_test(absent_texts_are_null),
        cmocka_unit_test(a_damaged_state_of_a_row_is_an_error_of_ours),
        cmocka_unit_test(the_full_state_has_no_nulls_and_keeps_markers),
        cmocka_unit_test(the_head_is_empty_before_the_first_event_of_a_branch),
        cmocka_unit_test(a_snapshot_is_an_event_with_the_full_state),
        cmocka_unit_test(large_snapshots_leave_out_members),
        cmocka_unit_test(a_snapshot_of_the_greatest_size_is_whole),
    };

    return cmocka_run_group_tests_name("model/conversation info", tests, NULL, NULL);
}
