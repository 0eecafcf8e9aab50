/*
 * What a user may choose from: models, folders of workspaces, schemas of settings; the test of a
 * model; the cookie for links to files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secret.h"
#include "base/strbuf.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

/* --- models --- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void models_are_those_of_the_file(void **state)
{
    static const struct {
        const char *path;
        const char *answer;
    } rows[] = {
        {"/api/llm/providers", "{\"providers\":[\"one\",\"two\",\"three\"]}"},
        {"/api/llm/models", "{\"models\":[\"one/a\",\"one/b\",\"one/c\",\"two/d\",\"three/e\"]}"},
        {"/api/llm/models?provider=one", "{\"models\":[\"one/a\",\"one/b\",\"one/c\"]}"},
        {"/api/llm/models?provider=two", "{\"models\":[\"two/d\"]}"},
        {"/api/llm/models?provider=none", "{\"models\":[]}"},
        {"/api/llm/models/verified", "{\"models\":{\"one\":[\"a\"],\"three\":[\"e\"]}}"},
    };
    struct fixture *fixture = *state;
    const char *before = fixture->settings.models_file;
    char path[] = "/tmp/deft-models-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
    write_file(path, "{\"one\":{\"verified\":[\"a\"],\"others\":[\"b\",\"c\"]},"
                     "\"two\":{\"verified\":[],\"others\":[\"d\"]},\"three\":{\"verified\":"
                     "[\"e\"]}}");
    fixture->settings.models_file = path;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "GET", rows[i].path, NULL);
        assert_answer_json(&answer, 200, rows[i].answer);
    }
    write_file(path, "{");
    {
        DISPATCH(broken, ALICE, "GET", "/api/llm/providers", NULL);
        assert_int_equal(broken.status, 500);
    }
    assert_int_equal(unlink(path), 0);
    {
        DISPATCH(missing, ALICE, "GET", "/api/llm/models", NULL);
        assert_int_equal(missing.status, 500);
    }
    fixture->settings.models_file = before;
}

static void subscriptions_are_not_connected(void **state)
{
    static const char none[] = "{\"vendor\":\"openai\",\"connected\":false,\"account_email\":null,"
                               "\"expires_at\":null}";
#define OPENAI "/api/llm/subscription/openai"
    DISPATCH(models, ALICE, "GET", OPENAI "/models", NULL);
    DISPATCH(status, ALICE, "GET", OPENAI "/status", NULL);
    DISPATCH(start, ALICE, "POST", OPENAI "/device/start", NULL);
    DISPATCH(poll, ALICE, "POST", OPENAI "/device/poll", "{\"device_code\":\"x\"}");
    DISPATCH(missing, ALICE, "POST", OPENAI "/device/poll", "{}");
    DISPATCH(logout, ALICE, "POST", OPENAI "/logout", NULL);

    assert_answer_json(&models, 200, "{\"vendor\":\"openai\",\"models\":[]}");
    assert_answer_json(&status, 200, none);
    assert_answer_json(&start, 501,
                       "{\"detail\":\"Internal Server Error\",\"exception\":\"501: this server "
                       "does not connect subscriptions\"}");
    assert_answer_json(&poll, 200, none);
    assert_int_equal(missing.status, 422);
    assert_json_at(missing.body.text, "detail[0].loc", "[\"body\",\"device_code\"]");
    assert_answer_json(&logout, 200, none);
}

static void models_of_external_agents_are_none(void **state)
{
    DISPATCH(answer, ALICE, "POST", "/api/acp/models",
             "{\"agent_settings\":{\"agent_kind\":\"acp\"}}");
    DISPATCH(other, ALICE, "POST", "/api/acp/models",
             "{\"agent_settings\":{\"agent_kind\":\"openhands\"}}");
    DISPATCH(missing, ALICE, "POST", "/api/acp/models", "{}");
    DISPATCH(wrong, ALICE, "POST", "/api/acp/models",
             "{\"agent_settings\":{\"agent_kind\":\"acp\",\"acp_model\":1}}");
    DISPATCH(refresh, ALICE, "POST", "/api/acp/models",
             "{\"agent_settings\":{\"agent_kind\":\"acp\"},\"refresh\":\"x\"}");
    DISPATCH(secrets, ALICE, "POST", "/api/acp/models",
             "{\"agent_settings\":{\"agent_kind\":\"acp\"},\"secrets\":1}");

    assert_answer_json(&answer, 200,
                       "{\"error\":{\"code\":\"ACPSpawnError\",\"detail\":\"This server does not "
                       "run external agents\"},\"agent_name\":null,\"agent_version\":null,"
                       "\"current_model_id\":null,\"available_models\":[],"
                       "\"supports_runtime_model_switch\":false}");
    assert_int_equal(other.status, 422);
    assert_json_at(other.body.text, "detail[0].loc", "[\"body\",\"agent_settings\"]");
    assert_int_equal(missing.status, 422);
    assert_json_at(missing.body.text, "detail[0].loc", "[\"body\",\"agent_settings\"]");
    assert_int_equal(wrong.status, 422);
    assert_json_at(wrong.body.text, "detail[0].loc", "[\"body\",\"agent_settings\",\"acp_model\"]");
    assert_json_at(refresh.body.text, "detail[0].loc", "[\"body\",\"refresh\"]");
    assert_json_at(secrets.body.text, "detail[0].loc", "[\"body\",\"secrets\"]");
}

/* --- the test of a model --- */

