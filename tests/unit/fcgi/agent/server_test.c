/*
 * The server as a whole: what it says of itself, its deferred start, and itself as an OpenAI model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

static void server_tells_its_versions_and_capabilities(void **state)
{
    static const struct {
        const char *path;
        const char *value;
    } rows[] = {
        {"title", "\"OpenHands Agent Server\""},
        {"version", "\"1.58.0\""},
        {"sdk_version", "\"1.58.0\""},
        {"tools_version", "\"1.58.0\""},
        {"workspace_version", "\"1.58.0\""},
        {"build_git_sha", "\"unknown\""},
        {"build_git_ref", "\"unknown\""},
        {"python_version", "\"3.13\""},
        {"conversation_runtime", "\"local\""},
        {"available_conversation_runtimes", "[\"local\",\"docker\"]"},
        {"runtime_idle_timeout_seconds", "null"},
        {"capabilities",
         "[\"conversation_runtime_routes_v1\",\"profile_secret_scope_v1\",\"profile_persona_v1\","
         "\"idempotent_conversation_create_v1\",\"tool_catalog_v1\","
         "\"agent_profile_draft_materialize_v1\",\"agent_launch_pipeline_v1\","
         "\"skill_catalog_v1\"]"},
        {"app_backend_ingress_url", "null"},
        {"max_foreground_terminal_timeout_seconds", "null"},
        {"docs", "\"/docs\""},
        {"redoc", "\"/redoc\""},
    };
    static const char *const paths[] = {"/server_info", "/"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        DISPATCH(answer, NOBODY, "GET", paths[i], NULL);
        DISPATCH(names, ALICE, "GET", "/api/tools/", NULL);

        assert_int_equal(answer.status, 200);
        for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
            assert_json_at(answer.body.text, rows[row].path, rows[row].value);
        assert_json_at(answer.body.text, "usable_tools", names.body.text);
    }
    fixture->context.default_runtime = RUNTIME_DOCKER;
    {
        DISPATCH(answer, NOBODY, "GET", "/server_info", NULL);
        assert_json_at(answer.body.text, "conversation_runtime", "\"docker\"");
    }
    fixture->context.default_runtime = RUNTIME_LOCAL;
}

static void server_counts_whole_seconds(void **state)
{
    struct fixture *fixture = *state;
    int64_t before_ms = fixture->context.started_ms;

    fixture->context.started_ms -= 3600 * 1000;
    {
        DISPATCH(answer, NOBODY, "GET", "/server_info", NULL);
        json_auto_t *json = answer_json(&answer);
        double uptime_s = json_number_or(json, "uptime", 0);

        assert_true(uptime_s >= 3600 && uptime_s < 3600 + 600);
        assert_true(uptime_s == (double)(int64_t)uptime_s);
    }
    fixture->context.started_ms = before_ms;
    fixture->last_active_ms -= 7200 * 1000;
    {
        DISPATCH(idle, NOBODY, "GET", "/server_info", NULL);
        DISPATCH(call, ALICE, "GET", "/api/conversations/count", NULL);
        DISPATCH(after, NOBODY, "GET", "/server_info", NULL);
        json_auto_t *was = answer_json(&idle);
        json_auto_t *is = answer_json(&after);

        assert_int_equal(call.status, 200);
        assert_true(json_number_or(was, "idle_time", 0) >= 7200);
        assert_true(json_number_or(is, "idle_time", 7200) < 600);
    }
}

static void probes_have_a_word_each(void **state)
{
    DISPATCH(health, NOBODY, "GET", "/health", NULL);
    DISPATCH(alive, NOBODY, "GET", "/alive", NULL);
    DISPATCH(ready, NOBODY, "GET", "/ready", NULL);

    assert_answer_json(&health, 200, "{\"status\":\"ok\"}");
    assert_answer_json(&alive, 200, "{\"status\":\"ok\"}");
    assert_answer_json(&ready, 200, "{\"status\":\"ready\"}");
}

/* --- the deferred start --- */

#define INIT_KEY "HTTP_X_INIT_API_KEY=the-key-of-the-operator"

static struct test_answer begin(void **state, const char *body)
{
    const char *params[] = {"DEFT_ORIGIN=agent", INIT_KEY, NULL};

    return test_dispatch_with(*state, params, "POST", "/api/init", body);
}

