/*
 * /api/v1/sandboxes: what rows are shown as, to whom; without a sandbox service or an engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/wrong_keys.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "client/test_server.h"
#include "fixture.h"
#include "model/conversation/preview.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define SANDBOXES "/api/v1/sandboxes"
#define NOWHERE "http://127.0.0.1:1"
#define ALIVE "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

struct sandbox {
    char id[17];
    char key[CRYPTO_TOKEN_BYTES];
};

/* Differences from a sandbox of Alice that has run for long, at an address without a server. */
struct row {
    const char *owner;
    const char *status;
    const char *desired;
    const char *detail;
    const char *url;
    const char *since; /* SQL */
};

static const char * or (const char *text, const char *fallback)
{
    return text != NULL ? text : fallback;
}

static void make_names(struct sandbox *sandbox)
{
    crypto_random(sandbox->id, 16);
    for (int i = 0; i < 16; i++)
        sandbox->id[i] = (char)('a' + (unsigned char)sandbox->id[i] % 26);
    sandbox->id[16] = '\0';
    crypto_random_token(sandbox->key);
}

static struct sandbox add(void *state, struct row row)
{
    struct fixture *fixture = state;
    struct sandbox sandbox = {.id = ""};
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";
    char context[64] = "";

    make_names(&sandbox);
    secret_set(&key, sandbox.key);
    (void)snprintf(context, sizeof(context), "runtimes.session_key:%s", sandbox.id);
    keyring_seal(&fixture->context.keyring, context, &key, &sealed);
    keyring_hash_token(&fixture->context.keyring, sandbox.key, hash);
    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, owner_id, status, desired, image, spec,"
                   " url, session_key, session_key_hash, status_detail, since, proves)"
                   " VALUES ('%s', 's-%s', '%s', '%s', '%s', 'i:1', '{}', '%s', '%s', '%s', %s, %s,"
                   " false)",
                   sandbox.id, sandbox.id, or (row.owner, fixture->alice.text),
                   or (row.status, "running"), or (row.desired, "running"), or (row.url, NOWHERE),
                   sealed.text, hash, or (row.detail, "NULL"),
                   or (row.since, "now() - interval '1 hour'"));
    test_sql(sql.text);
    return sandbox;
}

static struct test_answer ask(void *state, const char *header, const char *method, const char *path)
{
    const char *params[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", header, NULL};

    return test_dispatch_with(state, params, method, path, NULL);
}

static struct test_answer as_alice(void *state, const char *method, const char *path)
{
    struct fixture *fixture = state;
    char header[128] = "";

    (void)snprintf(header, sizeof(header), "HTTP_AUTHORIZATION=Bearer %s", fixture->alice_key);
    return ask(state, header, method, path);
}

static struct test_answer by_key(void *state, const struct sandbox *sandbox, const char *path)
{
    char header[128] = "";