#define COMPLETION                                                                                 \
    "{\"id\":\"1\",\"object\":\"chat.completion\",\"model\":\"x\",\"choices\":[{\"index\":0,"      \
    "\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],"        \
    "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}"

static struct test_answer validate(void **state, const char *url, const char *more)
{
    char body[300];

    (void)snprintf(body, sizeof(body),
                   "{\"llm\":{\"model\":\"openai/x\",\"api_key\":\"the-key\",\"base_url\":\"%s\","
                   "\"max_output_tokens\":9000%s}}",
                   url, more);
    return test_dispatch(*state, ALICE, "POST", "/api/profiles/tried/validate", body);
}

static void model_is_asked_once_and_briefly(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", COMPLETION)};
    struct test_server *server = test_server_start(replies, 1, NULL);
    CLEANUP(test_answer_done) struct test_answer answer =
        validate(state, test_server_url(server, "/v1"), "");

    assert_answer_json(&answer, 200, "{\"valid\":true,\"error\":null}");
    assert_int_equal(test_server_n_requests(server), 1);
    assert_asked(server, 0, "POST /v1/chat/completions HTTP");
    assert_asked(server, 0, "Bearer the-key");
    assert_asked(server, 0, ":16");
    assert_asked_json(server, 0, "model", "\"x\"");
    assert_not_asked(server, 0, "9000");
    assert_not_asked(server, 0, "\"stream\":true");
    assert_asked(server, 0, "Hi");
    test_server_stop(server);
}

static void model_that_refuses_is_not_tried_again(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("401 Unauthorized", "{\"error\":{\"message\":\"wrong key\"}}")};
    static const struct test_reply busy[] = {
        TEST_SAYS("503 Service Unavailable", "{\"error\":{\"message\":\"busy\"}}")};
    struct test_server *server = test_server_start(replies, 1, NULL);

    {
        CLEANUP(test_answer_done) struct test_answer answer =
            validate(state, test_server_url(server, "/v1"), "");

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "valid", "false");
        assert_json_at(answer.body.text, "error.type", "\"LLMAuthenticationError\"");
        assert_non_null(strstr(answer.body.text, "wrong key"));
    }
    test_server_stop(server);
    server = test_server_start(busy, 1, NULL);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            validate(state, test_server_url(server, "/v1"), "");

        assert_json_at(answer.body.text, "valid", "false");
        assert_json_at(answer.body.text, "error.type", "\"LLMServiceUnavailableError\"");
    }
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

