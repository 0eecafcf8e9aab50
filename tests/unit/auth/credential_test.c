/*
 * Keys, links and sessions as they are made, listed and taken back, and whom each lets in.
 */
#include "auth/credential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/principal.h"
#include "auth/session.h"
#include "auth/wrong_keys.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "store/conversation/async_store.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db.h"
#include "store/runtime/runtime_key_store.h"
#include "store/user/user_store.h"
#include "support/pg.h"
#include "support/sql.h"

enum { KEY_MAX_BYTES = 512, SLACK_S = 60 };

struct fixture {
    struct db *db;
    struct keyring keyring;
};

static int set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, "00112233445566778899001122334455667788990011223344556677889900ff");
    assert_int_equal(keyring_init(&fixture->keyring, &root, &err), 0);
    fixture->db = test_db_open(2);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    db_free(fixture->db);
    mem_free(fixture);
    return 0;
}

/* --- keys --- */

static void key_of_the_runtime_api_is_found_by_its_hash_alone(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(user_done) struct user owner = USER_INIT;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct tenant tenant = TENANT_INIT;
    struct error err = ERROR_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    strbuf_append(&key, "the key is ");
    assert_int_equal(
        credential_new_runtime_key(fixture->db, &fixture->keyring, "tenant", &key, &err), 0);
    strbuf_remove_head(&key, strlen("the key is "));
    assert_int_equal(strncmp(key.text, "rk-deft-", 8), 0);
    assert_int_equal(key.len, 8 + CRYPTO_TOKEN_BYTES - 1);
    keyring_hash_token(&fixture->keyring, key.text, hash);
    assert_int_equal(runtime_key_store_find(fixture->db, hash, &tenant, &err), 0);
    assert_int_equal(user_store_ensure(fixture->db, "owner@localhost", &owner, &err), 0);
    assert_string_equal(tenant.user_id.text, owner.id.text);
    assert_int_equal(tenant.max_runtimes, 0);
    /* It is no key of a user. */
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, key.text, &caller, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

/* The key of that name in the list; NULL if there is none. */
static const struct api_key *find(const struct api_key_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    }
    return NULL;
}

