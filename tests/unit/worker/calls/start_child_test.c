/*
 * Calls that start a child conversation.
 */
#include "worker/agent/calls/start_child.h"

#include <string.h>

#include "base/json.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/step_test.h"

#define START(more) CALL("start_child_conversation", "{\"task\": \"the part\"" more "}")
#define WORKTREE "/tmp/conversation-worktrees/x/project"
#define NO_REPOSITORY 3

/* An agent whose second call, and last, starts a child; the first waits for a sandbox. */
static void begin(struct claimed_agent *claimed, void **state, const char *call)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;

    strbuf_appendf(&script, CALLS(COMMAND("x") ", %s"), call);
    claimed_agent_begin_pending(claimed, *state, script.text);
}

static size_t last_call(const struct agent *agent)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    history_find_pending(&agent->history, &pending);
    return pending.items[pending.n - 1];
}

/* Runs the last of the pending calls; gives its observation. */
static int run(struct claimed_agent *claimed, struct strbuf *seen, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    json_auto_t *json = NULL;
    size_t action = last_call(&claimed->agent);

    if (start_child_run(&claimed->agent, action, err) < 0)
        return -1;
    assert_non_null(history_find_result(&claimed->agent.history, action));
    step_last_event(claimed, "ObservationEvent", &event);
    step_check(json_parse(event.text, event.len, &json, err), err);
    json_append_text(seen, json_object_get(json, "observation"));
    assert_json_at(seen->text, "kind", "\"StartChildConversationObservation\"");
    return 0;
}

static void load_child(struct claimed_agent *claimed, struct conversation *child)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    struct db *db = claimed->fixture->context.db;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    step_check(
        conversation_store_load_any(db, &claimed->agent.lease.conversation_id, &parent, &err),
        &err);
    assert_non_null(parent.children);
    assert_true(uuid_parse(parent.children, &id));
    step_check(conversation_store_load_any(db, &id, child, &err), &err);
}

/* Deletes the child, so that no other test's run finds it waiting. */
static void end_with(struct claimed_agent *claimed, const struct conversation *child)
{
    const struct conversation_scope scope = {.user_id = claimed->fixture->user_id};
    struct error err = ERROR_INIT;

    step_check(conversation_store_delete(claimed->fixture->context.db, &scope, &child->id, &err),
               &err);
    claimed_agent_end(claimed);
}

static void assert_text_at(const char *json, const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *value = json_text_of(expected);

    json_append_text(&text, value);
    assert_json_at(json, path, text.text);
}

/* A child that shares its parent's folder, or has a worktree of its own. */
static void assert_started(void **state, const char *call, const char *folder,
                           const char *isolation, const char *words)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct claimed_agent claimed;
    struct uuid action = UUID_INIT;
    struct uuid expected = UUID_INIT;
    struct error err = ERROR_INIT;

    begin(&claimed, state, call);
    action = claimed.agent.history.items[last_call(&claimed.agent)].id;
    expected = child_conversation_id(&claimed.agent.conversation.id, &action);
    step_check(run(&claimed, &seen, &err), &err);
    load_child(&claimed, &child);
    assert_string_equal(child.id.text, expected.text);
    assert_string_equal(child.parent_id.text, claimed.agent.conversation.id.text);
    assert_string_equal(child.title, "Part");
    assert_string_equal(conversation_working_dir(&child), folder);
    assert_string_equal(child.runtime_session, "u-test");
    assert_false(child.is_sub_agent);
    assert_true(child.is_wanted);
    strbuf_appendf(&text,
                   "Conversation %s was started in %s, %s It runs independently from now on.",
                   child.id.text, folder, words);
    assert_text_at(seen.text, "content[0].text", text.text);
    assert_json_at(seen.text, "is_error", "false");
    assert_text_at(seen.text, "conversation_id", child.id.text);
    assert_text_at(seen.text, "parent_conversation_id", claimed.agent.conversation.id.text);
    assert_json_at(seen.text, "status", "\"idle\"");
    assert_json_at(seen.text, "title", "\"Part\"");
    assert_text_at(seen.text, "workspace", folder);
    assert_text_at(seen.text, "isolation", isolation);
    assert_false(claimed.agent.is_over);
    end_with(&claimed, &child);
}

