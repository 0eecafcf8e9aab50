/*
 * What a run reads of its workspace, and when.
 */
#include "worker/agent/sandbox/project_reading.h"

#include <string.h>

#include "base/json.h"
#include "model/event/event.h"
#include "model/prompt/knowledge_request.h"
#include "store/conversation/conversation_store.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent_test.h"
#include "worker/sandbox/project_reading_fixture.h"

#define ASKS_WITH_SECRET                                                                           \
    "{\"secrets\": {\"TOKEN\": \"opensesame\"}, \"agent\": {\"agent_context\":"                    \
    " {\"load_project_skills\": true}}}"
/* Place 21: the project's .openhands/hooks.json. */
#define HOOKS                                                                                      \
    "{\"files\": [{\"place\": 21, \"path\": \"/workspace/project/.openhands/hooks.json\","         \
    " \"text\": \"{\\\"Stop\\\": [{\\\"hooks\\\": [{\\\"command\\\": \\\"make\\\"}]}]}\"}]}"

static void workspace_is_read_once(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);

    stub_set_files(fixture->stub, FILES);
    run_to_end(fixture, &id);
    assert_log(fixture, &id, FIRST "S(agent_state) S(stats) Message(agent) S(finished)");
    stub_set_files(fixture->stub, "{}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 1);
}

static void conversation_that_does_not_ask_does_not_wait(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");
    size_t n_readings = stub_n_readings(fixture->stub);

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_log(fixture, &id, FIRST "S(stats) Message(agent) S(finished)");
    assert_int_equal(stub_n_readings(fixture->stub), n_readings);
}

/* The model answers nevertheless: only a call needs the sandbox. */
static void sandbox_that_does_not_start_leaves_the_run_without(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);

    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_log(fixture, &id, FIRST "S(stats) Message(agent) S(finished)");
    /* The model has read its prompt: that stays. */
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               FIRST "S(stats) Message(agent) S(finished) S(idle) Message(user)"
                     " S(last_user_message_id) S(running) S(stats) Message(agent) S(finished)");
}

static void nonsense_of_a_sandbox_is_read_as_nothing(void **state)
{
    static const char *const replies[] = {"[1, 2]", "{\"files\": {\"a\": 1}, \"skipped\": 5}",
                                          "{\"files\": [[], 5, {\"place\": 1e300}]}"};
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct uuid id = run_new_conversation(fixture, SAYS, ASKS);

        stub_set_files(fixture->stub, replies[i]);
        run_to_end(fixture, &id);
        assert_log(fixture, &id, FIRST "S(agent_state) S(stats) Message(agent) S(finished)");
    }
}

/* A claimed conversation whose workspace has just been read. */
static void begin_read_files(struct claimed_agent *claimed, struct run_fixture *fixture,
                             const char *more, const char *files)
{
    struct uuid id = run_new_conversation(fixture, SAYS, more);
    struct error err = ERROR_INIT;

    stub_set_files(fixture->stub, files);
    claimed_agent_begin(claimed, fixture, &id);
    if (project_reading_settle(&claimed->agent, &err) < 0)
        fail_msg("%s", err.message);
}

static void begin_read(struct claimed_agent *claimed, struct run_fixture *fixture, const char *more)
{
    begin_read_files(claimed, fixture, more, FILES);
}

static void model_reads_what_was_found_in_the_events_places(void **state)
{
    struct claimed_agent claimed;
    json_auto_t *messages = json_array();
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    begin_read(&claimed, *state, ASKS);
    (void)messages_append(messages, &claimed.agent.history, 0);
    json_append_text(&text, messages);
    assert_non_null(strstr(text.text, "Use ninja"));
    /* The first message was stored before. */
    assert_json_at(text.text, "[1].content[0].text", "\"go\"");
    assert_non_null(strstr(text.text, "Go with opensesame."));
    claimed_agent_end(&claimed);
}

static void skills_are_kept_for_later_messages(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;

    begin_read(&claimed, *state, ASKS);
    json_append_text(&spec, claimed.agent.conversation.spec);
    assert_json_at(spec.text, "activated_knowledge_skills", "[\"going\"]");
    assert_json_at(spec.text, "project_skills[1].name", "\"going\"");
    claimed_agent_end(&claimed);
}