static void keys_are_listed_and_revoked(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(api_key_list_done) struct api_key_list before = API_KEY_LIST_INIT;
    CLEANUP(api_key_list_done) struct api_key_list after = API_KEY_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf user_key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf runtime_key = STRBUF_INIT;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;

    assert_int_equal(
        credential_new_key(fixture->db, &fixture->keyring, "listed-a", &user_key, &err), 0);
    assert_int_equal(
        credential_new_runtime_key(fixture->db, &fixture->keyring, "listed-b", &runtime_key, &err),
        0);
    assert_int_equal(credential_list_keys(fixture->db, &before, &err), 0);
    assert_non_null(find(&before, "listed-a"));
    assert_string_equal(find(&before, "listed-a")->serves, "agent");
    assert_string_equal(find(&before, "listed-a")->revoked_at, "");
    assert_string_equal(find(&before, "listed-b")->serves, "runtime");
    assert_int_equal(credential_revoke_key(fixture->db, &find(&before, "listed-a")->id, &err), 0);
    assert_int_equal(credential_revoke_key(fixture->db, &find(&before, "listed-a")->id, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(credential_list_keys(fixture->db, &after, &err), 0);
    assert_string_not_equal(find(&after, "listed-a")->revoked_at, "");
    assert_string_equal(find(&after, "listed-b")->revoked_at, "");
    assert_int_equal(
        principal_from_key(fixture->db, &fixture->keyring, user_key.text, &caller, &err), -1);
}

/* The table is out of reach: nothing is shown that is not stored. */
static void credential_that_cannot_be_stored_is_not_shown(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf runtime_key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    struct error err = ERROR_INIT;

    test_sql("ALTER TABLE api_keys RENAME TO api_keys_away");
    assert_int_equal(credential_new_key(fixture->db, &fixture->keyring, "x", &key, &err), -1);
    test_sql("ALTER TABLE api_keys_away RENAME TO api_keys");
    test_sql("ALTER TABLE runtime_keys RENAME TO runtime_keys_away");
    assert_int_equal(
        credential_new_runtime_key(fixture->db, &fixture->keyring, "x", &runtime_key, &err), -1);
    test_sql("ALTER TABLE runtime_keys_away RENAME TO runtime_keys");
    test_sql("ALTER TABLE sign_in_links RENAME TO sign_in_links_away");
    assert_int_equal(credential_new_link(fixture->db, &fixture->keyring, &link, &err), -1);
    test_sql("ALTER TABLE sign_in_links_away RENAME TO sign_in_links");
    assert_int_equal(key.len + runtime_key.len + link.len, 0);
}

/* Any length up to this one is looked for. */
static void longest_key_has_512_bytes(void **state)
{
    struct fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct caller_query query = {.kind = CALLER_SESSION};
    struct error err = ERROR_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];
    char key[KEY_MAX_BYTES + 2] = "";

    memset(key, 'k', KEY_MAX_BYTES + 1);
    keyring_hash_token(&fixture->keyring, key, hash);
    assert_int_equal(user_store_add_key(fixture->db, &user, "too long", hash, &err), 0);
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, key, &caller, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_string_equal(err.message, "no such key");
    assert_int_equal(principal_query_of_key(&fixture->keyring, key, &query, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    key[KEY_MAX_BYTES] = '\0';
    keyring_hash_token(&fixture->keyring, key, hash);
    assert_int_equal(user_store_add_key(fixture->db, &user, "longest", hash, &err), 0);
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, key, &caller, &err), 0);
    assert_string_equal(caller.user_id.text, user.text);
    assert_int_equal(principal_query_of_key(&fixture->keyring, key, &query, &err), 0);
    assert_int_equal(query.kind, CALLER_SANDBOX_KEY);
    assert_string_equal(query.hash, hash);
}

/* --- sandboxes --- */

/* The row of a sandbox; owner, tenant: SQL of a uuid. */
static void add_sandbox(struct fixture *fixture, const char *session, const char *owner,
                        const char *tenant, const char *is_held)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(&fixture->keyring, session, hash);
    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, owner_id, tenant_id, is_held, status,"
                   " image, spec, session_key, session_key_hash) VALUES (left(md5('%s'), 16),"
                   " '%s', %s, %s, %s, 'running', 'i', '{}', 'sealed', '%s')",
                   session, session, owner, tenant, is_held, hash);
    test_sql(sql.text);
}

static void sandbox_is_of_the_kind_of_its_session(void **state)
{
    static const struct {
        const char *session;
        bool has_tenant;
        enum sandbox_kind kind;
    } cases[] = {
        {"u-cred", false, SANDBOX_KIND_SHARED},       {"c-cred", false, SANDBOX_KIND_CONVERSATION},
        {"s-cred", false, SANDBOX_KIND_REQUESTED},    {"s-tenant-cred", true, SANDBOX_KIND_TENANT},
        {"c-tenant-cred", true, SANDBOX_KIND_TENANT},
    };
    struct fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct error err = ERROR_INIT;
    char owner[64];

    (void)snprintf(owner, sizeof(owner), "'%s'", user.text);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct principal caller = {.kind = PRINCIPAL_NOBODY};

        add_sandbox(fixture, cases[i].session, owner,
                    cases[i].has_tenant
                        ? "(SELECT id FROM runtime_keys ORDER BY created_at LIMIT 1)"
                        : "NULL",
                    i % 2 == 0 ? "true" : "false");
        assert_int_equal(
            principal_from_key(fixture->db, &fixture->keyring, cases[i].session, &caller, &err), 0);
        assert_int_equal(caller.kind, PRINCIPAL_SANDBOX_KEY);
        assert_int_equal(caller.sandbox_kind, cases[i].kind);
        assert_string_equal(caller.runtime_session, cases[i].session);
        assert_int_equal(strlen(caller.runtime_id), 16);
        assert_int_equal(caller.is_held, i % 2 == 0);
        assert_string_equal(caller.user_id.text, user.text);
    }
}