static void wrong_starts_leave_the_server_dormant(void **state)
{
    static const struct {
        const char *body;
        const char *where;
        const char *message;
    } rows[] = {
        {"{\"stranger\":1}", "[\"body\",\"stranger\"]", NULL},
        {"{\"session_api_keys\":[\"a\",\" \"]}", "[\"body\",\"session_api_keys\"]",
         "\"Value error, a key is empty\""},
        {"{\"session_api_keys\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\","
         "\"11\",\"12\",\"13\",\"14\",\"15\",\"16\",\"17\"]}",
         "[\"body\",\"session_api_keys\"]", "\"Value error, too many keys\""},
        {"{\"webhooks\":[{},{},{},{},{}]}", "[\"body\",\"webhooks\"]",
         "\"Value error, too many webhooks\""},
        {"{\"webhooks\":[{\"base_url\":1}]}", "[\"body\",\"webhooks\"]", NULL},
        {"{\"env\":{\"A\":\"b\"}}", "[\"body\",\"env\"]",
         "\"Value error, this server does not pass an environment to its sandboxes: use the "
         "secrets of a conversation\""},
        {"{\"max_concurrent_runs\":0}", "[\"body\",\"max_concurrent_runs\"]", NULL},
        {"{\"secret_key\":1}", "[\"body\",\"secret_key\"]", NULL},
        {"{\"previous_secret_keys\":1}", "[\"body\",\"previous_secret_keys\"]", NULL},
        {"{\"conversations_path\":1}", "[\"body\",\"conversations_path\"]", NULL},
        {"{\"bash_events_dir\":1}", "[\"body\",\"bash_events_dir\"]", NULL},
        {"{\"conversation_worktree_root\":1}", "[\"body\",\"conversation_worktree_root\"]", NULL},
        {"{\"web_url\":1}", "[\"body\",\"web_url\"]", NULL},
        {"{\"allow_cors_origins\":1}", "[\"body\",\"allow_cors_origins\"]", NULL},
        {"{\"telemetry\":1}", "[\"body\",\"telemetry\"]", NULL},
    };
    struct fixture *fixture = *state;
    _Atomic(bool) has_begun = false;

    test_sql("DELETE FROM server_init");
    fixture->settings.deferred_init = 1;
    secret_set(&fixture->settings.init_key, "the-key-of-the-operator");
    fixture->context.has_begun = &has_begun;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(test_answer_done) struct test_answer answer = begin(state, rows[i].body);

        if (answer.status != 422)
            fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
        assert_json_at(answer.body.text, "detail[0].loc", rows[i].where);
        if (rows[i].message != NULL)
            assert_json_at(answer.body.text, "detail[0].msg", rows[i].message);
    }
    {
        DISPATCH(dormant, NOBODY, "GET", "/api/init", NULL);
        DISPATCH(blocked, ALICE, "GET", "/api/conversations/count", NULL);
        DISPATCH(model, ALICE, "GET", "/v1/models", NULL);
        DISPATCH(health, NOBODY, "GET", "/health", NULL);
        CLEANUP(test_answer_done) struct test_answer done =
            begin(state, "{\"session_api_keys\":[\"k1\",\"k2\"],\"max_concurrent_runs\":3}");
        CLEANUP(test_answer_done) struct test_answer again = begin(state, "{}");
        DISPATCH(ready, NOBODY, "GET", "/api/init", NULL);

        assert_answer_json(&dormant, 200, "{\"state\":\"dormant\",\"error\":null}");
        assert_int_equal(blocked.status, 503);
        assert_int_equal(model.status, 503);
        assert_int_equal(health.status, 200);
        assert_answer_json(&done, 200, "{\"state\":\"ready\",\"error\":null}");
        assert_answer_json(&again, 400, "{\"detail\":\"server already in state: ready\"}");
        assert_answer_json(&ready, 200, "{\"state\":\"ready\",\"error\":null}");
    }
    /* Another process has begun; this one learns it from the database. */
    atomic_store(&has_begun, false);
    {
        DISPATCH(ready, NOBODY, "GET", "/api/init", NULL);
        assert_answer_json(&ready, 200, "{\"state\":\"ready\",\"error\":null}");
    }
    assert_true(atomic_load(&has_begun));
    assert_int_equal(test_sql_count("SELECT count(*) FROM users WHERE run_slots = 3"), 1);
    fixture->settings.deferred_init = 0;
    secret_done(&fixture->settings.init_key);
    fixture->context.has_begun = NULL;
}