static void secrets_in_files_are_masked(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    begin_read(&claimed, *state, ASKS_WITH_SECRET);
    json_append_text(&spec, claimed.agent.conversation.spec);
    run_last_event(*state, &claimed.agent.lease.conversation_id, "ConversationStateUpdateEvent",
                   &event);
    assert_null(strstr(spec.text, "opensesame"));
    assert_null(strstr(event.text, "opensesame"));
    assert_non_null(strstr(event.text, "Use ninja, not <secret-hidden>."));
    claimed_agent_end(&claimed);
}

static void hooks_are_kept_and_told(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    begin_read_files(&claimed, *state, ASKS, HOOKS);
    json_append_text(&spec, claimed.agent.conversation.spec);
    assert_json_at(spec.text, "hook_config.stop[0].hooks[0].command", "\"make\"");
    run_last_event(*state, &claimed.agent.lease.conversation_id, "ConversationStateUpdateEvent",
                   &event);
    assert_json_at(event.text, "key", "\"hook_config\"");
    assert_json_at(event.text, "value.stop[0].hooks[0].command", "\"make\"");
    claimed_agent_end(&claimed);
}

static void install_skill(const struct run_fixture *fixture, const char *name, const char *body)
{
    const struct document_scope scope = {.db = fixture->context.db,
                                         .keyring = &fixture->context.keyring,
                                         .user_id = fixture->user_id};
    CLEANUP(document_done) struct document skill = document_new(COLLECTION_INSTALLED_SKILLS, name);
    struct error err = ERROR_INIT;

    json_decref(skill.body);
    if (json_parse(body, strlen(body), &skill.body, &err) < 0 ||
        document_store_put(&scope, &skill, 0, &err) < 0)
        fail_msg("%s", err.message);
}

#define INSTALLED(name) "\"skills\": [{\"name\": \"" name "\", \"content\": \"Of " name ".\"}]"

/* The user's own data is not for an agent that a sandbox's key started. */
static void skills_of_the_user_are_read_for_the_users_own_agents(void **state)
{
    static const struct {
        const char *more;
        const char *session;
        bool is_read;
    } rows[] = {
        {"{\"agent\": {\"agent_context\": {\"load_user_skills\": true}}}", "u-test", true},
        {"{\"agent\": {\"agent_context\": {\"load_user_skills\": true}}}", "s-test", false},
        {"{\"agent\": {\"agent_context\": {\"load_memory\": true}}}", "u-test", false},
    };
    struct run_fixture *fixture = *state;

    install_skill(fixture, "on", "{" INSTALLED("mine") "}");
    install_skill(fixture, "off", "{\"enabled\": false, " INSTALLED("other") "}");
    stub_set_files(fixture->stub, "{}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct uuid id = run_new_conversation(fixture, SAYS, rows[i].more);
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
        struct claimed_agent claimed;
        struct error err = ERROR_INIT;

        strbuf_appendf(&sql, "UPDATE conversations SET runtime_session = '%s' WHERE id = '%s'",
                       rows[i].session, id.text);
        test_sql(sql.text);
        claimed_agent_begin(&claimed, fixture, &id);
        if (project_reading_settle(&claimed.agent, &err) < 0)
            fail_msg("%s", err.message);
        json_append_text(&spec, claimed.agent.conversation.spec);
        assert_json_at(spec.text, "project_skills[0].name", rows[i].is_read ? "\"mine\"" : NULL);
        assert_json_at(spec.text, "project_skills[1]", NULL);
        claimed_agent_end(&claimed);
    }
    test_sql("DELETE FROM documents WHERE collection = 'installed_skills'");
}

/* --- readings on request --- */

#define OTHER_FILES                                                                                \
    "{\"files\": [{\"place\": 18, \"path\": \"/workspace/project/AGENTS.md\","                     \
    " \"text\": \"Use make.\"}, {\"place\": 14,"                                                   \
    " \"path\": \"/workspace/project/.openhands/skills/going.md\","                                \
    " \"text\": \"---\\ntriggers: [go, again]\\n---\\nGo on foot.\"}]}"

/* What a client asks for. */
static void ask_anew(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *value = knowledge_request_event_value(true);
    struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    if (conversation_store_load_any(fixture->context.db, id, &row, &err) < 0)
        fail_msg("%s", err.message);
    knowledge_request_add(row.spec);
    write.spec = row.spec;
    event_add_state(&events, "agent_state", value);
    if (conversation_store_write(fixture->context.db, &row, &events, &write, &err) < 0)
        fail_msg("%s", err.message);
}

