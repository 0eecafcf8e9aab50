/*
 * MCP servers that the workspace names: what a run finds, shows and uses of them.
 */
#include <string.h>

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/tools/project_servers.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_listing.h"
#include "worker/agent/sandbox/server_reading.h"
#include "worker/mcp/mcp_test.h"

#define SAYS "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"
#define SAID "S(stats) Message(agent) S(finished)"
#define AGAIN " S(idle) Message(user) S(last_user_message_id) S(running) "
#define WANTS "\"agent_context\": {\"load_project_skills\": true}"
#define LIST(id, name) ANSWER("{\"id\":" id ",\"result\":{\"tools\":[{\"name\":\"" name "\"}]}}")

/* The project's .mcp.json among all files that are read at first, and among those read again. */
enum { PLACE = 22, PLACE_AGAIN = 3 };

/* From now on the workspace's file names that URL, with these further members. */
static void set_file(struct run_fixture *fixture, int place, const char *url, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_auto_t *value = NULL;
    json_t *file = json_object();
    json_t *files = json_array();

    strbuf_appendf(&text, "{\"mcpServers\": {\"found\": {\"url\": \"%s\"%s}}}", url, more);
    json_put(file, "place", json_integer(place));
    json_put_text(file, "path", "/workspace/project/.mcp.json");
    json_put_text(file, "text", text.text);
    json_push(files, file);
    value = json_object();
    json_put(value, "files", files);
    json_append_text(&reply, value);
    stub_set_files(fixture->stub, reply.text);
}

/* The newest event that shows the workspace's servers. */
static void last_shown(struct run_fixture *fixture, const struct uuid *id, struct strbuf *out)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(event_store_load_after(fixture->context.db, id, &history, &err), 0);
    for (size_t i = 0; i < history.n; i++) {
        const json_t *value = json_object_get(stored_event_json(&history.items[i]), "value");

        if (json_object_get(value, "project_mcp_servers") == NULL)
            continue;
        strbuf_reset(out);
        json_append_text(out, value);
    }
}

/* As a client's consent is stored. */
static void consent(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET spec = jsonb_set(spec::jsonb,"
                   " '{project_servers,consents}', jsonb_build_object('found', spec::jsonb"
                   " #> '{project_servers,found,found,digest}'))::text WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}

static void withdraw(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET spec = jsonb_set(spec::jsonb,"
                   " '{project_servers,consents}', '{}')::text WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}

static void assert_listing(const struct uuid *id, const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND coalesce(spec::jsonb"
                   " #>> '{mcp_listing,%s}', 'none') = '%s'",
                   id->text, path, expected);
    if (test_sql_count(sql.text) != 1)
        fail_msg("%s is not %s", path, expected);
}

static void server_is_shown_and_not_asked(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
    struct uuid id = run_new_conversation(
        fixture, SAYS, "{\"secrets\": {\"TOKEN\": \"opensesame\"}, \"agent\": {" WANTS "}}");

    set_file(fixture, PLACE, "http://127.0.0.1:1/opensesame",
             ", \"headers\": {\"X\": \"${TOKEN}\"}");
    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "S(agent_state) S(agent_state) " SAID);
    last_shown(fixture, &id, &shown);
    assert_json_at(shown.text, "project_mcp_servers[0].name", "\"found\"");
    assert_json_at(shown.text, "project_mcp_servers[0].url",
                   "\"http://127.0.0.1:1/<secret-hidden>\"");
    assert_json_at(shown.text, "project_mcp_servers[0].source", "\"/workspace/project/.mcp.json\"");
    assert_json_at(shown.text, "project_mcp_servers[0].secrets", "[\"TOKEN\"]");
    assert_json_at(shown.text, "project_mcp_servers[0].is_consented", "false");
    assert_listing(&id, "tools", "none");
}

/* Only by runs of conversations whose workspace has named some. */
static void files_are_read_again_by_each_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS, "{\"agent\": {" WANTS "}}");
    struct uuid other;
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
    size_t n_readings = stub_n_readings(fixture->stub);

    set_file(fixture, PLACE, "https://a.example", "");
    run_to_end(fixture, &id);
    set_file(fixture, PLACE_AGAIN, "https://a.example", "");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 2);
    assert_log(fixture, &id, BEGINNING "S(agent_state) S(agent_state) " SAID AGAIN SAID);
    set_file(fixture, PLACE_AGAIN, "https://b.example", "");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(agent_state) S(agent_state) " SAID AGAIN SAID AGAIN
                         "S(agent_state) " SAID);
    last_shown(fixture, &id, &shown);
    assert_json_at(shown.text, "project_mcp_servers[0].url", "\"https://b.example\"");
    n_readings = stub_n_readings(fixture->stub);
    stub_set_files(fixture->stub, "{}");
    other = run_new_conversation(fixture, SAYS, "{\"agent\": {" WANTS "}}");
    run_to_end(fixture, &other);
    run_say(fixture, &other, "again");
    run_to_end(fixture, &other);
    assert_int_equal(stub_n_readings(fixture->stub) - n_readings, 1);
}