    (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s", sandbox->key);
    return ask(state, header, "GET", path);
}

#define ANSWER(name, call) CLEANUP(test_answer_done) struct test_answer name = call

/* Alice's view of one sandbox; a new reference to a list with one member. */
static json_t *look(void *state, const struct sandbox *sandbox)
{
    char path[100] = "";

    (void)snprintf(path, sizeof(path), SANDBOXES "?id=%s", sandbox->id);
    ANSWER(answer, as_alice(state, "GET", path));

    assert_int_equal(answer.status, 200);
    return answer_json(&answer);
}

static void assert_shown(void *state, struct row row, const char *status)
{
    struct sandbox sandbox = add(state, row);
    json_auto_t *list = look(state, &sandbox);
    json_t *info = json_array_get(list, 0);

    assert_string_equal(json_text_or(info, "id", ""), sandbox.id);
    assert_string_equal(json_text_or(info, "status", ""), status);
    assert_int_equal(json_object_size(info), 8);
    assert_true(json_is_null(json_object_get(info, "session_api_key")));
    assert_true(json_is_null(json_object_get(info, "exposed_urls")));
}

static void rows_are_shown_in_the_words_of_clients(void **state)
{
    assert_shown(*state, (struct row){.status = "starting"}, "STARTING");
    assert_shown(*state, (struct row){.status = "paused", .desired = "paused"}, "PAUSED");
    assert_shown(*state, (struct row){.desired = "paused"}, "PAUSED");
    assert_shown(*state, (struct row){.status = "paused"}, "STARTING");
    assert_shown(*state, (struct row){.status = "stopped", .desired = "stopped"}, "MISSING");
    assert_shown(*state, (struct row){.desired = "stopped"}, "MISSING");
    assert_shown(*state, (struct row){.status = "error", .detail = "'no such image'"}, "ERROR");
    assert_shown(
        *state, (struct row){.status = "error", .detail = "'the sandbox''s container was removed'"},
        "MISSING");
}

static void a_server_that_does_not_answer_starts_for_a_while_then_has_failed(void **state)
{
    assert_shown(*state, (struct row){.since = "now()"}, "STARTING");
    assert_shown(*state, (struct row){.since = "now() - interval '16 seconds'"}, "ERROR");
}

static void one_that_answers_has_its_key_and_addresses(void **state)
{
    struct fixture *fixture = *state;
    const struct test_reply replies[] = {{.bytes = ALIVE}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct sandbox sandbox = add(*state, (struct row){.url = test_server_url(server, "")});
    json_auto_t *list = look(*state, &sandbox);
    json_t *info = json_array_get(list, 0);
    json_t *urls = json_object_get(info, "exposed_urls");
    char editor[200] = "";
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";

    test_server_stop(server);
    preview_editor_token(sandbox.key, token);
    (void)snprintf(editor, sizeof(editor),
                   "http://60001-%s.sandbox.localhost:3000/?tkn=%s&folder=%%2Fworkspace%%2Fproject",
                   sandbox.id, token);
    assert_string_equal(json_text_or(info, "status", ""), "RUNNING");
    assert_string_equal(json_text_or(info, "session_api_key", ""), sandbox.key);
    assert_string_equal(json_text_or(info, "created_by_user_id", ""), fixture->alice.text);
    assert_string_equal(json_text_or(info, "sandbox_spec_id", ""), "i:1");
    assert_int_equal(json_array_size(urls), 4);
    assert_string_equal(json_text_or(json_array_get(urls, 0), "name", ""), "AGENT_SERVER");
    assert_string_equal(json_text_or(json_array_get(urls, 1), "url", ""), editor);
}

/* A numeric address has no names below it: then the configured name is used. */
static void addresses_are_below_the_name_that_was_asked(void **state)
{
    static const struct {
        const char *host;
        const char *home;
    } rows[] = {
        {"HTTP_HOST=deft.test:3000", "deft.test:3000"}, {"HTTP_HOST=1deft:3000", "1deft:3000"},
        {"HTTP_HOST=127.0.0.1:3000", "page.test"},      {"HTTP_HOST=10.0.0.1", "page.test"},
        {"HTTP_HOST=[::1]:3000", "page.test"},          {"X=", "page.test"},
    };
    static const struct test_reply replies[] = {{.bytes = ALIVE}};
    struct fixture *fixture = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct sandbox sandbox = add(*state, (struct row){.url = test_server_url(server, "")});
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";
    char header[128] = "";
    char path[100] = "";

    preview_editor_token(sandbox.key, token);
    (void)snprintf(path, sizeof(path), SANDBOXES "?id=%s", sandbox.id);
    (void)snprintf(header, sizeof(header), "HTTP_AUTHORIZATION=Bearer %s", fixture->alice_key);
    fixture->settings.app_url = "http://page.test";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *params[] = {"DEFT_ORIGIN=app", rows[i].host, header, NULL};
        CLEANUP(strbuf_done) struct strbuf urls = STRBUF_INIT;

        strbuf_appendf(
            &urls,
            "[{\"name\":\"AGENT_SERVER\",\"url\":\"http://localhost:8000\",\"port\":8000},"
            "{\"name\":\"VSCODE\",\"port\":60001,\"url\":\"http://60001-%s.sandbox.%s/?tkn=%s"
            "&folder=%%2Fworkspace%%2Fproject\"},",
            sandbox.id, rows[i].home, token);
        strbuf_appendf(
            &urls,
            "{\"name\":\"WORKER_1\",\"port\":12000,\"url\":\"http://12000-%s.sandbox.%s\"},"
            "{\"name\":\"WORKER_2\",\"port\":12001,\"url\":\"http://12001-%s.sandbox.%s\"}]",
            sandbox.id, rows[i].home, sandbox.id, rows[i].home);
        {
            ANSWER(answer, test_dispatch_with(*state, params, "GET", path, NULL));
            assert_json_at(answer.body.text, "[0].exposed_urls", urls.text);
        }
    }
    fixture->settings.app_url = "http://localhost:3000";
    test_server_stop(server);
}

static void a_batch_keeps_its_order_and_says_null_for_what_is_not_there(void **state)
{
    struct fixture *fixture = *state;
    struct row sleeping = {.status = "paused", .desired = "paused"};
    struct row foreign = {.status = "paused", .desired = "paused", .owner = fixture->bob.text};
    struct sandbox one = add(*state, sleeping);
    struct sandbox bobs = add(*state, foreign);
    struct sandbox two = add(*state, sleeping);
    struct sandbox gone = add(*state, (struct row){.desired = "deleted"});
    char path[300] = "";

    (void)snprintf(path, sizeof(path), SANDBOXES "?id=%s&id=nope&id=%s&id=%s&id=%s&id=%s", two.id,
                   bobs.id, one.id, gone.id, two.id);
    ANSWER(answer, as_alice(*state, "GET", path));
    json_auto_t *list = answer_json(&answer);

    assert_int_equal(json_array_size(list), 6);
    assert_string_equal(json_text_or(json_array_get(list, 0), "id", ""), two.id);
    assert_string_equal(json_text_or(json_array_get(list, 3), "id", ""), one.id);
    assert_string_equal(json_text_or(json_array_get(list, 5), "id", ""), two.id);
    assert_true(json_is_null(json_array_get(list, 1)));
    assert_true(json_is_null(json_array_get(list, 2)));
    assert_true(json_is_null(json_array_get(list, 4)));
}

static void a_batch_has_a_hundred_at_most(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, SANDBOXES "?");
    for (int i = 0; i < 100; i++)
        strbuf_append(&path, "id=x&");
    {
        ANSWER(answer, as_alice(*state, "GET", path.text));
        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "[99]", "null");
        assert_json_at(answer.body.text, "[100]", NULL);
    }
    strbuf_append(&path, "id=x");
    {
        ANSWER(answer, as_alice(*state, "GET", path.text));
        assert_answer_json(
            &answer, 400,
            "{\"detail\":\"Cannot request more than 100 sandboxes at once, got 101\"}");
    }
    {
        ANSWER(answer, as_alice(*state, "GET", SANDBOXES));
        assert_answer(&answer, 422, "Field required");
    }
}