static void test_of_a_model_takes_a_slot_and_gives_it_back(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", COMPLETION)};
    struct test_server *server = test_server_start(replies, 1, NULL);
    size_t n = test_take_waits(*state);

    {
        CLEANUP(test_answer_done) struct test_answer full =
            validate(state, test_server_url(server, "/v1"), "");

        assert_json_at(full.body.text, "valid", "false");
        assert_json_at(full.body.text, "error.message",
                       "\"too many requests are already waiting\"");
    }
    assert_int_equal(test_server_n_requests(server), 0);
    test_give_waits(*state, n);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            validate(state, test_server_url(server, "/v1"), "");
        assert_json_at(answer.body.text, "valid", "true");
    }
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
    test_server_stop(server);
}

static void test_of_a_model_needs_its_connection(void **state)
{
    DISPATCH(answer, ALICE, "POST", "/api/profiles/tried/validate",
             "{\"llm\":{\"model\":\"openai/x\",\"provider_connection_id\":\"none\"}}");

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "valid", "false");
    assert_json_at(answer.body.text, "error.type", "\"ProviderConnectionNotFound\"");
}

/* --- folders --- */

#define PLACE(name, path) "{\"id\":\"" path "\",\"name\":\"" name "\",\"path\":\"" path "\"}"
#define PLACES "/api/workspaces"
#define PARENTS PLACES "/parents"

static void forget_places(void)
{
    test_sql("DELETE FROM documents WHERE name = 'workspaces'");
}

static void folders_and_their_parents_are_two_lists(void **state)
{
    forget_places();
    {
        DISPATCH(none, ALICE, "GET", PLACES, NULL);
        DISPATCH(one, ALICE, "POST", PLACES,
                 "{\"workspaces\":[{\"id\":\"/a\",\"name\":\"A\",\"path\":\"/a\",\"parentPath\":"
                 "\"/\"}," PLACE("B", "/b") "]}");
        DISPATCH(parent, ALICE, "POST", PARENTS, "{\"parents\":[" PLACE("P", "/p") "]}");
        DISPATCH(again, ALICE, "POST", PLACES, "{\"workspaces\":[" PLACE("A2", "/a") "]}");
        DISPATCH(got, ALICE, "GET", PLACES, NULL);
        DISPATCH(foreign, BOB, "GET", PLACES, NULL);

        assert_answer_json(&none, 200, "{\"workspaces\":[],\"workspaceParents\":[]}");
        assert_int_equal(one.status, 200);
        assert_json_at(one.body.text, "workspaces[0].parentPath", "\"/\"");
        assert_json_at(one.body.text, "workspaces[1].name", "\"B\"");
        assert_json_at(parent.body.text, "workspaceParents", "[" PLACE("P", "/p") "]");
        assert_json_at(again.body.text, "workspaces[0].name", "\"B\"");
        assert_json_at(again.body.text, "workspaces[1].name", "\"A2\"");
        assert_json_at(again.body.text, "workspaces[2]", NULL);
        assert_answer_json(&got, 200, again.body.text);
        assert_answer_json(&foreign, 200, none.body.text);
    }
    {
        DISPATCH(gone, ALICE, "DELETE", PLACES "?path=/a", NULL);
        DISPATCH(never, ALICE, "DELETE", PLACES "?path=/p", NULL);
        DISPATCH(missing, ALICE, "DELETE", PLACES, NULL);
        DISPATCH(parent, ALICE, "DELETE", PARENTS "?path=/p", NULL);
        DISPATCH(got, ALICE, "GET", PLACES, NULL);

        assert_answer_json(&gone, 200, "{\"deleted\":true}");
        assert_answer_json(&never, 404, "{\"detail\":\"Workspace not found\"}");
        assert_int_equal(missing.status, 422);
        assert_json_at(missing.body.text, "detail[0].loc", "[\"query\",\"path\"]");
        assert_answer_json(&parent, 200, "{\"deleted\":true}");
        assert_json_at(got.body.text, "workspaces[0].name", "\"B\"");
        assert_json_at(got.body.text, "workspaces[1]", NULL);
        assert_json_at(got.body.text, "workspaceParents", "[]");
    }
}

