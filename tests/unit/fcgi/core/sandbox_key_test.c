/*
 * The routes that a sandbox's key may call, for each kind of sandbox: calls every row of the table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fcgi/core/router.h"
#include "fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define NOT_ALLOWED "A sandbox's key may not do this"
#define READS "/api/v1/secret-reads"
#define SOME_ID "00000000-0000-4000-8000-000000000001"

struct sandbox {
    char id[17];
    char session[24];
    char key[CRYPTO_TOKEN_BYTES];
};

/* A sandbox of Alice that runs, of that kind. */
static struct sandbox add(struct fixture *fixture, enum sandbox_kind kind)
{
    static const char *const prefixes[SANDBOX_N_KINDS] = {"u-", "c-", "", "s-"};
    struct sandbox sandbox = {.id = ""};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    crypto_random(sandbox.id, 16);
    for (int i = 0; i < 16; i++)
        sandbox.id[i] = (char)('a' + (unsigned char)sandbox.id[i] % 26);
    crypto_random_token(sandbox.key);
    (void)snprintf(sandbox.session, sizeof(sandbox.session), "%s%s", prefixes[kind], sandbox.id);
    keyring_hash_token(&fixture->context.keyring, sandbox.key, hash);
    if (kind == SANDBOX_KIND_TENANT)
        strbuf_appendf(&sql,
                       "WITH tenant AS (INSERT INTO runtime_keys (user_id, name, key_hash)"
                       " VALUES ('%s', '%s', '%s') RETURNING id) ",
                       fixture->alice.text, sandbox.id, sandbox.id);
    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, owner_id, tenant_id, status, desired,"
                   " image, spec, url, session_key, session_key_hash) VALUES ('%s', '%s', '%s', %s,"
                   " 'running', 'running', 'i:1', '{}', 'http://127.0.0.1:1', 'unused', '%s')",
                   sandbox.id, sandbox.session, fixture->alice.text,
                   kind == SANDBOX_KIND_TENANT ? "(SELECT id FROM tenant)" : "NULL", hash);
    test_sql(sql.text);
    return sandbox;
}

static struct test_answer ask(void *state, const struct sandbox *sandbox, const char *origin,
                              const char *method, const char *path, const char *body)
{
    char header[128] = "";
    const char *params[] = {origin, "HTTP_HOST=localhost:3000", header, NULL};

    (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s", sandbox->key);
    return test_dispatch_with(state, params, method, path, body);
}

#define ANSWER(name, call) CLEANUP(test_answer_done) struct test_answer name = (call)

/* A path of the pattern: each {parameter} is an id, the sandbox's own where it is one. */
static void fill(const char *pattern, const struct sandbox *sandbox, struct strbuf *path)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at != '{') {
            strbuf_append_char(path, *at);
            continue;
        }
        strbuf_append(path, strncmp(at, "{sandbox_id}", strlen("{sandbox_id}")) == 0 ? sandbox->id
                                                                                     : SOME_ID);
        at = strchr(at, '}');
        assert_non_null(at);
    }
}

static void check_row(void *state, const struct route *route, const struct sandbox *sandbox,
                      enum sandbox_kind kind)
{
    const struct principal caller = {.kind = PRINCIPAL_SANDBOX_KEY, .sandbox_kind = kind};
    const char *origin =
        (route->origins & ORIGIN_AGENT) != 0 ? "DEFT_ORIGIN=agent" : "DEFT_ORIGIN=app";
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    bool is_refused = false;

    fill(route->pattern, sandbox, &path);
    {
        ANSWER(answer, ask(state, sandbox, origin, http_method_to_string(route->method), path.text,
                           route->body_max_bytes != 0 ? "{}" : NULL));
        is_refused = answer.status == 403 && strstr(answer.body.text, NOT_ALLOWED) != NULL;
        if (is_refused == principal_may(&caller, route->sandbox))
            fail_msg("kind %d, %s %s: %d %.200s", (int)kind, http_method_to_string(route->method),
                     path.text, answer.status, answer.body.text);
    }
}