static void a_search_is_paged_newest_first(void **state)
{
    struct fixture *fixture = *state;
    struct row row = {.status = "paused", .desired = "paused", .owner = fixture->bob.text};
    struct sandbox made[3];
    char header[128] = "";
    char path[200] = SANDBOXES "/search?limit=1";

    test_sql("DELETE FROM runtimes");
    for (int i = 0; i < 3; i++)
        made[i] = add(*state, row);
    (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s", fixture->bob_key);
    for (int i = 2; i >= 0; i--) {
        ANSWER(answer, ask(*state, header, "GET", path));
        json_auto_t *page = answer_json(&answer);
        json_t *items = json_object_get(page, "items");
        const char *next = json_text_or(page, "next_page_id", NULL);

        assert_int_equal(json_array_size(items), 1);
        assert_string_equal(json_text_or(json_array_get(items, 0), "id", ""), made[i].id);
        assert_int_equal(next == NULL, i == 0);
        (void)snprintf(path, sizeof(path), SANDBOXES "/search?limit=1&page_id=%s",
                       next != NULL ? next : "");
    }
    {
        ANSWER(answer, ask(*state, header, "GET", SANDBOXES "/search?limit=101"));
        assert_answer(&answer, 422, "less than or equal to 100");
    }
}

static void only_users_may_ask(void **state)
{
    struct sandbox sandbox = add(*state, (struct row){.status = "running"});

    {
        ANSWER(answer, ask(*state, NULL, "GET", SANDBOXES "/search"));
        assert_answer(&answer, 401, "Unauthorized");
    }
    {
        ANSWER(answer, by_key(*state, &sandbox, SANDBOXES "/search"));
        assert_answer(&answer, 403, "detail");
    }
}

static void what_is_not_theirs_is_not_there(void **state)
{
    struct fixture *fixture = *state;
    struct sandbox bobs = add(*state, (struct row){.owner = fixture->bob.text});
    char path[100] = "";

    (void)snprintf(path, sizeof(path), SANDBOXES "/%s/pause", bobs.id);
    {
        ANSWER(answer, as_alice(*state, "POST", path));
        assert_answer_json(&answer, 404, "{\"detail\":\"Not Found\"}");
    }
    {
        ANSWER(answer, as_alice(*state, "POST", SANDBOXES "/nope/resume"));
        assert_answer_json(&answer, 404, "{\"detail\":\"Not Found\"}");
    }
    (void)snprintf(path, sizeof(path), SANDBOXES "/x?sandbox_id=%s", bobs.id);
    {
        ANSWER(answer, as_alice(*state, "DELETE", path));
        assert_answer_json(&answer, 404, "{\"detail\":\"Not Found\"}");
    }
}

static void specs_are_the_images_that_may_be_asked_for(void **state)
{
    test_sql("DELETE FROM warm_configs");
    test_sql("INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config)"
             " VALUES ('a', 'first:1', 1, 1, 1, '{}'), ('b', 'other:1', 1, 1, 1, '{}'),"
             " ('c', 'other:1', 2, 1, 1, '{}')");
    {
        ANSWER(answer, as_alice(*state, "GET", "/api/v1/sandbox-specs/search"));
        json_auto_t *page = answer_json(&answer);
        json_t *items = json_object_get(page, "items");

        assert_int_equal(answer.status, 200);
        assert_int_equal(json_array_size(items), 3);
        assert_string_equal(json_text_or(json_array_get(items, 0), "id", ""), "test:1");
        assert_string_equal(json_text_or(json_array_get(items, 1), "id", ""), "first:1");
        assert_string_equal(json_text_or(json_array_get(items, 2), "id", ""), "other:1");
    }
    {
        ANSWER(answer, as_alice(*state, "GET", "/api/v1/sandbox-specs?id=nope&id=other:1"));
        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "[0]", "null");
        assert_json_at(answer.body.text, "[1].id", "\"other:1\"");
        assert_json_at(answer.body.text, "[1].command", "null");
    }
    {
        ANSWER(answer, as_alice(*state, "POST", SANDBOXES "?sandbox_spec_id=nope"));
        assert_answer(&answer, 404, "Sandbox Spec not found");
    }
    {
        ANSWER(answer, as_alice(*state, "POST", SANDBOXES));
        assert_answer(&answer, 503, "the sandbox service does not answer");
    }
}