/* A longer name would be cut off, and so become another one's. */
static void longest_session_name_has_79_bytes(void **state)
{
    struct fixture *fixture = *state;
    struct uuid user = test_user(fixture->db);
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;
    char owner[64];
    char name[81] = "c-";

    (void)snprintf(owner, sizeof(owner), "'%s'", user.text);
    memset(name + 2, 'x', 78);
    add_sandbox(fixture, name, owner, "NULL", "false");
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, name, &caller, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(caller.kind, PRINCIPAL_NOBODY);
    name[79] = '\0';
    add_sandbox(fixture, name, owner, "NULL", "false");
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, name, &caller, &err), 0);
    assert_string_equal(caller.runtime_session, name);
}

/* --- links and sessions --- */

static void link_names_its_owner_and_is_not_used_up(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    CLEANUP(user_done) struct user owner = USER_INIT;
    struct error err = ERROR_INIT;
    char token[CRYPTO_TOKEN_BYTES];

    assert_int_equal(credential_new_link(fixture->db, &fixture->keyring, &link, &err), 0);
    assert_int_equal(link.len, CRYPTO_TOKEN_BYTES - 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            session_link_owner(fixture->db, &fixture->keyring, link.text, &owner, &err), 0);
        assert_string_equal(owner.email, CREDENTIAL_OWNER_EMAIL);
        user_done(&owner);
        owner = (struct user)USER_INIT;
    }
    assert_int_equal(session_open(fixture->db, &fixture->keyring, link.text, token, &err), 0);
    assert_int_equal(strlen(token), CRYPTO_TOKEN_BYTES - 1);
    assert_int_equal(session_link_owner(fixture->db, &fixture->keyring, link.text, &owner, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void link_lasts_a_day_and_a_session_a_month(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    struct error err = ERROR_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    int64_t link_s = 0;
    int64_t session_s = 0;

    assert_int_equal(credential_new_link(fixture->db, &fixture->keyring, &link, &err), 0);
    link_s = test_sql_count("SELECT max(extract(epoch FROM expires_at - now()))::int"
                            " FROM sign_in_links");
    assert_in_range(link_s, CREDENTIAL_LINK_VALID_S - SLACK_S, CREDENTIAL_LINK_VALID_S);
    assert_int_equal(session_open(fixture->db, &fixture->keyring, link.text, token, &err), 0);
    session_s = test_sql_count("SELECT max(extract(epoch FROM expires_at - now()))::int"
                               " FROM sessions");
    assert_in_range(session_s, SESSION_VALID_S - SLACK_S, SESSION_VALID_S);
}

static void refused_link_opens_no_session(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    char token[CRYPTO_TOKEN_BYTES] = "as before";

    assert_int_equal(session_open(fixture->db, &fixture->keyring, "no link", token, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_string_equal(token, "as before");
}

/* --- questions without waiting --- */

static void question_is_of_the_kind_of_its_token(void **state)
{
    struct fixture *fixture = *state;
    struct caller_query key = {.kind = CALLER_SESSION};
    struct caller_query other = {.kind = CALLER_SESSION};
    struct caller_query session = {.kind = CALLER_USER_KEY};
    struct caller_query none = {.kind = CALLER_SESSION};
    struct error err = ERROR_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(&fixture->keyring, "sk-deft-1", hash);
    assert_int_equal(principal_query_of_key(&fixture->keyring, "sk-deft-1", &key, &err), 0);
    assert_int_equal(key.kind, CALLER_USER_KEY);
    assert_string_equal(key.hash, hash);
    assert_int_equal(principal_query_of_key(&fixture->keyring, "x", &other, &err), 0);
    assert_int_equal(other.kind, CALLER_SANDBOX_KEY);
    principal_query_of_session(&fixture->keyring, "sk-deft-1", &session);
    assert_int_equal(session.kind, CALLER_SESSION);
    assert_string_equal(session.hash, hash);
    assert_int_equal(principal_query_of_key(&fixture->keyring, "", &none, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void user_who_was_asked_for_shares_one_sandbox(void **state)
{
    static const struct {
        enum caller_kind asked;
        enum principal_kind kind;
    } cases[] = {{CALLER_USER_KEY, PRINCIPAL_USER_KEY}, {CALLER_SESSION, PRINCIPAL_SESSION}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct caller_query answer = {
            .kind = cases[i].asked, .user_id = uuid_random(), .key_id = uuid_random()};
        struct principal caller = {.kind = PRINCIPAL_NOBODY};
        struct error err = ERROR_INIT;
        char hex[UUID_HEX_BYTES];
        char session[80];

        assert_int_equal(principal_from_caller(&answer, &caller, &err), 0);
        assert_int_equal(caller.kind, cases[i].kind);
        assert_string_equal(caller.user_id.text, answer.user_id.text);
        assert_string_equal(caller.key_id.text, answer.key_id.text);
        uuid_to_hex(&answer.user_id, hex);
        (void)snprintf(session, sizeof(session), "u-%s", hex);
        assert_string_equal(caller.runtime_session, session);
        assert_true(principal_may(&caller, SANDBOX_REFUSED));
        assert_null(principal_scope(&caller).runtime_session);
        assert_string_equal(principal_scope(&caller).user_id.text, answer.user_id.text);
    }
}

static void sandbox_that_was_asked_for_is_named(void **state)
{
    const struct caller_query answer = {.kind = CALLER_SANDBOX_KEY,
                                        .user_id = uuid_random(),
                                        .runtime_id = "0123456789abcdef",
                                        .runtime_session = "c-1"};
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(principal_from_caller(&answer, &caller, &err), 0);
    assert_string_equal(caller.runtime_id, "0123456789abcdef");
    assert_string_equal(principal_scope(&caller).runtime_session, "c-1");
}

/* --- wrong keys --- */

static void refusal_for_too_many_keys_says_so(void **state)
{
    struct wrong_keys *keys = wrong_keys_new();
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++) {
        error_set(&err, ERROR_UNAUTHENTICATED, "no such key");
        assert_int_equal(wrong_keys_refuse(keys, "192.0.2.7", &err), -1);
        assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
        assert_string_equal(err.message, "no such key");
    }
    error_set(&err, ERROR_UNAUTHENTICATED, "no such key");
    assert_int_equal(wrong_keys_refuse(keys, "192.0.2.7", &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    assert_string_equal(err.message, "Too many wrong keys came from this address; try again in a"
                                     " minute");
    /* Other errors are not counted. */
    for (int i = 0; i <= WRONG_KEYS_PER_MINUTE; i++) {
        error_set(&err, ERROR_FORBIDDEN, "not yours");
        assert_int_equal(wrong_keys_refuse(keys, "192.0.2.8", &err), -1);
        assert_int_equal(err.code, ERROR_FORBIDDEN);
    }
    assert_true(wrong_keys_count(keys, "192.0.2.8"));
    wrong_keys_free(keys);
    wrong_keys_free(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_of_the_runtime_api_is_found_by_its_hash_alone),
        cmocka_unit_test(keys_are_listed_and_revoked),
        cmocka_unit_test(credential_that_cannot_be_stored_is_not_shown),
        cmocka_unit_test(longest_key_has_512_bytes),
        cmocka_unit_test(sandbox_is_of_the_kind_of_its_session),
        cmocka_unit_test(longest_session_name_has_79_bytes),
        cmocka_unit_test(link_names_its_owner_and_is_not_used_up),
        cmocka_unit_test(link_lasts_a_day_and_a_session_a_month),
        cmocka_unit_test(refused_link_opens_no_session),
        cmocka_unit_test(question_is_of_the_kind_of_its_token),
        cmocka_unit_test(user_who_was_asked_for_shares_one_sandbox),
        cmocka_unit_test(sandbox_that_was_asked_for_is_named),
        cmocka_unit_test(refusal_for_too_many_keys_says_so),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
