/*
 * What a run asks its MCP servers before its model's first call, and when it asks again.
 */
#include "worker/agent/mcp/server_listing.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/core/run_control.h"
#include "worker/mcp/mcp_test.h"

#define SAYS "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"
/* Less than a server has for its list. */
enum { UNHURRIED_MS = 20000 };

#define SAID "S(stats) Message(agent) S(finished)"
#define LIST(name)                                                                                 \
    ANSWER("{\"id\":2,\"result\":{\"tools\":[{\"name\":\"" name "\",\"description\":\"D\"}]}}")

static struct uuid new_conversation(struct run_fixture *fixture, struct test_server *server)
{
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;

    mcp_start_request(server, &more);
    return run_new_conversation(fixture, SAYS, more.text);
}

/* Its servers are called a and b. */
static struct uuid new_conversation_of_two(struct run_fixture *fixture, struct test_server *one,
                                           struct test_server *two)
{
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;

    strbuf_appendf(&more, "{\"agent\": {\"mcp_config\": {\"a\": {\"url\": \"%s\"}",
                   test_server_url(one, "/"));
    strbuf_appendf(&more, ", \"b\": {\"url\": \"%s\"}}}}", test_server_url(two, "/"));
    return run_new_conversation(fixture, SAYS, more.text);
}

/* The value of the last state event. */
static void assert_listed(struct run_fixture *fixture, const struct uuid *id, const char *path,
                          const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(event_store_load_after(fixture->context.db, id, &history, &err), 0);
    for (size_t i = 0; i < history.n; i++) {
        if (strcmp(json_text_or(stored_event_json(&history.items[i]), "key", ""), "agent_state") !=
            0)
            continue;
        strbuf_reset(&event);
        json_append_text(&event, json_object_get(stored_event_json(&history.items[i]), "value"));
    }
    assert_json_at(event.text, path, expected);
}

static void a_server_is_asked_once(void **state)
{
    static const struct test_reply replies[] = {GREETING, LIST("find")};
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id = new_conversation(fixture, server);

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "S(agent_state) " SAID);
    assert_listed(fixture, &id, "",
                  "{\"mcp_servers\": {\"one\": {\"tools\": [\"find\"]}}, \"skipped\": []}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_int_equal(test_server_n_requests(server), 3);
    assert_non_null(strstr(test_server_request(server, 2), "of-the-test"));
    assert_non_null(strstr(test_server_request(server, 2), "2025-03-26"));
    test_server_stop(server);
}

static void a_server_that_failed_is_asked_by_each_run_and_told_of_once(void **state)
{
    static const struct test_reply replies[] = {REFUSAL("500"), REFUSAL("500"), GREETING,
                                                LIST("late")};
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id = new_conversation(fixture, server);

    run_to_end(fixture, &id);
    assert_listed(fixture, &id, "mcp_servers.one",
                  "{\"error\": \"The server refused the request with HTTP status 500\"}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(agent_state) " SAID
                         " S(idle) Message(user) S(last_user_message_id) S(running) " SAID);
    run_say(fixture, &id, "once more");
    run_to_end(fixture, &id);
    assert_listed(fixture, &id, "mcp_servers.one", "{\"tools\": [\"late\"]}");
    assert_int_equal(test_server_n_requests(server), 5);
    test_server_stop(server);
}

/* Of two servers, only the one that failed is asked again. */
static void a_server_that_answered_is_not_asked_again(void **state)
{
    static const struct test_reply good[] = {GREETING, LIST("find")};
    static const struct test_reply bad[] = {REFUSAL("500"), GREETING, LIST("find")};
    struct run_fixture *fixture = *state;
    struct test_server *one = test_server_start(good, ARRAY_SIZE(good), NULL);
    struct test_server *two = test_server_start(bad, ARRAY_SIZE(bad), NULL);
    struct uuid id = new_conversation_of_two(fixture, one, two);

    run_to_end(fixture, &id);
    assert_listed(fixture, &id, "mcp_servers.a", "{\"tools\": [\"a_find\"]}");
    run_say(fixture, &id, "again");
    run_to_end(fixture, &id);
    assert_listed(fixture, &id, "mcp_servers",
                  "{\"a\": {\"tools\": [\"a_find\"]}, \"b\": {\"tools\": [\"b_find\"]}}");
    assert_int_equal(test_server_n_requests(one), 3);
    assert_int_equal(test_server_n_requests(two), 4);
    test_server_stop(one);
    test_server_stop(two);
}

static void servers_are_asked_at_once(void **state)
{
    /* Neither answers before both have the question: its reply waits for the other's. */
    static const struct test_reply held[] = {{.bytes = "", .ending = TEST_HOLD}};
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct test_server *one = test_server_start(held, 1, NULL);
    struct test_server *two = test_server_start(held, 1, NULL);
    struct background_run run;
    struct uuid id;

    strbuf_appendf(&more, "{\"agent\": {\"mcp_config\": {\"a\": {\"url\": \"%s\"}",
                   test_server_url(one, "/"));
    strbuf_appendf(&more, ", \"b\": {\"url\": \"%s\"}}}}", test_server_url(two, "/"));
    id = run_new_conversation(fixture, SAYS, more.text);
    background_run_start(&run, fixture, &id);
    assert_true(test_server_wait(one, 1));
    assert_true(test_server_wait(two, 1));
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_row(fixture, &id, "paused/-/-");
    test_server_stop(one);
    test_server_stop(two);
}