static void each_spec_is_told_whole(void **state)
{
    struct fixture *fixture = *state;
    static const char warm[] = "{\"id\":\"other:1\",\"command\":null,\"initial_env\":{},"
                               "\"created_at\":\"2026-01-02T03:04:05.000000Z\","
                               "\"working_dir\":\"/workspace/project\"}";
    int64_t before_us = fixture->context.started_at_us;

    test_sql("DELETE FROM warm_configs");
    test_sql("INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config)"
             " VALUES ('a', 'test:1', 1, 1, 1, '{}'), ('b', 'other:1', 2, 1, 1, '{}')");
    fixture->context.started_at_us = INT64_C(1767323045) * 1000000;
    {
        ANSWER(page, as_alice(*state, "GET", "/api/v1/sandbox-specs/search"));
        ANSWER(batch, as_alice(*state, "GET", "/api/v1/sandbox-specs?x=test:1&id=other:1"));

        assert_json_at(page.body.text, "items[0].id", "\"test:1\"");
        assert_json_at(page.body.text, "items[1]", warm);
        assert_json_at(page.body.text, "items[2]", NULL);
        assert_json_at(page.body.text, "next_page_id", "null");
        assert_json_at(batch.body.text, "[0]", warm);
        assert_json_at(batch.body.text, "[1]", NULL);
    }
    fixture->context.started_at_us = before_us;
}