static void wrong_folders_are_named(void **state)
{
    static const struct {
        const char *path;
        const char *body;
        const char *where;
    } rows[] = {
        {PLACES, "{}", "[\"body\",\"workspaces\"]"},
        {PARENTS, "{}", "[\"body\",\"parents\"]"},
        {PLACES, "{\"workspaces\":[{\"name\":\"n\",\"path\":\"p\"}]}",
         "[\"body\",\"workspaces\",0,\"id\"]"},
        {PLACES, "{\"workspaces\":[{\"id\":\"i\",\"path\":\"p\"}]}",
         "[\"body\",\"workspaces\",0,\"name\"]"},
        {PLACES, "{\"workspaces\":[{\"id\":\"i\",\"name\":\"n\"}]}",
         "[\"body\",\"workspaces\",0,\"path\"]"},
        {PLACES, "{\"workspaces\":[" PLACE("A", "/a") "," PLACE("", "/b") "]}",
         "[\"body\",\"workspaces\",1,\"name\"]"},
        {PLACES, "{\"workspaces\":[{\"id\":\"i\",\"name\":\"n\",\"path\":\"p\",\"parentPath\":1}]}",
         "[\"body\",\"workspaces\",0,\"parentPath\"]"},
    };

    forget_places();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "POST", rows[i].path, rows[i].body);

        if (answer.status != 422)
            fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
        assert_json_at(answer.body.text, "detail[0].loc", rows[i].where);
    }
    {
        DISPATCH(got, ALICE, "GET", PLACES, NULL);
        DISPATCH(
            parent, ALICE, "POST", PARENTS,
            "{\"parents\":[{\"id\":\"i\",\"name\":\"n\",\"path\":\"p\",\"parentPath\":\"x\"}]}");

        assert_answer_json(&got, 200, "{\"workspaces\":[],\"workspaceParents\":[]}");
        assert_json_at(parent.body.text, "workspaceParents[0].parentPath", NULL);
    }
}

static void folders_have_greatest_lengths(void **state)
{
    static const struct {
        const char *before; /* the member; the others come first */
        size_t max;
    } rows[] = {
        {"\"name\":\"n\",\"path\":\"p\",\"id", 4096},
        {"\"id\":\"i\",\"path\":\"p\",\"name", 256},
        {"\"id\":\"i\",\"name\":\"n\",\"path", 4096},
        {"\"id\":\"i\",\"name\":\"n\",\"path\":\"p\",\"parentPath", 4096},
    };
    char text[4200];
    char body[4400];

    for (size_t i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
        bool is_long = i % 2 == 1;

        memset(text, 'a', sizeof(text));
        text[rows[i / 2].max + is_long] = '\0';
        (void)snprintf(body, sizeof(body), "{\"workspaces\":[{%s\":\"%s\"}]}", rows[i / 2].before,
                       text);
        {
            DISPATCH(answer, ALICE, "POST", PLACES, body);
            assert_int_equal(answer.status, is_long ? 422 : 200);
        }
    }
    forget_places();
}

static void a_thousand_folders_are_kept(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    forget_places();
    strbuf_append(&body, "{\"workspaces\":[");
    for (int i = 0; i < 1000; i++)
        strbuf_appendf(&body, "%s{\"id\":\"%d\",\"name\":\"%d\",\"path\":\"/%d\"}",
                       i > 0 ? "," : "", i, i, i);
    strbuf_append(&body, "]}");
    {
        DISPATCH(full, ALICE, "POST", PLACES, body.text);
        DISPATCH(more, ALICE, "POST", PLACES, "{\"workspaces\":[" PLACE("x", "/x") "]}");
        DISPATCH(same, ALICE, "POST", PLACES, "{\"workspaces\":[" PLACE("x", "/7") "]}");

        assert_int_equal(full.status, 200);
        assert_answer_json(&more, 409, "{\"detail\":\"the limit of 1000 is reached\"}");
        assert_int_equal(same.status, 200);
    }
    forget_places();
}

