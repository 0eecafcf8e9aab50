/*
 * Readings of the workspace that hooks ask for.
 * Decision: docs/decisions/0107-readings-on-request.md
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/knowledge_request.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent_test.h"
#include "worker/sandbox/project_reading_fixture.h"

#define RELOADS "{\"exit_code\": 0, \"stdout\": \"{\\\"reload_knowledge\\\": true}\"}"
#define ASKS_WITH(event)                                                                           \
    "{\"agent\": {\"agent_context\": {\"load_project_skills\": true, \"current_datetime\":"        \
    " \"now\"}}, \"hook_config\": {\"" event                                                       \
    "\": [{\"matcher\": \"*\", \"hooks\": [{\"command\": \"reload\"}]}]}}"

/* The request is stored with the hook's event, and answered before the model's next call. */
static void hook_asks_for_a_reading_before_the_next_call(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_readings = stub_n_readings(fixture->stub);
    struct uuid id = run_new_conversation(fixture,
                                          "{\"turns\": [{\"steps\": [{\"calls\": [" COMMAND(
                                              "git pull") "]}, {\"text\": \"hello\"}]}]}",
                                          ASKS_WITH("post_tool_use"));

    stub_set_files(fixture->stub, FILES);
    stub_answer_hook(fixture->stub, "reload", RELOADS);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               FIRST "S(agent_state) S(stats) Action(terminal) HookExecution(terminal)"
                     " S(agent_state) Observation(terminal) S(agent_state) S(stats) Message(agent)"
                     " S(finished)");
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
}

/* As a hook's execution stores it, by a worker that dies then. */
static void ask_by_hook(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *value = knowledge_request_hook_value();
    struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    event_add_state(&events, "agent_state", value);
    if (conversation_store_load_any(fixture->context.db, id, &row, &err) < 0 ||
        conversation_store_write(fixture->context.db, &row, &events, &write, &err) < 0)
        fail_msg("%s", err.message);
}

static void request_of_a_hook_outlives_its_worker(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    run_to_end(fixture, &id);
    ask_by_hook(fixture, &id);
    ask_by_hook(fixture, &id);
    run_say(fixture, &id, "again");
    claimed_agent_begin(&claimed, fixture, &id);
    claimed.agent.has_listed_servers = true;
    for (int i = 0; i < 2; i++) {
        reading_settle(&claimed);
        assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
    }
    assert_false(claimed.agent.has_listed_servers);
    claimed_agent_end(&claimed);
}

/* It does not hold up a run that cannot read, or that reads more than can be stored. */
static void request_of_a_hook_is_tried_once_in_a_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf files = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    run_to_end(fixture, &id);
    ask_by_hook(fixture, &id);
    run_say(fixture, &id, "again");
    stub_refuse_start(fixture->stub, "no room");
    claimed_agent_begin(&claimed, fixture, &id);
    reading_settle(&claimed);
    stub_refuse_start(fixture->stub, NULL);
    reading_settle(&claimed);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 1);
    /* Asked once more, it finds too much, which ends both requests. */
    strbuf_append(&files, "{\"files\": [");
    for (int i = 0; i < 2; i++) {
        strbuf_appendf(&files,
                       "%s{\"place\": 18, \"path\": \"/workspace/project/%d/AGENTS.md\","
                       " \"text\": \"",
                       i > 0 ? ", " : "", i);
        for (int j = 0; j < 600000; j++)
            strbuf_append_char(&files, 'x');
        strbuf_append(&files, "\"}");
    }
    strbuf_append(&files, "]}");
    stub_set_files(fixture->stub, files.text);
    ask_by_hook(fixture, &id);
    reading_hear(&claimed);
    for (int i = 0; i < 2; i++) {
        reading_settle(&claimed);
        assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
    }
    assert_int_equal(history_find_hook_request(&claimed.agent.history), claimed.agent.history.n);
    claimed_agent_end(&claimed);
}

static void copy_of_a_log_begins_without_requests(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);
    struct uuid source = uuid_random();
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    run_to_end(fixture, &id);
    ask_by_hook(fixture, &id);
    run_say(fixture, &id, "again");
    claimed_agent_begin(&claimed, fixture, &id);
    conversation_note_origin(&claimed.agent.conversation, &source, NULL,
                             claimed.agent.history.last_seq);
    reading_settle(&claimed);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 1);
    claimed_agent_end(&claimed);
}

int hook_reading_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hook_asks_for_a_reading_before_the_next_call),
        cmocka_unit_test(request_of_a_hook_outlives_its_worker),
        cmocka_unit_test(request_of_a_hook_is_tried_once_in_a_run),
        cmocka_unit_test(copy_of_a_log_begins_without_requests),
    };

    return cmocka_run_group_tests_name("worker/hook_reading", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