static void every_row_is_as_open_as_its_column_says(void **state)
{
    for (int kind = 0; kind < SANDBOX_N_KINDS; kind++) {
        struct sandbox sandbox = add(*state, (enum sandbox_kind)kind);

        for (const struct route *const *table = route_tables; *table != NULL; table++) {
            for (const struct route *route = *table; route->handle != NULL; route++) {
                if ((route->origins & (ORIGIN_PREVIEW | ORIGIN_SOCKET)) == 0)
                    check_row(*state, route, &sandbox, (enum sandbox_kind)kind);
            }
        }
    }
}

/* One column follows from the other, except for routes that any caller may use. */
static void check_columns(const struct route *route)
{
    static const enum sandbox_access expected[] = {
        [ACCESS_PUBLIC] = SANDBOX_OPEN,     [ACCESS_USER] = SANDBOX_REFUSED,
        [ACCESS_BEARER] = SANDBOX_REFUSED,  [ACCESS_SESSION] = SANDBOX_REFUSED,
        [ACCESS_SANDBOX] = SANDBOX_SECRETS, [ACCESS_WORKSPACE] = SANDBOX_READS,
    };
    enum sandbox_access access = route->sandbox;

    if (access == SANDBOX_UNSET)
        fail_msg("%s does not say what a sandbox's key may do", route->pattern);
    if (route->access != ACCESS_CALLER && access != expected[route->access])
        fail_msg("%s: the columns contradict each other", route->pattern);
    if (route->access == ACCESS_CALLER && (access == SANDBOX_OPEN || access == SANDBOX_SECRETS))
        fail_msg("%s: any caller, and open", route->pattern);
    if (access == SANDBOX_READS && route->method != HTTP_GET &&
        strstr(route->pattern, "{runtime_conversation_id}") == NULL &&
        strcmp(route->pattern, "/api/auth/workspace-session") != 0)
        fail_msg("%s changes something, and is said to read", route->pattern);
}

static void every_row_says_what_a_sandboxs_key_may_do(void **state)
{
    (void)state;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++)
            check_columns(route);
    }
}

#define CONVERSATION "/api/conversations/{conversation_id}"
#define RUNTIME_CONVERSATION "/api/conversations/{runtime_conversation_id}"

/* Routes for any caller that a sandbox's key may use; files, commands and git are below. */
static const struct {
    enum sandbox_access access;
    const char *row;
} opened[] = {
    {SANDBOX_ITSELF, "GET /api/vscode/status"},
    {SANDBOX_ITSELF, "GET /api/vscode/url"},
    {SANDBOX_ITSELF, "GET /download_files"},
    {SANDBOX_ITSELF, "POST /execute_action"},
    {SANDBOX_ITSELF, "POST /list_files"},
    {SANDBOX_ITSELF, "POST /update_mcp_server"},
    {SANDBOX_ITSELF, "POST /upload_file"},
    {SANDBOX_ITSELF, "GET /vscode/connection_token"},
    {SANDBOX_READS, "POST /api/auth/workspace-session"},
    {SANDBOX_READS, "GET /api/conversations"},
    {SANDBOX_READS, "GET /api/conversations/count"},
    {SANDBOX_READS, "GET /api/conversations/search"},
    {SANDBOX_READS, "GET " CONVERSATION},
    {SANDBOX_READS, "GET " CONVERSATION "/agent_final_response"},
    {SANDBOX_READS, "GET " CONVERSATION "/branches"},
    {SANDBOX_READS, "GET " CONVERSATION "/checkpoints"},
    {SANDBOX_READS, "GET " CONVERSATION "/checkpoints/at"},
    {SANDBOX_READS, "GET " CONVERSATION "/egress_refusals"},
    {SANDBOX_READS, "GET " CONVERSATION "/events"},
    {SANDBOX_READS, "GET " CONVERSATION "/events/count"},
    {SANDBOX_READS, "GET " CONVERSATION "/events/search"},
    {SANDBOX_READS, "GET " CONVERSATION "/events/{event_id}"},
    {SANDBOX_READS, "GET " CONVERSATION "/previews"},
    {SANDBOX_READS, "GET " CONVERSATION "/runtime"},
    {SANDBOX_READS, "GET " RUNTIME_CONVERSATION "/file/download-trajectory/{conversation_id}"},
    {SANDBOX_READS, "GET " RUNTIME_CONVERSATION "/vscode/status"},
    {SANDBOX_READS, "GET " RUNTIME_CONVERSATION "/vscode/url"},
    {SANDBOX_READS, "GET /api/file/download-trajectory/{conversation_id}"},
    {SANDBOX_DRIVES, "POST /api/conversations"},
    {SANDBOX_DRIVES, "DELETE " CONVERSATION},
    {SANDBOX_DRIVES, "PATCH " CONVERSATION},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/ask_agent"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/children"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/condense"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/confirmation_policy"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/events"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/events/respond_to_confirmation"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/fork"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/generate_title"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/goal"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/goal/resume"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/goal/stop"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/interrupt"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/load_plugin"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/navigate"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/pause"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/run"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/secrets"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/security_analyzer"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/switch_acp_model"},
    {SANDBOX_DRIVES, "POST " CONVERSATION "/switch_llm"},
    {SANDBOX_DRIVES, "POST /api/hooks"},
    {SANDBOX_DRIVES, "POST /api/skills"},
    {SANDBOX_DRIVES, "GET /api/llm/models"},
    {SANDBOX_DRIVES, "GET /api/llm/models/verified"},
    {SANDBOX_DRIVES, "GET /api/llm/providers"},
    {SANDBOX_DRIVES, "GET /api/llm/subscription/openai/models"},
    {SANDBOX_DRIVES, "GET /api/settings/agent-schema"},
    {SANDBOX_DRIVES, "GET /api/settings/conversation-schema"},
    {SANDBOX_DRIVES, "GET /api/tools/"},
    {SANDBOX_DRIVES, "GET /api/tools/catalog"},
};