/* --- as a model --- */

/* From now on each run ends at once, with that status and an answer to each message. */
static void end_runs(const char *status)
{
    char sql[900];

    (void)snprintf(
        sql, sizeof(sql),
        "CREATE OR REPLACE FUNCTION finish() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF NEW.wanted_at IS NOT NULL THEN NEW.wanted_at := NULL; NEW.execution_status := '%s';"
        " END IF; RETURN NEW; END $$;"
        " CREATE OR REPLACE TRIGGER finish BEFORE INSERT OR UPDATE ON conversations FOR EACH ROW"
        " EXECUTE FUNCTION finish();"
        " CREATE OR REPLACE FUNCTION answer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body) VALUES"
        " (NEW.conversation_id, NEW.seq + 1000, gen_random_uuid(), 'MessageEvent', 'agent',"
        " '2999-01-01T00:00:00.000000', '{\"kind\":\"MessageEvent\",\"source\":\"agent\","
        "\"llm_message\":{\"content\":[{\"type\":\"text\",\"text\":\"Hello\"}]}}'); RETURN NEW;"
        " END $$;",
        status);
    test_sql(sql);
    test_sql("CREATE OR REPLACE TRIGGER answer AFTER INSERT ON events FOR EACH ROW WHEN"
             " (NEW.source = 'user' AND NEW.kind = 'MessageEvent') EXECUTE FUNCTION answer()");
}

static void leave_runs_alone(void)
{
    test_sql("DROP TRIGGER finish ON conversations; DROP FUNCTION finish();"
             " DROP TRIGGER answer ON events; DROP FUNCTION answer()");
}

/* Alice's profile p, and an agent profile that is active. */
static void prepare(void **state)
{
    char path[100];
    DISPATCH(profile, ALICE, "POST", "/api/profiles/p", "{\"llm\":{\"model\":\"scripted/hello\"}}");
    DISPATCH(agent, ALICE, "GET", "/api/agent-profiles/default", NULL);
    json_auto_t *json = answer_json(&agent);

    assert_int_equal(profile.status, 201);
    (void)snprintf(path, sizeof(path), "/api/agent-profiles/%s/activate",
                   json_text_or(json_object_get(json, "profile"), "id", ""));
    {
        DISPATCH(activated, ALICE, "POST", path, NULL);
        assert_int_equal(activated.status, 200);
    }
}

#define CHAT "/v1/chat/completions"
#define HI "{\"model\":\"openhands_p\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

static void profiles_are_listed_as_models(void **state)
{
    prepare(state);
    {
        DISPATCH(models, ALICE, "GET", "/v1/models", NULL);
        DISPATCH(none, BOB, "GET", "/v1/models", NULL);

        assert_answer_json(&models, 200,
                           "{\"object\":\"list\",\"data\":[{\"id\":\"openhands_p\",\"object\":"
                           "\"model\",\"created\":0,\"owned_by\":\"openhands\"}]}");
        assert_answer_json(&none, 200, "{\"object\":\"list\",\"data\":[]}");
    }
}

static void model_answers_and_its_conversation_goes_on(void **state)
{
    static const char header[] = "X-OpenHands-ServerConversation-ID: ";
    struct fixture *fixture = *state;
    char key[128];
    char id[120] = "";
    char again[160];
    const char *params[] = {"DEFT_ORIGIN=agent", key, again, NULL};

    prepare(state);
    fixture->settings.answer_wait_ms = 20000;
    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    end_runs("finished");
    {
        DISPATCH(answer, ALICE, "POST", CHAT, HI);
        const char *at = strstr(answer.head.text, header);

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "object", "\"chat.completion\"");
        assert_json_at(answer.body.text, "model", "\"openhands_p\"");
        assert_json_at(answer.body.text, "choices[0].message.content", "\"Hello\"");
        assert_non_null(at);
        (void)snprintf(id, sizeof(id), "%.36s", at + strlen(header));
    }
    (void)snprintf(again, sizeof(again), "HTTP_X_OPENHANDS_SERVERCONVERSATION_ID=%s", id);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "POST", CHAT, HI);

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "choices[0].message.content", "\"Hello\"");
        assert_non_null(strstr(answer.head.text, id));
    }
    {
        DISPATCH(answer, ALICE, "POST", "/v1/responses",
                 "{\"model\":\"openhands_p\",\"input\":\"hi\",\"instructions\":\"Rhyme.\"}");

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "object", "\"response\"");
        assert_json_at(answer.body.text, "output[0].content[0].text", "\"Hello\"");
        assert_null(strstr(answer.head.text, id));
    }
    assert_int_equal(test_sql_count("SELECT count(*) FROM conversations WHERE spec LIKE"
                                    " '%Rhyme.%' AND spec LIKE '%/workspace/project%'"),
                     1);
    assert_int_equal(test_take_waits(*state), 2);
    test_give_waits(*state, 2);
    end_runs("error");
    {
        DISPATCH(answer, ALICE, "POST", CHAT, HI);

        assert_int_equal(answer.status, 500);
        assert_json_at(answer.body.text, "exception",
                       "\"500: The conversation ended as 'error', not as 'finished'\"");
    }
    leave_runs_alone();
    fixture->settings.answer_wait_ms = 0;
}

