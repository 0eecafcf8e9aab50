/*
 * What a run reads of its workspace, and when.
 */
#include "worker/agent/sandbox/project_reading.h"

#include <string.h>

#include "base/json.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent_test.h"

#define SAYS "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"
#define ASKS                                                                                       \
    "{\"agent\": {\"agent_context\": {\"load_project_skills\": true, \"load_memory\": true,"       \
    " \"current_datetime\": \"now\"}}}"
#define ASKS_WITH_SECRET                                                                           \
    "{\"secrets\": {\"TOKEN\": \"opensesame\"}, \"agent\": {\"agent_context\":"                    \
    " {\"load_project_skills\": true}}}"
#define FIRST "SystemPrompt Message(user) S(last_user_message_id) S(running) "

/* Places 14 and 18 of the request: the project's .openhands/skills/ and its AGENTS.md. */
#define FILES                                                                                      \
    "{\"files\": [{\"place\": 18, \"path\": \"/workspace/project/AGENTS.md\","                     \
    " \"text\": \"Use ninja, not opensesame.\"}, {\"place\": 14,"                                  \
    " \"path\": \"/workspace/project/.openhands/skills/going.md\","                                \
    " \"text\": \"---\\ntriggers: [go]\\n---\\nGo with opensesame.\"}]}"

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
    };

    return cmocka_run_group_tests_name("worker/project_reading", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