/* Whether it is a path of files, commands or git below the prefix; never what holds credentials. */
static bool is_workspace(const char *pattern, const char *prefix)
{
    static const char *const areas[] = {"/bash/", "/file/", "/git/"};
    size_t len = strlen(prefix);

    if (strncmp(pattern, prefix, len) != 0 || strstr(pattern, "download-trajectory") != NULL ||
        strstr(pattern, "/git/repository") != NULL || strstr(pattern, "/credentials") != NULL)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
        if (strncmp(pattern + len, areas[i], strlen(areas[i])) == 0)
            return true;
    }
    return false;
}

static enum sandbox_access expected_access(const struct route *route, size_t *n_listed)
{
    char row[200] = "";

    if (is_workspace(route->pattern, RUNTIME_CONVERSATION))
        return SANDBOX_READS;
    if (is_workspace(route->pattern, "/api"))
        return SANDBOX_ITSELF;
    (void)snprintf(row, sizeof(row), "%s %s", http_method_to_string(route->method), route->pattern);
    for (size_t i = 0; i < ARRAY_SIZE(opened); i++) {
        if (strcmp(opened[i].row, row) == 0) {
            (*n_listed)++;
            return opened[i].access;
        }
    }
    return SANDBOX_REFUSED;
}

/* A row that any caller may ask for is refused to sandboxes' keys unless it is listed here. */
static void rows_for_any_caller_are_open_as_they_are_listed(void **state)
{
    size_t n_listed = 0;

    (void)state;
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if (route->access == ACCESS_CALLER &&
                route->sandbox != expected_access(route, &n_listed))
                fail_msg("%s %s: access %d", http_method_to_string(route->method), route->pattern,
                         (int)route->sandbox);
        }
    }
    assert_int_equal(n_listed, ARRAY_SIZE(opened));
}

static void kinds_differ_in_what_they_open(void **state)
{
    static const bool expected[SANDBOX_N_ACCESS][SANDBOX_N_KINDS] = {
        [SANDBOX_OPEN] = {1, 1, 1, 1},    [SANDBOX_ITSELF] = {1, 1, 1, 1},
        [SANDBOX_READS] = {0, 1, 1, 1},   [SANDBOX_DRIVES] = {0, 0, 1, 1},
        [SANDBOX_SECRETS] = {0, 0, 0, 1},
    };
    struct principal caller = {.kind = PRINCIPAL_SANDBOX_KEY};

    (void)state;
    for (int access = 0; access < SANDBOX_N_ACCESS; access++) {
        for (int kind = 0; kind < SANDBOX_N_KINDS; kind++) {
            caller.sandbox_kind = (enum sandbox_kind)kind;
            assert_int_equal(principal_may(&caller, (enum sandbox_access)access),
                             expected[access][kind]);
        }
    }
    caller.kind = PRINCIPAL_USER_KEY;
    assert_true(principal_may(&caller, SANDBOX_REFUSED));
}