static void rows_are_told_whole(void **state)
{
    const struct fixture *fixture = *state;
    struct sandbox sandbox =
        add(*state, (struct row){.status = "error", .detail = "'no such image'"});
    char sql[200] = "";
    char path[100] = "";
    char expected[400] = "";

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE runtimes SET created_at = '2026-01-02 03:04:05Z' WHERE id = '%s'",
                   sandbox.id);
    test_sql(sql);
    (void)snprintf(path, sizeof(path), SANDBOXES "?id=%s", sandbox.id);
    (void)snprintf(expected, sizeof(expected),
                   "[{\"id\":\"%s\",\"created_by_user_id\":\"%s\",\"sandbox_spec_id\":\"i:1\","
                   "\"status\":\"ERROR\",\"session_api_key\":null,\"exposed_urls\":null,"
                   "\"created_at\":\"2026-01-02T03:04:05.000000Z\","
                   "\"status_detail\":\"no such image\"}]",
                   sandbox.id, fixture->alice.text);
    {
        ANSWER(answer, as_alice(*state, "GET", path));
        assert_answer_json(&answer, 200, expected);
    }
}

/* Also while it may only be slow: one that gives another status does not run. */
static void a_server_that_fails_is_told(void **state)
{
    static const struct test_reply failing[] = {
        {.bytes = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n{}"}};
    struct test_server *server = test_server_start(failing, 1, NULL);
    struct sandbox sandbox = add(*state, (struct row){.url = test_server_url(server, "")});
    json_auto_t *list = look(*state, &sandbox);
    const json_t *info = json_array_get(list, 0);

    test_server_stop(server);
    assert_string_equal(json_text_or(info, "status", ""), "ERROR");
    assert_string_equal(json_text_or(info, "status_detail", ""),
                        "the sandbox's server does not respond");
}

/* Then the row's word is taken. */
static void nothing_is_probed_when_too_many_wait(void **state)
{
    size_t n = test_take_waits(*state);
    struct sandbox sandbox = add(*state, (struct row){.status = "running"});
    json_auto_t *list = look(*state, &sandbox);

    test_give_waits(*state, n);
    assert_string_equal(json_text_or(json_array_get(list, 0), "status", ""), "RUNNING");
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
}

static void malformed_cursors_mean_the_first_page(void **state)
{
    static const char *const cursors[] = {
        "abcdefghijklmnop",    "abcdefghijklmnop-",  "abcdefghijklmnop-0",  "abcdefghijklmnop-x",
        "abcdefghijklmnop-+1", "abcdefghijklmnoP-1", "abcdefghijklmnopq-1", "abcdefghijklmnop1",
    };
    struct sandbox newest;

    test_sql("DELETE FROM runtimes");
    newest = add(*state, (struct row){.status = "paused", .desired = "paused"});
    for (size_t i = 0; i < ARRAY_SIZE(cursors); i++) {
        char path[120] = "";
        char id[30] = "";

        (void)snprintf(path, sizeof(path), SANDBOXES "/search?page_id=%s", cursors[i]);
        (void)snprintf(id, sizeof(id), "\"%s\"", newest.id);
        {
            ANSWER(page, as_alice(*state, "GET", path));

            assert_int_equal(page.status, 200);
            assert_json_at(page.body.text, "items[0].id", id);
            assert_json_at(page.body.text, "next_page_id", "null");
        }
    }
    {
        ANSWER(none, as_alice(*state, "GET", SANDBOXES "/search?page_id=abcdefghijklmnop-1"));
        ANSWER(wrong, as_alice(*state, "GET", SANDBOXES "/search?limit=0"));
        ANSWER(missing, as_alice(*state, "GET", SANDBOXES));

        assert_answer_json(&none, 200, "{\"items\":[],\"next_page_id\":null}");
        assert_json_at(wrong.body.text, "detail[0].loc", "[\"query\",\"limit\"]");
        assert_int_equal(missing.status, 422);
        assert_json_at(missing.body.text, "detail[0].type", "\"missing\"");
        assert_json_at(missing.body.text, "detail[0].loc", "[\"query\",\"id\"]");
    }
}

static void a_sandbox_reads_its_users_secrets_while_it_runs(void **state)
{
    struct sandbox sandbox = add(*state, (struct row){.status = "running"});
    struct sandbox other = add(*state, (struct row){.status = "running"});
    char path[100] = "";
    char sql[200] = "";

    (void)snprintf(path, sizeof(path), SANDBOXES "/%s/settings/secrets", sandbox.id);
    {
        ANSWER(answer, ask(*state, NULL, "GET", path));
        assert_answer_json(&answer, 401, "{\"detail\":\"X-Session-API-Key header is required\"}");
    }
    {
        ANSWER(answer, as_alice(*state, "GET", path));
        assert_answer_json(&answer, 401, "{\"detail\":\"X-Session-API-Key header is required\"}");
    }
    {
        ANSWER(answer, ask(*state, "HTTP_X_SESSION_API_KEY=nonsense", "GET", path));
        assert_answer_json(&answer, 401, "{\"detail\":\"Invalid session API key\"}");
    }
    {
        ANSWER(answer, by_key(*state, &other, path));
        assert_answer_json(&answer, 403, "{\"detail\":\"Session API key does not match sandbox\"}");
    }
    {
        ANSWER(answer, by_key(*state, &sandbox, path));
        assert_answer_json(&answer, 200, "{\"secrets\":[]}");
    }
    (void)snprintf(sql, sizeof(sql), "UPDATE runtimes SET desired = 'paused' WHERE id = '%s'",
                   sandbox.id);
    test_sql(sql);
    {
        ANSWER(answer, by_key(*state, &sandbox, path));
        assert_answer_json(&answer, 401, "{\"detail\":\"Sandbox is not running\"}");
    }
}

/* Its route says why; a user's key is not the sandbox's. */
static void wrong_keys_for_secrets_are_counted(void **state)
{
    struct fixture *fixture = *state;
    struct sandbox sandbox = add(*state, (struct row){.status = "running"});
    char path[100] = "";
    char alices[128] = "";

    (void)snprintf(path, sizeof(path), SANDBOXES "/%s/settings/secrets", sandbox.id);
    (void)snprintf(alices, sizeof(alices), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        ANSWER(users, ask(*state, alices, "GET", path));
        assert_answer_json(&users, 401, "{\"detail\":\"Invalid session API key\"}");
    }
    fixture->context.wrong_keys = wrong_keys_new();
    for (int i = 0; i <= WRONG_KEYS_PER_MINUTE; i++) {
        ANSWER(wrong, ask(*state, "HTTP_X_SESSION_API_KEY=nonsense", "GET", path));
        assert_int_equal(wrong.status, i < WRONG_KEYS_PER_MINUTE ? 401 : 429);
    }
    {
        ANSWER(right, by_key(*state, &sandbox, path));
        assert_int_equal(right.status, 200);
    }
    wrong_keys_free(fixture->context.wrong_keys);
    fixture->context.wrong_keys = NULL;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_shown_in_the_words_of_clients),
        cmocka_unit_test(a_server_that_does_not_answer_starts_for_a_while_then_has_failed),
        cmocka_unit_test(one_that_answers_has_its_key_and_addresses),
        cmocka_unit_test(addresses_are_below_the_name_that_was_asked),
        cmocka_unit_test(a_batch_keeps_its_order_and_says_null_for_what_is_not_there),
        cmocka_unit_test(a_batch_has_a_hundred_at_most),
        cmocka_unit_test(a_search_is_paged_newest_first),
        cmocka_unit_test(only_users_may_ask),
        cmocka_unit_test(what_is_not_theirs_is_not_there),
        cmocka_unit_test(specs_are_the_images_that_may_be_asked_for),
        cmocka_unit_test(each_spec_is_told_whole),
        cmocka_unit_test(rows_are_told_whole),
        cmocka_unit_test(a_server_that_fails_is_told),
        cmocka_unit_test(nothing_is_probed_when_too_many_wait),
        cmocka_unit_test(malformed_cursors_mean_the_first_page),
        cmocka_unit_test(a_sandbox_reads_its_users_secrets_while_it_runs),
        cmocka_unit_test(wrong_keys_for_secrets_are_counted),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