/* Nor is any of the servers waited for. */
static void an_interrupted_listing_is_not_stored(void **state)
{
    static const struct test_reply held[] = {{.bytes = "", .ending = TEST_HOLD}};
    struct run_fixture *fixture = *state;
    struct test_server *one = test_server_start(held, 1, NULL);
    struct test_server *two = test_server_start(held, 1, NULL);
    struct uuid id = new_conversation_of_two(fixture, one, two);
    struct background_run run;
    int64_t begun_ms = 0;

    background_run_start(&run, fixture, &id);
    assert_true(test_server_wait(one, 1));
    assert_true(test_server_wait(two, 1));
    begun_ms = clock_monotonic_ms();
    run_control_request(&run.control, STOP_INTERRUPT);
    background_run_join(&run);
    assert_true(clock_monotonic_ms() - begun_ms < UNHURRIED_MS);
    assert_log(fixture, &id, BEGINNING "S(paused) Interrupt");
    test_server_stop(one);
    test_server_stop(two);
}

static void an_agent_without_servers_has_no_listing(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, SAYS,
                                          "{\"agent\": {\"mcp_config\": {\"off\":"
                                          " {\"url\": \"http://x\", \"enabled\": false}}}}");

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING SAID);
}

static void a_program_is_an_error_of_its_server_if_it_cannot_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture, SAYS, "{\"agent\": {\"mcp_config\": {\"here\": {\"command\": \"none\"}}}}");

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "S(agent_state) " SAID);
    assert_listed(fixture, &id, "mcp_servers.here.tools", NULL);
}

static struct uuid run_with_a_credential(struct run_fixture *fixture, struct test_server *server)
{
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    struct uuid id = {""};

    strbuf_appendf(&more,
                   "{\"agent\": {\"mcp_config\": {\"one\": {\"url\": \"%s\", \"headers\":"
                   " {\"Authorization\": \"Token of-the-server\"}}}}}",
                   test_server_url(server, "/mcp"));
    id = run_new_conversation(fixture, SAYS, more.text);
    run_to_end(fixture, &id);
    return id;
}

/* A server that repeats what it was sent. */
static void credentials_do_not_stand_in_a_listing(void **state)
{
    static const struct test_reply replies[] = {
        GREETING,
        ANSWER("{\"id\":2,\"result\":{\"tools\":[{\"name\":\"x\",\"description\":"
               "\"uses of-the-server\",\"inputSchema\":{\"title\":\"of-the-server\"}}]}}")};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id;

    id = run_with_a_credential(fixture, server);
    assert_non_null(strstr(test_server_request(server, 0), "Token of-the-server"));
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND spec::text LIKE"
                   " '%%uses <secret-hidden>%%' AND spec::text NOT LIKE '%%of-the-server%%'",
                   id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
    test_server_stop(server);
}

/* Stored words of a failing server are masked, too. */
static void credentials_do_not_stand_in_a_reason(void **state)
{
    static const struct test_reply replies[] = {
        ANSWER("{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no of-the-server here\"}}")};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id;

    id = run_with_a_credential(fixture, server);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND spec::text LIKE"
                   " '%%no <secret-hidden> here%%' AND spec::text NOT LIKE '%%of-the-server%%'",
                   id.text);
    assert_int_equal(test_sql_count(sql.text), 1);
    test_server_stop(server);
}

/* Its model is asked twice; the server, which would cost time again, is not. */
static void a_server_that_failed_is_asked_once_in_a_run(void **state)
{
    static const struct test_reply replies[] = {REFUSAL("500")};
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct uuid id;

    mcp_start_request(server, &more);
    id = run_new_conversation(
        fixture,
        "{\"turns\": [{\"steps\": [{\"calls\": [{\"name\": \"think\", \"arguments\":"
        " {\"thought\": \"hm\"}}]}, {\"text\": \"hello\"}]}]}",
        more.text);
    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

int server_listing_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_asked_once),
        cmocka_unit_test(a_server_that_failed_is_asked_by_each_run_and_told_of_once),
        cmocka_unit_test(a_server_that_answered_is_not_asked_again),
        cmocka_unit_test(servers_are_asked_at_once),
        cmocka_unit_test(an_interrupted_listing_is_not_stored),
        cmocka_unit_test(an_agent_without_servers_has_no_listing),
        cmocka_unit_test(a_program_is_an_error_of_its_server_if_it_cannot_run),
        cmocka_unit_test(credentials_do_not_stand_in_a_listing),
        cmocka_unit_test(credentials_do_not_stand_in_a_reason),
        cmocka_unit_test(a_server_that_failed_is_asked_once_in_a_run),
    };

    return cmocka_run_group_tests_name("worker/server_listing", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