/* Starts a conversation; the id of the one that was begun. */
static struct uuid begin(void *state, const struct sandbox *sandbox, const char *members)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *info = NULL;
    struct uuid id = UUID_INIT;

    strbuf_appendf(&body, "{%s%s", members, START_BODY("") + 1);
    {
        ANSWER(answer,
               ask(state, sandbox, "DEFT_ORIGIN=agent", "POST", "/api/conversations", body.text));
        assert_answer(&answer, 201, "execution_status");
        info = answer_json(&answer);
    }
    assert_true(uuid_parse(json_text_or(info, "id", ""), &id));
    return id;
}

static void assert_begins_with(void *state, const struct sandbox *sandbox, const char *members,
                               int status, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body, "{%s%s", members, START_BODY("") + 1);
    {
        ANSWER(answer,
               ask(state, sandbox, "DEFT_ORIGIN=agent", "POST", "/api/conversations", body.text));
        assert_answer(&answer, status, text);
    }
}

static void clients_drive_what_they_began_and_nothing_else(void **state)
{
    static const enum sandbox_kind clients[] = {SANDBOX_KIND_TENANT, SANDBOX_KIND_REQUESTED};
    struct test_path users = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        struct sandbox sandbox = add(*state, clients[i]);
        struct test_path own = {.id = begin(*state, &sandbox, "")};

        {
            ANSWER(answer,
                   ask(*state, &sandbox, "DEFT_ORIGIN=agent", "POST", test_under(&own, "/events"),
                       "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}"));
            assert_answer(&answer, 200, "success");
        }
        {
            ANSWER(answer,
                   ask(*state, &sandbox, "DEFT_ORIGIN=agent", "GET", test_under(&users, ""), NULL));
            assert_answer(&answer, 404, "Not Found");
        }
        {
            ANSWER(answer, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "POST",
                               test_under(&users, "/run"), NULL));
            assert_answer(&answer, 404, "Not Found");
        }
    }
}

/* Clients of the Runtime API resume it then; a pause that deft decided about says nothing. */
static void key_of_a_sandbox_that_its_tenant_paused_is_told_so(void **state)
{
    static const struct {
        const char *path;
        bool is_public;
    } cases[] = {
        {"/api/conversations/count", false},
        {"/api/tools/", false},
        {"/health", true},
    };
    struct sandbox sandbox = add(*state, SANDBOX_KIND_TENANT);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ANSWER(answer, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "GET", cases[i].path, NULL));
        assert_int_equal(answer.status, 200);
    }
    strbuf_appendf(&sql, "UPDATE runtimes SET is_held = true WHERE id = '%s'", sandbox.id);
    test_sql(sql.text);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ANSWER(answer, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "GET", cases[i].path, NULL));
        if (cases[i].is_public)
            assert_int_equal(answer.status, 200);
        else
            assert_answer(&answer, 503, "the sandbox is paused");
    }
}

static void a_copy_that_a_client_makes_stays_in_its_sandbox(void **state)
{
    struct sandbox sandbox = add(*state, SANDBOX_KIND_REQUESTED);
    struct test_path own = {.id = begin(*state, &sandbox, "")};
    struct test_path copy = {.text = ""};
    json_auto_t *info = NULL;

    {
        ANSWER(answer,
               ask(*state, &sandbox, "DEFT_ORIGIN=agent", "POST", test_under(&own, "/fork"), "{}"));
        assert_answer_member(&answer, 201, "forked_from_conversation_id", own.id.text);
        info = answer_json(&answer);
    }
    assert_true(uuid_parse(json_text_or(info, "id", ""), &copy.id));
    {
        ANSWER(answer,
               ask(*state, &sandbox, "DEFT_ORIGIN=agent", "GET", test_under(&copy, ""), NULL));
        assert_answer(&answer, 200, copy.id.text);
    }
}