/* It keeps what the user has seen. */
static void sandbox_that_does_not_answer_changes_nothing(void **state)
{
    static const struct test_reply replies[] = {GREETING, LIST("2", "find")};
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id = run_new_conversation(fixture, SAYS, "{\"agent\": {" WANTS "}}");

    set_file(fixture, PLACE, test_server_url(server, "/mcp"), "");
    run_to_end(fixture, &id);
    consent(&id);
    stub_refuse_start(fixture->stub, "no room");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    stub_refuse_start(fixture->stub, NULL);
    assert_listing(&id, "tools,0,name", "found_find");
    test_server_stop(server);
}

/* The own server's tools keep their names. */
static void server_with_a_consent_is_asked_and_has_its_name_before_its_tools(void **state)
{
    static const struct test_reply own[] = {GREETING, LIST("2", "find")};
    static const struct test_reply replies[] = {GREETING, LIST("2", "find")};
    struct run_fixture *fixture = *state;
    struct test_server *one = test_server_start(own, ARRAY_SIZE(own), NULL);
    struct test_server *two = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    struct uuid id;

    strbuf_appendf(&more, "{\"agent\": {" WANTS ", \"mcp_config\": {\"one\": {\"url\": \"%s\"}}}}",
                   test_server_url(one, "/mcp"));
    id = run_new_conversation(fixture, SAYS, more.text);
    set_file(fixture, PLACE, test_server_url(two, "/mcp"), "");
    run_to_end(fixture, &id);
    assert_listing(&id, "tools,0,name", "find");
    assert_int_equal(test_server_n_requests(two), 0);
    consent(&id);
    set_file(fixture, PLACE_AGAIN, test_server_url(two, "/mcp"), "");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_listing(&id, "tools,0,name", "find");
    assert_listing(&id, "tools,1,name", "found_find");
    assert_int_equal(test_server_n_requests(one), 3);
    assert_int_equal(test_server_n_requests(two), 3);
    run_say(fixture, &id, "once more");
    run_to_end(fixture, &id);
    assert_int_equal(test_server_n_requests(two), 3);
    test_server_stop(one);
    test_server_stop(two);
}

static void server_that_has_changed_is_not_asked_any_more(void **state)
{
    static const struct test_reply replies[] = {GREETING, LIST("2", "find")};
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id = run_new_conversation(fixture, SAYS, "{\"agent\": {" WANTS "}}");
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;

    set_file(fixture, PLACE, test_server_url(server, "/mcp"), "");
    run_to_end(fixture, &id);
    consent(&id);
    set_file(fixture, PLACE_AGAIN, test_server_url(server, "/mcp"), "");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_listing(&id, "tools,0,name", "found_find");
    set_file(fixture, PLACE_AGAIN, test_server_url(server, "/mcp"),
             ", \"headers\": {\"X\": \"1\"}");
    run_say(fixture, &id, "once more");
    run_to_end(fixture, &id);
    assert_listing(&id, "tools,0,name", "none");
    assert_int_equal(test_server_n_requests(server), 3);
    last_shown(fixture, &id, &shown);
    assert_json_at(shown.text, "project_mcp_servers[0].is_consented", "false");
    test_server_stop(server);
}

static void settle(struct claimed_agent *claimed)
{
    struct agent *agent = &claimed->agent;
    struct error err = ERROR_INIT;

    agent->is_row_stale = true;
    assert_int_equal(event_writer_refresh_row(agent, &err), 0);
    server_connections_settle(agent);
    assert_int_equal(server_reading_settle(agent, &err), 0);
    assert_int_equal(server_listing_settle(agent, &err), 0);
}

