/*
 * Access to the Runtime API: deft's own processes with the service's key, external clients with a
 * tenant's.
 */
#include "runtime/api/http_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/secret.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"
#include "web/reply_output.h"
#include "web/request_input.h"

#define OURS "aaaaaaaaaaaaaaaa"
#define THEIRS "bbbbbbbbbbbbbbbb"
#define HOUSE_KEY "the-key-of-the-house"
#define TENANT_KEY "the-key-of-a-tenant"

static int read_nothing(void *stream, char *buffer, int len)
{
    (void)stream;
    if (len > 0)
        buffer[0] = '\0';
    return 0;
}

static int collect(void *stream, const char *bytes, int len)
{
    strbuf_append_bytes(stream, bytes, (size_t)len);
    return 0;
}

struct asked {
    const char *method;
    const char *path;
    const char *key; /* NULL: none */
    bool is_outside;
};

/* The status; the whole reply in *reply. */
static int ask(struct service_fixture *fixture, const struct asked *asked, struct strbuf *reply)
{
    char method[32] = "";
    char path[128] = "";
    char key[128] = "";
    char origin[] = "DEFT_ORIGIN=outside";
    char *params[] = {method, path, NULL, NULL, NULL};
    const struct request_input input = {params, read_nothing, NULL};
    const struct reply_output output = {collect, reply};
    static const char status[] = "Status: ";
    size_t n = 2;

    (void)snprintf(method, sizeof(method), "REQUEST_METHOD=%s", asked->method);
    (void)snprintf(path, sizeof(path), "REQUEST_URI=%s", asked->path);
    (void)snprintf(key, sizeof(key), "HTTP_X_API_KEY=%s", asked->key != NULL ? asked->key : "");
    if (asked->key != NULL)
        params[n++] = key;
    if (asked->is_outside)
        params[n] = origin;
    strbuf_reset(reply);
    front_serve(&fixture->service, &input, &output);
    assert_int_equal(strncmp(reply->text, status, strlen(status)), 0);
    return (int)strtol(reply->text + strlen(status), NULL, 10);
}

static void assert_status(struct service_fixture *fixture, const struct asked *asked, int status)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    int seen = ask(fixture, asked, &reply);

    if (seen != status)
        fail_msg("%s %s: %d %s", asked->method, asked->path, seen, reply.text);
}

static int set_up(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct service_fixture *fixture = NULL;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    if (service_set_up(state) < 0)
        return -1;
    fixture = *state;
    secret_set(&fixture->settings.api_key, HOUSE_KEY);
    secret_set(&fixture->settings.admin_key, "the-key-of-administrators");
    secret_set(&fixture->settings.admin_password, "the-password");
    keyring_hash_token(&fixture->service.keyring, TENANT_KEY, hash);
    service_add_runtime(fixture, &(struct test_runtime){.id = OURS});
    service_add_runtime(fixture, &(struct test_runtime){.id = THEIRS});
    /* One runtime is deft's own, the other one another tenant's. */
    strbuf_appendf(&sql,
                   "INSERT INTO runtime_keys (user_id, name, key_hash) VALUES ('%s', 'one', '%s');"
                   "WITH other AS (INSERT INTO runtime_keys (user_id, name, key_hash)"
                   " VALUES ('%s', 'two', 'hash of two') RETURNING id)"
                   " UPDATE runtimes SET tenant_id = other.id FROM other"
                   " WHERE runtimes.id = '" THEIRS "'",
                   fixture->owner_id.text, hash, fixture->owner_id.text);
    test_sql(sql.text);
    return 0;
}

static int tear_down(void **state)
{
    struct service_fixture *fixture = *state;

    secret_done(&fixture->settings.api_key);
    secret_done(&fixture->settings.admin_key);
    secret_done(&fixture->settings.admin_password);
    test_sql("DELETE FROM runtimes; DELETE FROM runtime_keys");
    return service_tear_down(state);
}