/* From now on each run also uses so many tokens. */
static void use_tokens(void)
{
    test_sql("CREATE OR REPLACE FUNCTION spend() RETURNS trigger LANGUAGE plpgsql AS $$"
             " DECLARE n int := coalesce(NEW.stats::jsonb #>>"
             " '{usage_to_metrics,agent,accumulated_token_usage,prompt_tokens}', '0')::int + 10;"
             " BEGIN IF NEW.wanted_at IS NOT NULL THEN NEW.stats := format('{\"usage_to_metrics\":"
             "{\"agent\":{\"accumulated_token_usage\":{\"prompt_tokens\":%s,"
             "\"completion_tokens\":%s}}}}', n, n / 5); END IF; RETURN NEW; END $$;"
             " CREATE OR REPLACE TRIGGER before_finish BEFORE INSERT OR UPDATE ON conversations"
             " FOR EACH ROW EXECUTE FUNCTION spend()");
}

static void use_no_tokens(void)
{
    test_sql("DROP TRIGGER before_finish ON conversations; DROP FUNCTION spend()");
}

/* A later call tells what it has used itself, not what those before it have. */
static void usage_is_of_the_call_alone(void **state)
{
    static const char header[] = "X-OpenHands-ServerConversation-ID: ";
    struct fixture *fixture = *state;
    char key[128];
    char again[160] = "X=";
    const char *params[] = {"DEFT_ORIGIN=agent", key, again, NULL};

    prepare(state);
    fixture->settings.answer_wait_ms = 20000;
    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    end_runs("finished");
    use_tokens();
    for (int i = 0; i < 3; i++) {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "POST", CHAT, HI);
        const char *at = strstr(answer.head.text, header);

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "usage.prompt_tokens", "10");
        assert_json_at(answer.body.text, "usage.completion_tokens", "2");
        assert_non_null(at);
        (void)snprintf(again, sizeof(again), "HTTP_X_OPENHANDS_SERVERCONVERSATION_ID=%.36s",
                       at + strlen(header));
    }
    use_no_tokens();
    leave_runs_alone();
    fixture->settings.answer_wait_ms = 0;
}

/* Of the start: who speaks, that it runs, and that no model is asked for a title. */
static void conversation_of_a_model_has_no_title(void **state)
{
    struct fixture *fixture = *state;

    test_sql("DELETE FROM jobs; DELETE FROM conversations");
    prepare(state);
    fixture->settings.answer_wait_ms = 20000;
    end_runs("finished");
    {
        DISPATCH(answer, ALICE, "POST", CHAT, HI);
        DISPATCH(list, ALICE, "GET", "/api/conversations/search", NULL);

        assert_int_equal(answer.status, 200);
        assert_json_at(list.body.text, "items[0].workspace",
                       "{\"working_dir\":\"/workspace/project\",\"kind\":\"LocalWorkspace\"}");
        assert_json_at(list.body.text, "items[0].title", "null");
        assert_json_at(list.body.text, "items[1]", NULL);
    }
    assert_int_equal(test_sql_count("SELECT count(*) FROM conversations WHERE"
                                    " (spec::jsonb)->'autotitle' = 'false'"),
                     1);
    leave_runs_alone();
    fixture->settings.answer_wait_ms = 0;
}