/* A client's consent, or its end, counts for the next step of the run. */
static void consents_count_between_steps(void **state)
{
    static const struct test_reply replies[] = {GREETING, LIST("2", "find")};
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id = run_new_conversation(fixture, SAYS, "{\"agent\": {" WANTS "}}");
    struct claimed_agent claimed;

    set_file(fixture, PLACE, test_server_url(server, "/mcp"), "");
    run_to_end(fixture, &id);
    set_file(fixture, PLACE_AGAIN, test_server_url(server, "/mcp"), "");
    run_say(fixture, &id, "again");
    claimed_agent_begin(&claimed, fixture, &id);
    settle(&claimed);
    assert_int_equal(server_connections_of(&claimed.agent)->n, 0);
    consent(&id);
    settle(&claimed);
    assert_int_equal(server_connections_of(&claimed.agent)->n, 1);
    assert_listing(&id, "tools,0,name", "found_find");
    settle(&claimed);
    assert_int_equal(test_server_n_requests(server), 3);
    withdraw(&id);
    settle(&claimed);
    assert_int_equal(server_connections_of(&claimed.agent)->n, 0);
    assert_listing(&id, "tools,0,name", "none");
    assert_int_equal(test_server_n_requests(server), 3);
    claimed_agent_end(&claimed);
    test_server_stop(server);
}

#define HOLDS                                                                                      \
    "{\"turns\": [{\"steps\": [{\"calls\": [{\"name\": \"terminal\", \"arguments\":"               \
    " {\"command\": \"hold\"}}]}, {\"text\": \"hello\"}]}]}"

/* As a client's request writes it. */
static void consent_as_client(struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
    struct conversation_write write = {.spec = NULL};
    json_auto_t *before = NULL;
    json_auto_t *value = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &conversation, &err), 0);
    before = project_servers_event_value(conversation.spec);
    assert_int_equal(
        project_servers_consent(
            conversation.spec, "found",
            json_text_or(json_array_get(json_object_get(before, "project_mcp_servers"), 0),
                         "digest", ""),
            &err),
        0);
    value = project_servers_event_value(conversation.spec);
    event_add_state(&events, PROJECT_SERVERS_KEY, value);
    write.spec = conversation.spec;
    if (conversation_store_write(fixture->context.db, &conversation, &events, &write, &err) < 0)
        fail_msg("%s", err.message);
}

/* The run has connections to the agent's own server by then. */
static void consent_during_a_run_counts_for_its_next_step(void **state)
{
    static const struct test_reply own[] = {GREETING, LIST("2", "find")};
    static const struct test_reply replies[] = {GREETING, LIST("2", "find")};
    struct run_fixture *fixture = *state;
    struct test_server *one = test_server_start(own, ARRAY_SIZE(own), NULL);
    struct test_server *two = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    struct background_run run;
    size_t n_runs = stub_n_runs(fixture->stub) + 1;
    struct uuid id;

    strbuf_appendf(&more, "{\"agent\": {" WANTS ", \"mcp_config\": {\"one\": {\"url\": \"%s\"}}}}",
                   test_server_url(one, "/mcp"));
    id = run_new_conversation(fixture, HOLDS, more.text);
    set_file(fixture, PLACE, test_server_url(two, "/mcp"), "");
    background_run_start(&run, fixture, &id);
    assert_true(stub_wait_for_runs(fixture->stub, n_runs));
    consent_as_client(fixture, &id);
    stub_release(fixture->stub);
    background_run_join(&run);
    assert_listing(&id, "tools,1,name", "found_find");
    assert_int_equal(test_server_n_requests(one), 3);
    assert_int_equal(test_server_n_requests(two), 3);
    test_server_stop(one);
    test_server_stop(two);
}

int project_servers_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_is_shown_and_not_asked),
        cmocka_unit_test(files_are_read_again_by_each_run),
        cmocka_unit_test(sandbox_that_does_not_answer_changes_nothing),
        cmocka_unit_test(server_with_a_consent_is_asked_and_has_its_name_before_its_tools),
        cmocka_unit_test(server_that_has_changed_is_not_asked_any_more),
        cmocka_unit_test(consents_count_between_steps),
        cmocka_unit_test(consent_during_a_run_counts_for_its_next_step),
    };

    return cmocka_run_group_tests_name("worker/project_servers", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
