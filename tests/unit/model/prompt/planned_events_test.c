#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

struct message_case {
    enum execution_status status;
    int64_t last_seq;
    enum message_run run;
    enum execution_status after;
    const char *events;
};

static void check_message(const struct message_case *c)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(mem_freep) char *order = NULL;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_of("[{'type': 'text', 'text': 'hi', 'cache_prompt': false}]");

    start_default(&conversation);
    conversation.status = c->status;
    conversation.last_seq = c->last_seq;
    conversation.is_begun = c->last_seq > 0;
    assert_int_equal(
        conversation_plan_message(&conversation,
                                  &(struct planned_message){test_catalogue(), content, c->run},
                                  &list, &change, &err),
        0);
    order = event_order(&list);
    assert_string_equal(order, c->events);
    assert_int_equal(change.status, c->after);
    assert_int_equal(change.wants_run, c->run == MESSAGE_AND_RUN);
    assert_true(uuid_is_set(&change.last_user_message_id));
}

static void message_is_planned_in_the_order_of_the_wire(void **state)
{
    static const struct message_case cases[] = {
        {STATUS_IDLE, 0, MESSAGE_ONLY, STATUS_IDLE,
         "SystemPromptEvent MessageEvent last_user_message_id"},
        {STATUS_IDLE, 0, MESSAGE_AND_RUN, STATUS_RUNNING,
         "SystemPromptEvent MessageEvent last_user_message_id execution_status=running"},
        {STATUS_IDLE, 5, MESSAGE_ONLY, STATUS_IDLE, "MessageEvent last_user_message_id"},
        {STATUS_FINISHED, 5, MESSAGE_ONLY, STATUS_IDLE,
         "execution_status=idle MessageEvent last_user_message_id"},
        {STATUS_FINISHED, 5, MESSAGE_AND_RUN, STATUS_RUNNING,
         "execution_status=idle MessageEvent last_user_message_id execution_status=running"},
        {STATUS_STUCK, 5, MESSAGE_AND_RUN, STATUS_RUNNING,
         "execution_status=idle MessageEvent last_user_message_id execution_status=running"},
        {STATUS_ERROR, 5, MESSAGE_ONLY, STATUS_ERROR, "MessageEvent last_user_message_id"},
        {STATUS_ERROR, 5, MESSAGE_AND_RUN, STATUS_RUNNING,
         "MessageEvent last_user_message_id execution_status=running"},
        {STATUS_RUNNING, 5, MESSAGE_ONLY, STATUS_RUNNING, "MessageEvent last_user_message_id"},
        {STATUS_RUNNING, 5, MESSAGE_AND_RUN, STATUS_RUNNING, "MessageEvent last_user_message_id"},
        {STATUS_PAUSED, 5, MESSAGE_ONLY, STATUS_PAUSED, "MessageEvent last_user_message_id"},
        {STATUS_WAITING_FOR_CONFIRMATION, 5, MESSAGE_AND_RUN, STATUS_RUNNING,
         "MessageEvent last_user_message_id execution_status=running"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_message(&cases[i]);
}

struct run_case {
    enum execution_status status;
    int64_t last_seq;
    enum execution_status after;
    const char *events;
};

static void run_is_planned_by_status(void **state)
{
    static const struct run_case cases[] = {
        {STATUS_IDLE, 3, STATUS_RUNNING, "execution_status=running"},
        {STATUS_IDLE, 0, STATUS_RUNNING, "SystemPromptEvent execution_status=running"},
        {STATUS_FINISHED, 3, STATUS_FINISHED, ""},
        {STATUS_RUNNING, 3, STATUS_RUNNING, ""},
        {STATUS_ERROR, 3, STATUS_RUNNING, "execution_status=running"},
        {STATUS_WAITING_FOR_CONFIRMATION, 3, STATUS_RUNNING, "execution_status=running"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
        CLEANUP(mem_freep) char *order = NULL;
        CLEANUP(conversation_change_done) struct conversation_change change =
            CONVERSATION_CHANGE_INIT;

        start_default(&conversation);
        conversation.status = cases[i].status;
        conversation.last_seq = cases[i].last_seq;
        conversation.is_begun = cases[i].last_seq > 0;
        conversation_plan_run(test_catalogue(), &conversation, &list, &change);
        order = event_order(&list);
        assert_string_equal(order, cases[i].events);
        assert_int_equal(change.status, cases[i].after);
        assert_true(change.wants_run);
        assert_false(uuid_is_set(&change.last_user_message_id));
    }
}

static void message_id_is_told_in_the_state(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_array();

    (void)state;
    start_default(&conversation);
    conversation.last_seq = 1;
    conversation.is_begun = true;
    assert_int_equal(conversation_plan_message(
                         &conversation,
                         &(struct planned_message){test_catalogue(), content, MESSAGE_ONLY}, &list,
                         &change, &err),
                     0);
    assert_string_equal(json_text_or(list.items[1].json, "value", ""), list.items[0].id.text);
    assert_string_equal(change.last_user_message_id.text, list.items[0].id.text);
}

static void first_message_names_the_conversation(void **state)
{
    static const struct {
        const char *model;
        const char *title; /* of the conversation before */
        bool autotitle;
        bool asks;
        const char *first_title;
    } cases[] = {
        {"openai/gpt", NULL, true, true, NULL},    {"scripted/hello", NULL, true, false, "hi"},
        {"openai/gpt", "Mine", true, false, NULL}, {"scripted/hello", "Mine", true, false, NULL},
        {"openai/gpt", NULL, false, false, NULL},
    };
    json_auto_t *content = json_of("[{'type': 'text', 'text': 'hi', 'cache_prompt': false}]");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
        CLEANUP(conversation_change_done) struct conversation_change change =
            CONVERSATION_CHANGE_INIT;
        struct error err = ERROR_INIT;

        start_default(&conversation);
        json_put_text(conversation_llm(&conversation), "model", cases[i].model);
        json_put(conversation.spec, "autotitle", json_boolean(cases[i].autotitle));
        conversation.title = cases[i].title != NULL ? mem_dup_text(cases[i].title) : NULL;
        assert_int_equal(conversation_plan_message(
                             &conversation,
                             &(struct planned_message){test_catalogue(), content, MESSAGE_ONLY},
                             &list, &change, &err),
                         0);
        assert_int_equal(change.wants_title, cases[i].asks);
        if (cases[i].first_title == NULL)
            assert_null(change.first_title);
        else
            assert_string_equal(change.first_title, cases[i].first_title);
    }
}

static void content_that_is_no_list_is_refused(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_object();

    (void)state;
    start_default(&conversation);
    assert_int_equal(conversation_plan_message(
                         &conversation,
                         &(struct planned_message){test_catalogue(), content, MESSAGE_ONLY}, &list,
                         &change, &err),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(list.n, 0);
}

int plan_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_planned_in_the_order_of_the_wire),
        cmocka_unit_test(run_is_planned_by_status),
        cmocka_unit_test(message_id_is_told_in_the_state),
        cmocka_unit_test(first_message_names_the_conversation),
        cmocka_unit_test(content_that_is_no_list_is_refused),
    };

    return cmocka_run_group_tests_name("model/plan", tests, NULL, NULL);
}
