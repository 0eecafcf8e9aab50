/*
 * Which texts of an event are free, kind by kind: in each event of the table every free text is
 * "free", and every text of the contract "kept".
 */
#include "model/masking/event_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/tools/client_tools.h"
#include "unit/model/model_test.h"

/* Changes every text that it is shown; a text of the contract among them fails the test. */
static bool take(void *context, json_t *string)
{
    (void)context;
    if (strcmp(json_string_value(string), "kept") == 0)
        fail_msg("a text of the contract was visited");
    assert_int_equal(json_string_set(string, "taken"), 0);
    return true;
}

static const struct text_visitor visitor = {take, NULL};

/* All free text was visited. */
static void assert_taken(const json_t *json, const char *from)
{
    CLEANUP(mem_freep) char *text = json_dumps(json, 0);

    if (strstr(text, "\"free\"") != NULL)
        fail_msg("%s is left as it is: %s", from, text);
}

#define CONTENT "'content':[{'type':'kept','text':'free'},{'image_urls':['kept']}]"
#define OBSERVATION(rest) "{'kind':'ObservationEvent','tool_name':'kept','observation':" rest "}"

static void free_text_of_each_kind_is_visited(void **state)
{
    static const char *const events[] = {
        "{'kind':'ActionEvent','thought':[{'type':'kept','text':'free'}],'summary':'free',"
        " 'reasoning_content':'free','tool_name':'kept','action':{'kind':'kept'}}",
        "{'kind':'AgentErrorEvent','error':'free','tool_name':'kept'}",
        "{'kind':'HookExecutionEvent','stdout':'free','stderr':'free','reason':'free',"
        "'additional_context':'free','error':'free','hook_input':{'message':'free','tool_input':"
        "{'command':'free'}},'hook_command':'kept'}",
        "{'kind':'Condensation','summary':'free','forgotten_event_ids':['kept']}",
        "{'kind':'ConversationErrorEvent','code':'kept','detail':'free'}",
        "{'kind':'MessageEvent','source':'kept','extended_content':[{'type':'kept','text':'free'}],"
        " 'llm_message':{'role':'kept'," CONTENT ",'reasoning_content':'free'}}",
        "{'kind':'UserRejectObservation','rejection_reason':'free','tool_name':'kept'}",
        OBSERVATION("{'kind':'BrowserObservation'," CONTENT ",'screenshot_data':'kept'}"),
        OBSERVATION("{'kind':'ClientToolObservation'," CONTENT "}"),
        OBSERVATION("{'kind':'FileEditorObservation'," CONTENT ",'command':'kept','path':'kept',"
                    "'old_content':'free','new_content':'free'}"),
        OBSERVATION("{'kind':'FinishObservation'," CONTENT "}"),
        OBSERVATION("{'kind':'MCPToolObservation'," CONTENT ",'tool_name':'kept'}"),
        OBSERVATION("{'kind':'StartChildConversationObservation'," CONTENT
                    ",'title':'free','conversation_id':'kept'}"),
        OBSERVATION("{'kind':'DelegateObservation'," CONTENT ",'command':'kept'}"),
        OBSERVATION("{'kind':'TaskObservation'," CONTENT ",'task_id':'kept','status':'kept'}"),
        OBSERVATION("{'kind':'TaskTrackerObservation'," CONTENT ",'command':'kept','task_list':"
                    "[{'title':'free','notes':'free','status':'kept'}]}"),
        OBSERVATION("{'kind':'TerminalObservation'," CONTENT ",'command':'free','exit_code':0,"
                    "'metadata':{'prefix':'free','suffix':'free','working_dir':'kept'}}"),
        OBSERVATION("{'kind':'ThinkObservation'," CONTENT "}"),
        "{'kind':'ConversationStateUpdateEvent','key':'kept','value':'kept'}",
        "{'kind':'kept','error':'kept','summary':'kept'}",
        "{'error':'kept'}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        json_auto_t *event = json_of(events[i]);

        event_texts_visit(event, &visitor);
        assert_taken(event, events[i]);
    }
}