#define TITLE ", \"title\": \"Part\""
#define SHARED ", \"isolation\": \"shared\""

static void child_in_the_same_folder_is_told(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_commands = stub_n_commands(fixture->stub);

    assert_started(state, START(TITLE SHARED), "/workspace/project", "shared",
                   "the folder of this one.");
    assert_int_equal(stub_n_commands(fixture->stub), n_commands);
}

static void child_gets_a_worktree_where_there_is_a_repository(void **state)
{
    struct run_fixture *fixture = *state;

    stub_set_command(fixture->stub, 0, WORKTREE);
    assert_started(state, START(TITLE), WORKTREE, "worktree", "its own git worktree.");
    assert_started(state, START(TITLE ", \"isolation\": \"worktree\""), WORKTREE, "worktree",
                   "its own git worktree.");
    stub_set_command(fixture->stub, NO_REPOSITORY, "");
    assert_started(state, START(TITLE), "/workspace/project", "shared", "the folder of this one.");
}

static void assert_problem(void **state, const char *call, const char *words)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, call);
    step_check(run(&claimed, &seen, &err), &err);
    assert_text_at(seen.text, "content[0].text", words);
    assert_json_at(seen.text, "is_error", "true");
    assert_text_at(seen.text, "parent_conversation_id", claimed.agent.conversation.id.text);
    assert_json_at(seen.text, "conversation_id", NULL);
    assert_json_at(seen.text, "isolation", NULL);
    step_check(conversation_store_load_any(claimed.fixture->context.db,
                                           &claimed.agent.lease.conversation_id, &parent, &err),
               &err);
    assert_null(parent.children);
    claimed_agent_end(&claimed);
}

static void problems_are_told_and_no_child_is_started(void **state)
{
    struct run_fixture *fixture = *state;

    stub_set_command(fixture->stub, 1, "fatal: no space");
    assert_problem(state, START(TITLE), "The worktree could not be created: fatal: no space");
    assert_problem(state,
                   CALL("start_child_conversation", "{\"task\": \" \\n\", \"title\": \"Part\"}"),
                   "The task is empty.");
}

/* The store's refusal is told like others. */
static void child_whose_id_is_taken_is_told(void **state)
{
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    CLEANUP(conversation_done) struct conversation taken = CONVERSATION_INIT;
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, START(SHARED));
    taken.id = child_conversation_id(&claimed.agent.conversation.id,
                                     &claimed.agent.history.items[last_call(&claimed.agent)].id);
    strbuf_appendf(&more, "{\"conversation_id\": \"%s\"}", taken.id.text);
    taken.id = run_new_conversation(*state, UNUSED_SCRIPT, more.text);
    step_check(run(&claimed, &seen, &err), &err);
    assert_json_at(seen.text, "is_error", "true");
    assert_non_null(strstr(seen.text, "already exists"));
    end_with(&claimed, &taken);
}

static void stopped_run_starts_no_child(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, START(""));
    run_control_request(&claimed.control, STOP_INTERRUPT);
    assert_int_equal(start_child_run(&claimed.agent, last_call(&claimed.agent), &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    claimed_agent_end(&claimed);
}

int start_child_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_in_the_same_folder_is_told),
        cmocka_unit_test(child_gets_a_worktree_where_there_is_a_repository),
        cmocka_unit_test(problems_are_told_and_no_child_is_started),
        cmocka_unit_test(child_whose_id_is_taken_is_told),
        cmocka_unit_test(stopped_run_starts_no_child),
    };

    return cmocka_run_group_tests_name("worker/start_child", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
