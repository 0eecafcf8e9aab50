#include "store/conversation/log_fixture.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/store_fixture.h"

struct test_log test_log_new(const struct store_fixture *fixture)
{
    return (struct test_log){.fixture = fixture, .conversation = store_create(fixture)};
}

void test_log_done(struct test_log *log)
{
    conversation_done(&log->conversation);
}

static struct uuid add_call(struct event_list *events, const char *tool_name, json_t *action)
{
    const struct action_parts parts = {.tool_name = tool_name,
                                       .tool_call_id = "call_1",
                                       .arguments = "{}",
                                       .llm_response_id = "r-1",
                                       .security_risk = "LOW",
                                       .action = action};

    return event_add_action(events, &parts);
}

static void add_letter(struct test_log *log, struct event_list *events, char letter)
{
    const struct call_ref call = {log->call, "terminal", "call_1"};
    json_auto_t *content = json_array();
    json_auto_t *object = json_object();

    json_put_text(object, "kind", "TerminalAction");
    if (letter == 'u')
        (void)event_add_user_message(events, content);
    if (letter == 'a')
        (void)event_add_agent_message(events, "words", NULL, NULL);
    if (letter == 'c')
        log->call = add_call(events, "terminal", object);
    if (letter == 'x')
        log->call = add_call(events, "terminal", NULL);
    if (letter == 'f')
        log->call = add_call(events, "finish", object);
    if (letter == 'e')
        event_add_conversation_error(events, "Code", "words");
    if (letter == 'r')
        event_add_observation(events, &call, object);
    if (letter == 'p')
        event_add_pause(events);
    if (letter == 's')
        event_add_status(events, STATUS_IDLE);
    if (letter == 'g')
        event_add_state(events, "agent_state", object);
    if (letter == 'b')
        event_add_system_prompt(events, "prompt", content, NULL);
}

void test_log_add(struct test_log *log, const char *letters)
{
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    for (const char *letter = letters; *letter != '\0'; letter++) {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

        add_letter(log, &events, *letter);
        assert_int_equal(events.n, 1);
        assert_done(
            conversation_store_write(log->fixture->db, &log->conversation, &events, &write, &err),
            &err);
        assert_in_range(log->conversation.last_seq, 1, TEST_LOG_MAX - 1);
        log->ids[log->conversation.last_seq] = events.items[0].id;
    }
}

void test_log_go_back(const struct test_log *log, size_t seq)
{
    struct error err = ERROR_INIT;

    assert_done(branch_store_navigate(log->fixture->db, &log->conversation.id,
                                      seq > 0 ? log->ids[seq].text : NULL, &err),
                &err);
}

void test_log_assert_seqs(const struct history *history, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf seqs = STRBUF_INIT;

    strbuf_append(&seqs, "");
    for (size_t i = 0; i < history->n; i++)
        strbuf_appendf(&seqs, "%lld,", (long long)history->items[i].seq);
    assert_string_equal(seqs.text, expected);
}