/* --- the cookie for links --- */

static void key_becomes_a_cookie_of_the_links_to_files(void **state)
{
    static const struct {
        const char *param;
        const char *end;
    } rows[] = {
        {"X=", "; SameSite=lax\r\n"},
        {"HTTP_X_FORWARDED_PROTO=https", "; SameSite=none; Secure; Partitioned\r\n"},
        {"HTTP_X_FORWARDED_PROTO=http", "; SameSite=lax\r\n"},
        {"REQUEST_SCHEME=https", "; SameSite=none; Secure; Partitioned\r\n"},
        {"REQUEST_SCHEME=http", "; SameSite=lax\r\n"},
        {"HTTP_HOST=localhost:8000", "; SameSite=none; Secure; Partitioned\r\n"},
        {"HTTP_HOST=127.0.0.1", "; SameSite=none; Secure; Partitioned\r\n"},
        {"HTTP_HOST=[::1]:8000", "; SameSite=none; Secure; Partitioned\r\n"},
        {"HTTP_HOST=deft.test", "; SameSite=lax\r\n"},
    };
    const struct fixture *fixture = *state;
    char key[128];

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *params[] = {"DEFT_ORIGIN=agent", key, rows[i].param, NULL};
        CLEANUP(test_answer_done) struct test_answer opened =
            test_dispatch_with(*state, params, "POST", "/api/auth/workspace-session", NULL);
        CLEANUP(test_answer_done) struct test_answer closed =
            test_dispatch_with(*state, params, "DELETE", "/api/auth/workspace-session", NULL);
        char expected[300];

        (void)snprintf(expected, sizeof(expected),
                       "Set-Cookie: oh_workspace_session_key=%s; HttpOnly; Max-Age=315360000; "
                       "Path=/api/conversations%s",
                       fixture->alice_key, rows[i].end);
        assert_int_equal(opened.status, 204);
        if (strstr(opened.head.text, expected) == NULL)
            fail_msg("%s: %s", rows[i].param, opened.head.text);
        (void)snprintf(expected, sizeof(expected),
                       "Set-Cookie: oh_workspace_session_key=; HttpOnly; Max-Age=0; "
                       "Path=/api/conversations%s",
                       rows[i].end);
        assert_int_equal(closed.status, 204);
        assert_non_null(strstr(closed.head.text, expected));
    }
}

static void schemas_are_of_the_two_kinds_of_settings(void **state)
{
    DISPATCH(agent, ALICE, "GET", "/api/settings/agent-schema", NULL);
    DISPATCH(conversation, ALICE, "GET", "/api/settings/conversation-schema", NULL);

    assert_int_equal(agent.status, 200);
    assert_int_equal(conversation.status, 200);
    assert_json_at(agent.body.text, "model_name", "\"AgentSettings\"");
    assert_json_at(conversation.body.text, "model_name", "\"ConversationSettings\"");
    assert_non_null(strstr(agent.body.text, "scripted/hello"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_those_of_the_file),
        cmocka_unit_test(subscriptions_are_not_connected),
        cmocka_unit_test(models_of_external_agents_are_none),
        cmocka_unit_test(model_is_asked_once_and_briefly),
        cmocka_unit_test(model_that_refuses_is_not_tried_again),
        cmocka_unit_test(test_of_a_model_takes_a_slot_and_gives_it_back),
        cmocka_unit_test(test_of_a_model_needs_its_connection),
        cmocka_unit_test(folders_and_their_parents_are_two_lists),
        cmocka_unit_test(wrong_folders_are_named),
        cmocka_unit_test(folders_have_greatest_lengths),
        cmocka_unit_test(a_thousand_folders_are_kept),
        cmocka_unit_test(key_becomes_a_cookie_of_the_links_to_files),
        cmocka_unit_test(schemas_are_of_the_two_kinds_of_settings),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