static int64_t n_waiting(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT coalesce((spec::json ->> '" KNOWLEDGE_REQUESTS "')::int, 0)"
                   " FROM conversations WHERE id = '%s'",
                   id->text);
    return test_sql_count(sql.text);
}

#define AGAIN "S(idle) Message(user) S(last_user_message_id) "
#define ANSWERED "S(stats) Message(agent) S(finished) "

static void requests_before_a_call_are_one_reading(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);

    stub_set_files(fixture->stub, FILES);
    run_to_end(fixture, &id);
    stub_set_files(fixture->stub, OTHER_FILES);
    ask_anew(fixture, &id);
    ask_anew(fixture, &id);
    for (int i = 0; i < 2; i++) {
        run_say(fixture, &id, "again");
        run_to_end(fixture, &id);
    }
    assert_log(fixture, &id,
               FIRST "S(agent_state) " ANSWERED "S(agent_state) S(agent_state) " AGAIN
                     "S(running) S(agent_state) " ANSWERED AGAIN
                     "S(running) S(stats) Message(agent) S(finished)");
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
    assert_int_equal(n_waiting(&id), 0);
}

static void run_in_progress_reads_anew(void **state)
{
    struct claimed_agent claimed;
    json_auto_t *messages = json_array();
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    begin_read(&claimed, *state, ASKS);
    stub_set_files(claimed.fixture->stub, OTHER_FILES);
    reading_settle(&claimed);
    ask_anew(claimed.fixture, &claimed.agent.lease.conversation_id);
    reading_hear(&claimed);
    claimed.agent.has_listed_servers = true;
    reading_settle(&claimed);
    assert_false(claimed.agent.has_listed_servers);
    assert_int_equal(n_waiting(&claimed.agent.lease.conversation_id), 0);
    (void)messages_append(messages, &claimed.agent.history, 0);
    json_append_text(&text, messages);
    assert_non_null(strstr(text.text, "Use make."));
    assert_null(strstr(text.text, "Use ninja"));
    claimed_agent_end(&claimed);
}

/* The files may have been read before they changed. */
static void request_during_a_reading_gets_one_of_its_own(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    ask_anew(fixture, &id);
    claimed_agent_begin(&claimed, fixture, &id);
    ask_anew(fixture, &id);
    reading_settle(&claimed);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
    assert_int_equal(n_waiting(&id), 0);
    claimed_agent_end(&claimed);
}

static void request_stays_while_the_sandbox_cannot_be_read(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    ask_anew(fixture, &id);
    stub_refuse_start(fixture->stub, "no room");
    claimed_agent_begin(&claimed, fixture, &id);
    reading_settle(&claimed);
    stub_refuse_start(fixture->stub, NULL);
    reading_settle(&claimed);
    assert_int_equal(stub_n_readings(fixture->stub), n_readings);
    assert_int_equal(n_waiting(&id), 1);
    /* The client asks once more. */
    ask_anew(fixture, &id);
    reading_hear(&claimed);
    reading_settle(&claimed);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 1);
    assert_int_equal(n_waiting(&id), 0);
    ask_anew(fixture, &id);
    reading_hear(&claimed);
    reading_settle(&claimed);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
    assert_int_equal(n_waiting(&id), 0);
    claimed_agent_end(&claimed);
}

/* --- readings on request of a hook --- */

static void next_run_reads_what_one_could_not(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    size_t n_readings = stub_n_readings(fixture->stub);

    stub_set_files(fixture->stub, FILES);
    ask_anew(fixture, &id);
    stub_refuse_start(fixture->stub, "no room");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_int_equal(n_waiting(&id), 1);
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 1);
    assert_int_equal(n_waiting(&id), 0);
}

static void agent_without_knowledge_lists_its_servers_anew(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, "{}");
    size_t n_readings = stub_n_readings(fixture->stub);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct claimed_agent claimed;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET spec = (spec::jsonb || '{\"" MCP_LISTING
                   "\": {}}')::text WHERE id = '%s'",
                   id.text);
    test_sql(sql.text);
    claimed_agent_begin(&claimed, fixture, &id);
    reading_settle(&claimed);
    assert_non_null(json_object_get(claimed.agent.conversation.spec, MCP_LISTING));
    ask_anew(fixture, &id);
    reading_hear(&claimed);
    reading_settle(&claimed);
    assert_null(json_object_get(claimed.agent.conversation.spec, MCP_LISTING));
    assert_int_equal(n_waiting(&id), 0);
    assert_int_equal(stub_n_readings(fixture->stub), n_readings);
    run_last_event(fixture, &id, "ConversationStateUpdateEvent", &event);
    assert_json_at(event.text, "value.project_knowledge_requested", "false");
    claimed_agent_end(&claimed);
}