static void free_text_of_each_action_is_visited(void **state)
{
    static const char *const actions[] = {
        "{'kind':'BrowserNavigateAction','url':'free','new_tab':false}",
        "{'kind':'BrowserSetStorageAction','storage_state':{'cookies':[{'value':'free'}],"
        " 'x':'free'}}",
        "{'kind':'BrowserTypeAction','index':1,'text':'free'}",
        "{'kind':'FileEditorAction','command':'kept','path':'kept','file_text':'free',"
        " 'old_str':'free','new_str':'free'}",
        "{'kind':'FinishAction','message':'free'}",
        "{'kind':'MCPToolAction','data':{'a':'free','b':[{'c':'free'}]}}",
        "{'kind':'StartChildConversationAction','task':'free','title':'free'}",
        "{'kind':'DelegateAction','command':'kept','ids':['kept'],'tasks':{'kept':'free'}}",
        "{'kind':'TaskAction','description':'free','prompt':'free','subagent_type':'kept'}",
        "{'kind':'TaskTrackerAction','command':'kept',"
        " 'task_list':[{'title':'free','notes':'free','status':'kept'}]}",
        "{'kind':'TerminalAction','command':'free','is_input':true}",
        "{'kind':'ThinkAction','thought':'free'}",
        /* A list may be written as one text. */
        "{'kind':'TaskTrackerAction','command':'kept','task_list':'free'}",
        "{'kind':'BrowserSetStorageAction','storage_state':'free'}",
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        json_auto_t *action = json_of(actions[i]);

        assert_true(action_texts_visit(action, &conversation, &visitor));
        assert_taken(action, actions[i]);
    }
}

/* The client's own tool "paint". */
static void give_tool(struct conversation *conversation)
{
    json_decref(conversation->spec);
    conversation->spec =
        json_of("{'client_tools':[{'name':'paint','description':'d','parameters':{'type':'object',"
                " 'properties':{'color':{'type':'string','enum':['kept']},'form':{'const':'kept'},"
                " 'words':{'type':'string'},'marks':{'type':'array','items':{'enum':['kept']}},"
                " 'deep':{'type':'object','properties':{'size':{'enum':['kept']}}}}}}]}");
}

static void clients_tool_keeps_what_its_schema_enumerates(void **state)
{
    static const char members[] = "'color':'kept','form':'kept','words':'free','marks':['kept'],"
                                  "'deep':{'size':'kept','word':'free'},'more':['free']";
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *action = NULL;
    json_auto_t *arguments = NULL;
    char text[512] = "";

    (void)state;
    give_tool(&conversation);
    (void)snprintf(text, sizeof(text), "{'kind':'" CLIENT_ACTION_PREFIX "paint',%s}", members);
    action = json_of(text);
    (void)snprintf(text, sizeof(text), "{%s}", members);
    arguments = json_of(text);
    assert_true(action_texts_visit(action, &conversation, &visitor));
    assert_taken(action, "action");
    assert_string_equal(json_text_or(action, "kind", ""), CLIENT_ACTION_PREFIX "paint");
    assert_true(arguments_texts_visit(arguments, action, &conversation, &visitor));
    assert_taken(arguments, "arguments");
}

/* Members that the action has are as free as they are there; all others are. */
static void arguments_are_as_free_as_their_action(void **state)
{
    static const struct {
        const char *action; /* NULL: the call is invalid */
        const char *arguments;
    } cases[] = {
        {"{'kind':'FileEditorAction','command':'kept','path':'kept','file_text':'x'}",
         "{'command':'kept','path':'kept','file_text':'free','summary':'free',"
         " 'security_risk':'kept','odd':{'a':['free']}}"},
        {NULL, "{'command':'free','security_risk':'kept','a':[{'b':'free'}]}"},
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *action = cases[i].action != NULL ? json_of(cases[i].action) : NULL;
        json_auto_t *arguments = json_of(cases[i].arguments);

        assert_true(arguments_texts_visit(arguments, action, &conversation, &visitor));
        assert_taken(arguments, cases[i].arguments);
    }
}

int event_text_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_text_of_each_kind_is_visited),
        cmocka_unit_test(free_text_of_each_action_is_visited),
        cmocka_unit_test(clients_tool_keeps_what_its_schema_enumerates),
        cmocka_unit_test(arguments_are_as_free_as_their_action),
    };

    return cmocka_run_group_tests_name("model/event_text", tests, NULL, NULL);
}
