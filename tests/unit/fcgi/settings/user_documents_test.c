/*
 * Writes of a user's documents: how many there may be, and what becomes of a write that another one
 * overtakes.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
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

#define CONNECTIONS "/api/llm/provider-connections"
#define CONNECTION "{\"display_name\":\"A\",\"api_key\":\"sk-kept-4711\"}"
#define PROFILE "{\"llm\":{\"model\":\"openai/a\",\"api_key\":\"sk-kept-4711\"}}"

static void forget_all(void)
{
    test_sql("DELETE FROM documents");
}

static void fill(void **state, const char *collection, int n)
{
    const struct fixture *fixture = *state;
    char sql[300];

    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO documents (user_id, collection, name, id, body) SELECT '%s', '%s',"
                   " 'f' || i, gen_random_uuid(), '{}' FROM generate_series(1, %d) i",
                   fixture->alice.text, collection, n);
    test_sql(sql);
}

static int status_of(void **state, const char *method, const char *path, const char *body)
{
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(*state, ALICE, method, path, body);

    return answer.status;
}

static int put_secret(void **state, const char *name)
{
    char body[100];

    (void)snprintf(body, sizeof(body), "{\"name\":\"%s\",\"value\":\"a-long-value\"}", name);
    return status_of(state, "PUT", "/api/settings/secrets", body);
}

static void five_hundred_secrets_are_kept(void **state)
{
    forget_all();
    fill(state, "secrets", 499);
    assert_int_equal(put_secret(state, "LAST"), 200);
    assert_int_equal(put_secret(state, "MORE"), 409);
    assert_int_equal(put_secret(state, "LAST"), 200);
    forget_all();
}

static void sixty_four_connections_are_kept(void **state)
{
    forget_all();
    fill(state, "provider_connections", 63);
    assert_int_equal(status_of(state, "POST", CONNECTIONS, CONNECTION), 201);
    assert_int_equal(status_of(state, "POST", CONNECTIONS, CONNECTION), 409);
    forget_all();
}

/* --- races --- */

struct racer {
    void *state;
    const char *method;
    const char *path;
    const char *body;
    struct test_answer answer;
};

static void *run_racer(void *argument)
{
    struct racer *racer = argument;

    racer->answer = test_dispatch(racer->state, ALICE, racer->method, racer->path, racer->body);
    return NULL;
}

/* Another writer changes all documents between the reading and the writing of one. */
static void assert_raced(void **state, const char *method, const char *path, const char *body)
{
    struct racer racer = {*state, method, path, body, {0}};
    struct test_tx *writer = test_tx_begin();
    pthread_t thread = 0;

    test_tx_sql(writer, "UPDATE documents SET revision = revision + 1");
    assert_int_equal(pthread_create(&thread, NULL, run_racer, &racer), 0);
    test_wait_blocked();
    test_tx_commit(writer);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (racer.answer.status != 200 && racer.answer.status != 201)
        fail_msg("%s %s: %d %s", method, path, racer.answer.status, racer.answer.body.text);
    test_answer_done(&racer.answer);
}

static void begin(void **state)
{
    static const char *const rows[][3] = {
        /* Beside the settings, in their collection. */
        {"POST", "/api/workspaces",
         "{\"workspaces\":[{\"id\":\"a\",\"name\":\"a\",\"path\":\"/a\"}]}"},
        {"PATCH", "/api/settings",
         "{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/own\"}}}"},
        {"PUT", "/api/settings/secrets", "{\"name\":\"RACED\",\"value\":\"a-long-value\"}"},
        {"POST", "/api/settings/mcp/there", "{\"url\":\"https://mcp.example.test\"}"},
        {"POST", "/api/profiles/one", PROFILE},
        {"POST", "/api/agent-profiles/one", "{\"llm_profile_ref\":\"one\"}"},
        {"POST", "/api/meta-profiles/one",
         "{\"classifier_model\":\"one\",\"classes\":[{\"description\":\"d\",\"model\":\"one\"}]}"},
    };

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int status = status_of(state, rows[i][0], rows[i][1], rows[i][2]);

        if (status != 200 && status != 201)
            fail_msg("%s: %d", rows[i][1], status);
    }
}

static void write_that_another_one_overtakes_is_made_again(void **state)
{
    static const char *const rows[][3] = {
        {"PATCH", "/api/settings",
         "{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/next\"}}}"},
        {"PUT", "/api/settings/secrets", "{\"name\":\"RACED\",\"value\":\"another-value\"}"},
        {"POST", "/api/settings/mcp/more", "{\"url\":\"https://mcp.example.test\"}"},
        {"PATCH", "/api/settings/mcp/there", "{\"timeout\":5}"},
        {"DELETE", "/api/settings/mcp/there", NULL},
        {"POST", "/api/profiles/one", PROFILE},
        {"POST", "/api/profiles/one/activate", NULL},
        {"POST", "/api/profiles/one/rename", "{\"new_name\":\"two\"}"},
        {"POST", "/api/agent-profiles/one", "{\"llm_profile_ref\":\"two\"}"},
        {"POST", "/api/agent-profiles/one/rename", "{\"new_name\":\"two\"}"},
        {"POST", "/api/meta-profiles/one",
         "{\"classifier_model\":\"two\",\"classes\":[{\"description\":\"d\",\"model\":\"two\"}]}"},
        {"POST", "/api/meta-profiles/one/activate", NULL},
        {"POST", "/api/workspaces",
         "{\"workspaces\":[{\"id\":\"b\",\"name\":\"b\",\"path\":\"/b\"}]}"},
        {"DELETE", "/api/workspaces?path=/a", NULL},
    };

    begin(state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_raced(state, rows[i][0], rows[i][1], rows[i][2]);
    forget_all();
}

static void change_of_a_connection_is_made_again(void **state)
{
    char path[100] = "";

    forget_all();
    {
        CLEANUP(test_answer_done) struct test_answer made =
            test_dispatch(*state, ALICE, "POST", CONNECTIONS, CONNECTION);
        json_auto_t *json = answer_json(&made);

        (void)snprintf(path, sizeof(path), CONNECTIONS "/%s", json_text_or(json, "id", ""));
    }
    assert_raced(state, "PATCH", path, "{\"provider\":\"openai\"}");
    {
        CLEANUP(test_answer_done) struct test_answer list =
            test_dispatch(*state, ALICE, "GET", CONNECTIONS, NULL);

        assert_json_at(list.body.text, "[0].provider", "\"openai\"");
        assert_json_at(list.body.text, "[0].api_key_set", "true");
    }
    forget_all();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_hundred_secrets_are_kept),
        cmocka_unit_test(sixty_four_connections_are_kept),
        cmocka_unit_test(write_that_another_one_overtakes_is_made_again),
        cmocka_unit_test(change_of_a_connection_is_made_again),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