static void a_start_brings_nothing_of_the_users_and_no_look_up(void **state)
{
    static const char *const refused[] = {
        "\"secrets\":{\"X\":{\"kind\":\"LookupSecret\",\"url\":\"http://127.0.0.1:1/\"}},",
        "\"secrets\":{\"X\":{\"kind\":\"LookupSecret\",\"url\":\"https://vault.example/x\"}},",
        "\"secrets\":{\"X\":{\"url\":\"https://vault.example/x\"}},",
        "\"secrets\":{\"X\":{\"kind\":\"LookupSecret\",\"url\":\"/api/settings/secrets/X\"}},",
        "\"secrets\":{\"X\":{\"url\":\"/api/v1/sandboxes/aaaaaaaaaaaaaaaa/settings/secrets/X\"}},",
        "\"title_llm_profile\":\"mine\",",
        "\"secrets_encrypted\":true,",
    };
    static const enum sandbox_kind clients[] = {SANDBOX_KIND_TENANT, SANDBOX_KIND_REQUESTED};

    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        struct sandbox sandbox = add(*state, clients[i]);

        for (size_t j = 0; j < ARRAY_SIZE(refused); j++)
            assert_begins_with(*state, &sandbox, refused[j], 403, "A sandbox's key may not");
        assert_begins_with(*state, &sandbox, "\"secrets\":{\"X\":\"value\"},", 201, "");
    }
}

static void limits_of_a_run_become_stricter_only(void **state)
{
    static const struct {
        const char *policy;
        int status;
    } steps[] = {
        {"{\"policy\":{\"kind\":\"NeverConfirm\"}}", 403},
        {"{\"policy\":{\"kind\":\"ConfirmRisky\",\"threshold\":\"MEDIUM\"}}", 200},
        {"{\"policy\":{\"kind\":\"ConfirmRisky\",\"threshold\":\"HIGH\"}}", 403},
        {"{\"policy\":{\"kind\":\"AlwaysConfirm\"}}", 200},
        {"{\"policy\":{\"kind\":\"AlwaysConfirm\"}}", 200},
        {"{\"policy\":{\"kind\":\"ConfirmRisky\",\"threshold\":\"MEDIUM\"}}", 403},
        {"{\"policy\":{\"kind\":\"NeverConfirm\"}}", 403},
    };
    struct sandbox sandbox = add(*state, SANDBOX_KIND_TENANT);
    struct test_path own = {.id = begin(*state, &sandbox, "")};

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        ANSWER(answer, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "POST",
                           test_under(&own, "/confirmation_policy"), steps[i].policy));
        assert_answer(&answer, steps[i].status, "");
    }
    {
        ANSWER(answer, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "POST",
                           test_under(&own, "/security_analyzer"), "{\"security_analyzer\":null}"));
        assert_answer(&answer, 403, "may not remove the security analyzer");
    }
    {
        ANSWER(budget, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "PATCH", test_under(&own, ""),
                           "{\"max_budget_per_run\":null}"));
        ANSWER(title, ask(*state, &sandbox, "DEFT_ORIGIN=agent", "PATCH", test_under(&own, ""),
                          "{\"title\":\"Mine\"}"));

        assert_answer_json(&budget, 403,
                           "{\"detail\":\"A sandbox's key may not change the budget\"}");
        assert_answer_json(&title, 200, SUCCESS);
    }
}

static void keep_secret(void *state, const char *name, const char *value)
{
    char body[200] = "";

    (void)snprintf(body, sizeof(body), "{\"name\":\"%s\",\"value\":\"%s\"}", name, value);
    {
        ANSWER(answer, test_dispatch(state, ALICE, "PUT", "/api/settings/secrets", body));
        assert_answer(&answer, 200, "");
    }
}