/* Also for a path that does not exist: who has no key learns nothing. */
static void caller_without_the_right_key_is_refused(void **state)
{
    static const struct asked cases[] = {
        {"GET", "/list", NULL, false},        {"GET", "/list", "wrong", false},
        {"GET", "/list", TENANT_KEY, false},  {"GET", "/list", "", true},
        {"GET", "/list", NULL, true},         {"GET", "/list", HOUSE_KEY, true},
        {"GET", "/metrics", NULL, false},     {"GET", "/none", NULL, true},
        {"GET", "/none", HOUSE_KEY, true},    {"GET", "/runtime/" OURS, NULL, false},
        {"POST", "/stop", TENANT_KEY, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_status(*state, &cases[i], 401);
    assert_status(*state, &(struct asked){"GET", "/metrics", HOUSE_KEY, false}, 200);
    assert_status(*state, &(struct asked){"GET", "/list", TENANT_KEY, true}, 200);
}

static void tenant_sees_neither_defts_runtimes_nor_another_tenants(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    assert_int_equal(ask(*state, &(struct asked){"GET", "/list", TENANT_KEY, true}, &reply), 200);
    assert_null(strstr(reply.text, OURS));
    assert_null(strstr(reply.text, THEIRS));
    assert_status(*state, &(struct asked){"GET", "/runtime/" OURS, TENANT_KEY, true}, 404);
    assert_status(*state, &(struct asked){"GET", "/runtime/" THEIRS, TENANT_KEY, true}, 404);
    assert_status(*state, &(struct asked){"GET", "/sessions/s-" OURS, TENANT_KEY, true}, 404);
    assert_status(*state, &(struct asked){"GET", "/egress_refusals/" OURS, TENANT_KEY, true}, 404);
}

static void figures_are_for_the_house(void **state)
{
    assert_status(*state, &(struct asked){"GET", "/metrics", TENANT_KEY, true}, 404);
    assert_status(*state, &(struct asked){"GET", "/metrics", HOUSE_KEY, false}, 200);
}

/* An administrator's routes are not opened by a tenant's key. */
static void administration_needs_an_administrator(void **state)
{
    static const struct asked cases[] = {
        {"GET", "/api/admin/api-keys", TENANT_KEY, true},
        {"GET", "/api/admin/api-keys", NULL, true},
        {"DELETE", "/api/admin/warm-runtime-configs/default", TENANT_KEY, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_status(*state, &cases[i], 401);
}

static void other_methods_and_paths_are_told_to_who_has_a_key(void **state)
{
    assert_status(*state, &(struct asked){"DELETE", "/list", HOUSE_KEY, false}, 400);
    assert_status(*state, &(struct asked){"GET", "/none", HOUSE_KEY, false}, 404);
    assert_status(*state, &(struct asked){"GET", "/none", TENANT_KEY, true}, 404);
    assert_status(*state, &(struct asked){"GET", "/runtime/%00", HOUSE_KEY, false}, 404);
}

/* What went wrong inside is for the log. */
static void internal_error_says_no_more(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    test_sql("UPDATE runtimes SET session_key = 'not sealed' WHERE id = '" OURS "'");
    assert_int_equal(
        ask(*state, &(struct asked){"GET", "/runtime/" OURS, HOUSE_KEY, false}, &reply), 500);
    assert_non_null(strstr(reply.text, "\r\n\r\n{\"detail\":\"internal error\"}"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int http_front_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(caller_without_the_right_key_is_refused),
        TEST(tenant_sees_neither_defts_runtimes_nor_another_tenants),
        TEST(figures_are_for_the_house),
        TEST(administration_needs_an_administrator),
        TEST(other_methods_and_paths_are_told_to_who_has_a_key),
        TEST(internal_error_says_no_more),
    };

    return cmocka_run_group_tests_name("runtime/http_front", tests, NULL, NULL);
}