/* The active agent profile names a server that is gone. */
static void start_that_is_refused_is_the_answer(void **state)
{
    char path[100];

    prepare(state);
    DISPATCH(made, ALICE, "POST", "/api/agent-profiles/broken",
             "{\"llm_profile_ref\":\"p\",\"mcp_server_refs\":[\"gone\"]}");
    DISPATCH(shown, ALICE, "GET", "/api/agent-profiles/broken", NULL);
    json_auto_t *profile = answer_json(&shown);

    assert_int_equal(made.status, 201);
    (void)snprintf(path, sizeof(path), "/api/agent-profiles/%s/activate",
                   json_text_or(json_object_get(profile, "profile"), "id", ""));
    {
        DISPATCH(activated, ALICE, "POST", path, NULL);
        int64_t n = test_sql_count("SELECT count(*) FROM conversations");
        DISPATCH(refused, ALICE, "POST", CHAT, HI);

        assert_int_equal(activated.status, 200);
        assert_int_equal(refused.status, 422);
        assert_json_at(refused.body.text, "detail.dangling_mcp_server_refs", "[\"gone\"]");
        assert_null(strstr(refused.head.text, "X-OpenHands-ServerConversation-ID: "));
        assert_int_equal(test_sql_count("SELECT count(*) FROM conversations"), n);
    }
    assert_int_equal(test_take_waits(*state), 2);
    test_give_waits(*state, 2);
}

static void calls_of_a_model_that_cannot_be_are_told(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *where;
        const char *value;
    } rows[] = {
        {"{}", 422, "detail[0].loc", "[\"body\",\"model\"]"},
        {"{\"model\":\"gpt\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}", 404, "detail",
         "\"There is no such model: model names of this server begin with openhands_\""},
        {"{\"model\":\"openhands_none\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
         404, "detail", "\"Profile 'none' not found\""},
    };
    const struct fixture *fixture = *state;
    char key[128];
    const char *unknown[] = {"DEFT_ORIGIN=agent", key,
                             "HTTP_X_OPENHANDS_SERVERCONVERSATION_ID="
                             "00000000-0000-4000-8000-000000000000",
                             NULL};
    const char *wrong[] = {"DEFT_ORIGIN=agent", key, "HTTP_X_OPENHANDS_SERVERCONVERSATION_ID=x",
                           NULL};

    prepare(state);
    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "POST", CHAT, rows[i].body);

        if (answer.status != rows[i].status)
            fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
        assert_json_at(answer.body.text, rows[i].where, rows[i].value);
    }
    {
        CLEANUP(test_answer_done) struct test_answer none =
            test_dispatch_with(*state, unknown, "POST", CHAT, HI);
        CLEANUP(test_answer_done) struct test_answer malformed =
            test_dispatch_with(*state, wrong, "POST", CHAT, HI);

        assert_answer_json(
            &none, 404,
            "{\"detail\":\"Conversation not found: 00000000-0000-4000-8000-000000000000\"}");
        assert_int_equal(malformed.status, 422);
        assert_json_at(malformed.body.text, "detail[0].loc",
                       "[\"header\",\"X-OpenHands-ServerConversation-ID\"]");
        assert_json_at(malformed.body.text, "detail[0].input", "\"x\"");
    }
    test_sql("DELETE FROM documents WHERE collection = 'agent_profiles'");
    {
        DISPATCH(gone, ALICE, "POST", CHAT, HI);
        assert_answer_json(&gone, 409,
                           "{\"detail\":\"The active agent profile no longer exists\"}");
    }
    {
        DISPATCH(cleared, ALICE, "PATCH", "/api/settings", "{\"active_agent_profile_id\":null}");
        DISPATCH(none, ALICE, "POST", CHAT, HI);

        assert_int_equal(cleared.status, 200);
        assert_answer_json(&none, 409, "{\"detail\":\"No agent profile is active\"}");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_tells_its_versions_and_capabilities),
        cmocka_unit_test(server_counts_whole_seconds),
        cmocka_unit_test(probes_have_a_word_each),
        cmocka_unit_test(wrong_starts_leave_the_server_dormant),
        cmocka_unit_test(profiles_are_listed_as_models),
        cmocka_unit_test(model_answers_and_its_conversation_goes_on),
        cmocka_unit_test(usage_is_of_the_call_alone),
        cmocka_unit_test(conversation_of_a_model_has_no_title),
        cmocka_unit_test(start_that_is_refused_is_the_answer),
        cmocka_unit_test(calls_of_a_model_that_cannot_be_are_told),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