static void assert_reads(void *state, enum caller caller, const char *path, const char *text)
{
    struct fixture *fixture = state;
    char header[128] = "";
    const char *params[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", header, NULL};

    (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s",
                   caller == ALICE ? fixture->alice_key : fixture->bob_key);
    {
        ANSWER(answer, test_dispatch_with(state, params, "GET", path, NULL));
        assert_answer(&answer, 200, text);
    }
}

static void each_reading_of_a_secret_is_on_record_for_its_owner(void **state)
{
    struct sandbox sandbox = add(*state, SANDBOX_KIND_REQUESTED);
    char path[128] = "";
    char lookup[256] = "";

    keep_secret(*state, "READ_ME", "the-value");
    keep_secret(*state, "ME_TOO", "another-value");
    (void)snprintf(path, sizeof(path), "/api/v1/sandboxes/%s/settings/secrets/READ_ME", sandbox.id);
    {
        ANSWER(answer, ask(*state, &sandbox, "DEFT_ORIGIN=app", "GET", path, NULL));
        assert_answer(&answer, 200, "the-value");
    }
    (void)snprintf(lookup, sizeof(lookup),
                   "\"secrets\":{\"X\":{\"kind\":\"LookupSecret\",\"url\":"
                   "\"http://localhost:3000/api/v1/sandboxes/%s/settings/secrets/ME_TOO\"}},",
                   sandbox.id);
    (void)begin(*state, &sandbox, lookup);
    (void)snprintf(path, sizeof(path), "/api/v1/sandboxes/%s/secret-reads", sandbox.id);
    assert_reads(*state, ALICE, path, "\"name\":\"ME_TOO\"");
    assert_reads(*state, ALICE, path, "\"name\":\"READ_ME\"");
    assert_reads(*state, BOB, path, "\"items\":[]");
    assert_reads(*state, ALICE, READS "/search", sandbox.id);
    assert_reads(*state, BOB, READS "/search", "\"items\":[]");
    (void)snprintf(path, sizeof(path), "/api/v1/sandboxes/%s/secret-reads?limit=1", sandbox.id);
    {
        CLEANUP(mem_freep) char *next = NULL;
        struct fixture *fixture = *state;
        char header[128] = "";
        const char *params[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", header, NULL};
        json_auto_t *page = NULL;

        (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
        ANSWER(answer, test_dispatch_with(*state, params, "GET", path, NULL));
        page = answer_json(&answer);
        assert_int_equal(json_array_size(json_object_get(page, "items")), 1);
        next = mem_dup_text(json_text_or(page, "next_page_id", ""));
        assert_string_not_equal(next, "");
        (void)snprintf(path, sizeof(path), "/api/v1/sandboxes/%s/secret-reads?limit=1&page_id=%s",
                       sandbox.id, next);
    }
    assert_reads(*state, ALICE, path, "READ_ME");
    assert_reads(*state, ALICE, path, "\"next_page_id\":null");
    assert_reads(*state, ALICE, "/api/v1/sandboxes/abcdefghijklmnop/secret-reads", "\"items\":[]");
}

/* The last readings that Bob sees, as "name sandbox,". */
static void assert_latest(void *state, const char *expected)
{
    struct fixture *fixture = state;
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
    char header[128] = "";
    const char *params[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", header, NULL};
    json_auto_t *list = NULL;
    json_t *item = NULL;
    size_t i = 0;

    (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s", fixture->bob_key);
    ANSWER(answer, test_dispatch_with(state, params, "GET", READS "/latest", NULL));
    list = answer_json(&answer);
    json_array_foreach (json_object_get(list, "items"), i, item)
        strbuf_appendf(&seen, "%s %s,", json_text_or(item, "name", ""),
                       json_text_or(item, "sandbox_id", ""));
    assert_string_equal(seen.text, expected);
}

static void the_last_reading_of_each_secret_is_told(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    assert_latest(*state, "");
    strbuf_appendf(&sql,
                   "INSERT INTO secret_reads (user_id, runtime_id, name) SELECT '%s', sandbox, name"
                   " FROM (VALUES ('one', 'B'), ('one', 'A'), ('two', 'B'), ('three', 'C'))"
                   " AS reading (sandbox, name)",
                   fixture->bob.text);
    test_sql(sql.text);
    assert_latest(*state, "A one,B two,C three,");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_says_what_a_sandboxs_key_may_do),
        cmocka_unit_test(rows_for_any_caller_are_open_as_they_are_listed),
        cmocka_unit_test(kinds_differ_in_what_they_open),
        cmocka_unit_test(every_row_is_as_open_as_its_column_says),
        cmocka_unit_test(clients_drive_what_they_began_and_nothing_else),
        cmocka_unit_test(key_of_a_sandbox_that_its_tenant_paused_is_told_so),
        cmocka_unit_test(a_copy_that_a_client_makes_stays_in_its_sandbox),
        cmocka_unit_test(a_start_brings_nothing_of_the_users_and_no_look_up),
        cmocka_unit_test(limits_of_a_run_become_stricter_only),
        cmocka_unit_test(each_reading_of_a_secret_is_on_record_for_its_owner),
        cmocka_unit_test(the_last_reading_of_each_secret_is_told),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