/* The model has read the skill as it was, with a message that it has answered. */
static void changed_skill_comes_with_the_next_message(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    json_auto_t *messages = json_array();
    json_auto_t *rules = json_array();
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    run_to_end(fixture, &id);
    stub_set_files(fixture->stub, OTHER_FILES);
    ask_anew(fixture, &id);
    run_say(fixture, &id, "again");
    claimed_agent_begin(&claimed, fixture, &id);
    json_push(rules, json_text_of("going"));
    json_put(claimed.agent.conversation.agent_state, AGENT_STATE_PATH_RULES, json_incref(rules));
    reading_settle(&claimed);
    (void)messages_append(messages, &claimed.agent.history, 0);
    json_append_text(&text, messages);
    assert_json_at(text.text, "[1].content[0].text", "\"go\"");
    assert_non_null(strstr(text.text, "Go with opensesame."));
    assert_json_at(text.text, "[1].content[2]", NULL);
    assert_json_at(text.text, "[3].content[0].text", "\"again\"");
    assert_non_null(strstr(text.text, "Go on foot."));
    json_append_text(&spec, claimed.agent.conversation.spec);
    assert_json_at(spec.text, "activated_knowledge_skills", "[\"going\"]");
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND agent_state::jsonb ->"
                   " '" AGENT_STATE_PATH_RULES "' = '[]'",
                   id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
    claimed_agent_end(&claimed);
}

/* A condensed history may have the user's first message, and none of the answers. */
static void forgotten_message_activates_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, ASKS);
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct claimed_agent claimed;

    stub_set_files(fixture->stub, FILES);
    claimed_agent_begin(&claimed, fixture, &id);
    for (size_t i = 0; i < claimed.agent.history.n; i++)
        claimed.agent.history.items[i].is_forgotten = true;
    reading_settle(&claimed);
    run_last_event(fixture, &id, "ConversationStateUpdateEvent", &event);
    assert_json_at(event.text, "value.project_knowledge.messages", "{}");
    claimed_agent_end(&claimed);
}

static void hooks_of_the_workspace_are_read_anew(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    begin_read_files(&claimed, *state, ASKS, HOOKS);
    stub_set_files(claimed.fixture->stub, "{}");
    ask_anew(claimed.fixture, &claimed.agent.lease.conversation_id);
    reading_hear(&claimed);
    reading_settle(&claimed);
    run_last_event(*state, &claimed.agent.lease.conversation_id, "ConversationStateUpdateEvent",
                   &event);
    assert_json_at(event.text, "key", "\"hook_config\"");
    assert_json_at(event.text, "value", "null");
    assert_false(json_is_object(json_object_get(claimed.agent.conversation.spec, "hook_config")));
    claimed_agent_end(&claimed);
}

int project_reading_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workspace_is_read_once),
        cmocka_unit_test(conversation_that_does_not_ask_does_not_wait),
        cmocka_unit_test(sandbox_that_does_not_start_leaves_the_run_without),
        cmocka_unit_test(nonsense_of_a_sandbox_is_read_as_nothing),
        cmocka_unit_test(model_reads_what_was_found_in_the_events_places),
        cmocka_unit_test(skills_are_kept_for_later_messages),
        cmocka_unit_test(secrets_in_files_are_masked),
        cmocka_unit_test(hooks_are_kept_and_told),
        cmocka_unit_test(skills_of_the_user_are_read_for_the_users_own_agents),
        cmocka_unit_test(requests_before_a_call_are_one_reading),
        cmocka_unit_test(run_in_progress_reads_anew),
        cmocka_unit_test(request_during_a_reading_gets_one_of_its_own),
        cmocka_unit_test(request_stays_while_the_sandbox_cannot_be_read),
        cmocka_unit_test(next_run_reads_what_one_could_not),
        cmocka_unit_test(agent_without_knowledge_lists_its_servers_anew),
        cmocka_unit_test(changed_skill_comes_with_the_next_message),
        cmocka_unit_test(forgotten_message_activates_nothing),
        cmocka_unit_test(hooks_of_the_workspace_are_read_anew),
    };

    return cmocka_run_group_tests_name("worker/project_reading", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
