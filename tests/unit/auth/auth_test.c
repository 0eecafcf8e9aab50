#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/credential.h"
#include "auth/credential_header.h"
#include "auth/principal.h"
#include "auth/session.h"
#include "auth/wrong_keys.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "store/conversation/async_store.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db.h"
#include "store/runtime/sandbox_store.h"
#include "store/user/user_store.h"
#include "support/pg.h"
#include "support/sql.h"

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

static void new_key_is_its_users_until_revoked(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;
    char hex[UUID_HEX_BYTES];

    assert_int_equal(credential_new_key(fixture->db, &fixture->keyring, "laptop", &key, &err), 0);
    assert_int_equal(strncmp(key.text, "sk-deft-", 8), 0);
    assert_int_equal(key.len, 8 + 43);
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, key.text, &caller, &err),
                     0);
    assert_int_equal(caller.kind, PRINCIPAL_USER_KEY);
    uuid_to_hex(&caller.user_id, hex);
    assert_string_equal(caller.runtime_session + 2, hex);
    assert_null(principal_scope(&caller).runtime_session);

    test_sql("UPDATE api_keys SET revoked_at = now() WHERE name = 'laptop'");
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, key.text, &caller, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

/* How many keys are meant; the first character of the last one's id in *first_out. */
static size_t pick(const char *id_or_name, char *first_out)
{
    char names[][12] = {"laptop", "laptop", "phone", "old", "aaaaaaaa", "2026-01-01"};
    struct api_key keys[] = {
        {.id = {"aaaaaaaa-0000-4000-8000-000000000001"}, .name = names[0]},
        {.id = {"abababab-0000-4000-8000-000000000002"}, .name = names[1]},
        {.id = {"bbbbbbbb-0000-4000-8000-000000000003"}, .name = names[2]},
        {.id = {"cccccccc-0000-4000-8000-000000000004"}, .name = names[3]},
        {.id = {"dddddddd-0000-4000-8000-000000000005"}, .name = names[4]},
    };
    const struct api_key_list list = {.items = keys, .n = ARRAY_SIZE(keys)};
    const struct api_key *key = NULL;
    char valid[] = "";
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        keys[i].revoked_at = i == 3 ? names[5] : valid;
    n = credential_pick_key(&list, id_or_name, &key);
    *first_out = '-';
    if (key != NULL)
        *first_out = key->id.text[0];
    return n;
}

static void key_is_picked_by_its_id_or_by_a_name_that_it_alone_has(void **state)
{
    static const struct {
        const char *given;
        size_t n;
        char first;
    } cases[] = {
        {"phone", 1, 'b'},
        {"dddddddd", 1, 'd'},
        {"dddddddd-0000-4000-8000-000000000005", 1, 'd'},
        {"aaaaaaaa", 1, 'a'}, /* an id counts before a name */
        {"laptop", 2, 'a'},
        {"old", 0, '-'},
        {"cccccccc", 0, '-'},
        {"bbbbbbb", 0, '-'}, /* less than is shown of an id */
        {"", 0, '-'},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char first = '?';

        assert_int_equal(pick(cases[i].given, &first), cases[i].n);
        assert_int_equal(first, cases[i].first);
    }
}

static void key_is_not_kept_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(credential_new_key(fixture->db, &fixture->keyring, "x", &key, &err), 0);
    strbuf_appendf(&sql, "SELECT count(*) FROM api_keys WHERE key_hash LIKE '%%%s%%'", key.text);
    assert_int_equal(test_sql_count(sql.text), 0);
}

static void other_texts_are_no_keys(void **state)
{
    static const char *const texts[] = {"", "x", "sk-deft-", "sk-deft-' OR 1=1 --", "\xff\xfe"};
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf huge = STRBUF_INIT;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};

    for (int i = 0; i < 1000; i++)
        strbuf_append(&huge, "sk-deft-");
    for (size_t i = 0; i <= ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        const char *text = i < ARRAY_SIZE(texts) ? texts[i] : huge.text;

        assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, text, &caller, &err),
                         -1);
        assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
        assert_int_equal(caller.kind, PRINCIPAL_NOBODY);
    }
}

/* The row of a sandbox with this key; owner: SQL of a uuid. */
static void add_sandbox(struct fixture *fixture, const char *session, const char *key,
                        const char *owner)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(&fixture->keyring, key, hash);
    strbuf_appendf(
        &sql,
        "INSERT INTO runtimes (id, session_id, owner_id, status, image, spec,"
        " session_key, session_key_hash) VALUES (left(md5(random()::text), 16), '%s', %s,"
        " 'running', 'i', '{}', 'sealed', '%s')",
        session, owner, hash);
    test_sql(sql.text);
}

static void sandbox_key_sees_that_sandbox_alone(void **state)
{
    struct fixture *fixture = *state;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct uuid user = test_user(fixture->db);
    struct error err = ERROR_INIT;
    char owner[64];

    (void)snprintf(owner, sizeof(owner), "'%s'", user.text);
    add_sandbox(fixture, "c-1", "sandbox-key-1", owner);
    assert_int_equal(
        principal_from_key(fixture->db, &fixture->keyring, "sandbox-key-1", &caller, &err), 0);
    assert_int_equal(caller.kind, PRINCIPAL_SANDBOX_KEY);
    assert_string_equal(caller.user_id.text, user.text);
    assert_string_equal(principal_scope(&caller).runtime_session, "c-1");

    test_sql("UPDATE runtimes SET status = 'stopped' WHERE session_id = 'c-1'");
    assert_int_equal(
        principal_from_key(fixture->db, &fixture->keyring, "sandbox-key-1", &caller, &err), -1);
}

static void key_of_a_shared_sandbox_sees_no_conversation(void **state)
{
    struct fixture *fixture = *state;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct uuid user = test_user(fixture->db);
    struct error err = ERROR_INIT;
    char owner[64];

    (void)snprintf(owner, sizeof(owner), "'%s'", user.text);
    add_sandbox(fixture, "u-shared", "sandbox-key-shared", owner);
    assert_int_equal(
        principal_from_key(fixture->db, &fixture->keyring, "sandbox-key-shared", &caller, &err), 0);
    assert_int_equal(caller.sandbox_kind, SANDBOX_KIND_SHARED);
    /* NULL would mean all of the user's. */
    assert_non_null(principal_scope(&caller).runtime_session);
    assert_string_equal(principal_scope(&caller).runtime_session, "");
}

/* By a process that asks without waiting: what a key opens is the same. */
static void caller_that_was_asked_for_is_of_its_sandboxs_kind(void **state)
{
    static const struct {
        const char *session;
        bool has_tenant;
        enum sandbox_kind kind;
    } cases[] = {
        {"u-00112233445566778899aabbccddeeff", false, SANDBOX_KIND_SHARED},
        {CONVERSATION_SESSION_PREFIX "1", false, SANDBOX_KIND_CONVERSATION},
        {SANDBOX_SESSION_PREFIX "1", false, SANDBOX_KIND_REQUESTED},
        {SANDBOX_SESSION_PREFIX "1", true, SANDBOX_KIND_TENANT},
        {"anything", true, SANDBOX_KIND_TENANT},
        {"anything", false, SANDBOX_KIND_SHARED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct caller_query answer = {.kind = CALLER_SANDBOX_KEY,
                                      .user_id = uuid_random(),
                                      .has_tenant = cases[i].has_tenant};
        struct principal caller = {.kind = PRINCIPAL_NOBODY};
        struct error err = ERROR_INIT;

        memcpy(answer.runtime_session, cases[i].session, strlen(cases[i].session) + 1);
        assert_int_equal(principal_from_caller(&answer, &caller, &err), 0);
        assert_int_equal(caller.kind, PRINCIPAL_SANDBOX_KEY);
        assert_int_equal(caller.sandbox_kind, cases[i].kind);
        assert_string_equal(caller.runtime_session, cases[i].session);
        caller.kind = PRINCIPAL_NOBODY;
        answer.user_id = (struct uuid)UUID_INIT;
        assert_int_equal(principal_from_caller(&answer, &caller, &err), -1);
        assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
        assert_int_equal(caller.kind, PRINCIPAL_NOBODY);
    }
}

/* Otherwise all such sandboxes would share the bash events of one. */
static void sandbox_whose_session_name_is_too_long_lets_nobody_in(void **state)
{
    const struct caller_query answer = {.kind = CALLER_SANDBOX_KEY, .user_id = uuid_random()};
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(principal_from_caller(&answer, &caller, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(caller.kind, PRINCIPAL_NOBODY);
}

static void sandbox_without_an_owner_lets_nobody_in(void **state)
{
    struct fixture *fixture = *state;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;

    add_sandbox(fixture, "c-2", "sandbox-key-2", "NULL");
    assert_int_equal(
        principal_from_key(fixture->db, &fixture->keyring, "sandbox-key-2", &caller, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void link_opens_one_session_and_no_second(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;
    char token[CRYPTO_TOKEN_BYTES];

    assert_int_equal(credential_new_link(fixture->db, &fixture->keyring, &link, &err), 0);
    assert_int_equal(session_open(fixture->db, &fixture->keyring, link.text, token, &err), 0);
    assert_int_equal(principal_from_session(fixture->db, &fixture->keyring, token, &caller, &err),
                     0);
    assert_int_equal(caller.kind, PRINCIPAL_SESSION);
    assert_int_equal(session_open(fixture->db, &fixture->keyring, link.text, token, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);

    assert_int_equal(session_close(fixture->db, &fixture->keyring, token, &err), 0);
    assert_int_equal(principal_from_session(fixture->db, &fixture->keyring, token, &caller, &err),
                     -1);
}

static void old_links_and_sessions_are_none(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf late = STRBUF_INIT;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct error err = ERROR_INIT;
    char token[CRYPTO_TOKEN_BYTES];

    assert_int_equal(credential_new_link(fixture->db, &fixture->keyring, &link, &err), 0);
    assert_int_equal(session_open(fixture->db, &fixture->keyring, link.text, token, &err), 0);
    assert_int_equal(credential_new_link(fixture->db, &fixture->keyring, &late, &err), 0);
    test_sql("UPDATE sessions SET expires_at = now() - interval '1 s'");
    test_sql("UPDATE sign_in_links SET expires_at = now() - interval '1 s'");
    assert_int_equal(principal_from_session(fixture->db, &fixture->keyring, token, &caller, &err),
                     -1);
    assert_int_equal(session_open(fixture->db, &fixture->keyring, late.text, token, &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
}

static void wrong_keys_are_limited_for_their_address_alone(void **state)
{
    struct wrong_keys *keys = wrong_keys_new();
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
        assert_true(wrong_keys_count(keys, "192.0.2.1"));
    assert_false(wrong_keys_count(keys, "192.0.2.1"));
    assert_false(wrong_keys_count(keys, "::ffff:192.0.2.1"));
    assert_true(wrong_keys_count(keys, "192.0.2.2"));
    for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
        assert_true(wrong_keys_count(keys, i % 2 == 0 ? "2001:db8::1" : "2001:db8::2:1"));
    assert_false(wrong_keys_count(keys, "2001:db8:0:0:ffff::9"));
    assert_true(wrong_keys_count(keys, "2001:db8:0:1::1"));
    for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
        assert_true(wrong_keys_count(keys, NULL));
    assert_false(wrong_keys_count(keys, "nonsense"));

    error_set(&err, ERROR_UNAUTHENTICATED, "no such key");
    assert_int_equal(wrong_keys_refuse(keys, "192.0.2.1", &err), -1);
    assert_int_equal(err.code, ERROR_RATE_LIMITED);
    error_set(&err, ERROR_UNAVAILABLE, "no database");
    assert_int_equal(wrong_keys_refuse(keys, "192.0.2.1", &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    error_set(&err, ERROR_UNAUTHENTICATED, "no such key");
    assert_int_equal(wrong_keys_refuse(NULL, "192.0.2.1", &err), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    wrong_keys_free(keys);
}

/* The table has a fixed size: addresses by the thousand push out the quiet ones, not each other. */
static void many_addresses_take_no_more_memory(void **state)
{
    struct wrong_keys *keys = wrong_keys_new();
    char address[32];

    (void)state;
    for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
        assert_true(wrong_keys_count(keys, "192.0.2.1"));
    for (int i = 0; i < 200000; i++) {
        (void)snprintf(address, sizeof(address), "10.%d.%d.%d", i >> 16, (i >> 8) & 255, i & 255);
        assert_true(wrong_keys_count(keys, address));
    }
    /* The loud one was not pushed out by them. */
    assert_false(wrong_keys_count(keys, "192.0.2.1"));
    wrong_keys_free(keys);
}

static void sandbox_key_may_what_its_kind_allows(void **state)
{
    static const char *const may[SANDBOX_N_KINDS] = {
        [SANDBOX_KIND_SHARED] = "-o-i---",
        [SANDBOX_KIND_CONVERSATION] = "-o-ir--",
        [SANDBOX_KIND_TENANT] = "-o-ird-",
        [SANDBOX_KIND_REQUESTED] = "-o-irds",
    };

    (void)state;
    for (int kind = 0; kind < SANDBOX_N_KINDS; kind++) {
        const struct principal key = {.kind = PRINCIPAL_SANDBOX_KEY,
                                      .sandbox_kind = (enum sandbox_kind)kind};

        for (int access = 0; access < SANDBOX_N_ACCESS; access++)
            assert_int_equal(principal_may(&key, (enum sandbox_access)access),
                             may[kind][access] != '-');
    }
}

static void credential_header_is_read_as_it_was_written(void **state)
{
    static const enum caller_kind kinds[] = {CALLER_USER_KEY, CALLER_SESSION, CALLER_SANDBOX_KEY};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct caller_query query = {.kind = kinds[i]};
        struct caller_query read = {.kind = kinds[ARRAY_SIZE(kinds) - 1 - i]};

        keyring_hash_token(&fixture->keyring, "token", query.hash);
        credential_header_append(&query, &text);
        assert_true(text.len < CREDENTIAL_HEADER_BYTES);
        assert_true(credential_header_read(text.text, &read));
        assert_int_equal(read.kind, kinds[i]);
        assert_string_equal(read.hash, query.hash);
    }
}

#define HALF_HASH "0123456789abcdef0123456789abcdef"

static void other_texts_are_no_credential_header(void **state)
{
    static const char *const texts[] = {
        "",
        "key ",
        "key " HALF_HASH,
        "key " HALF_HASH "0123456789abcdef0123456789abcde",
        "key " HALF_HASH HALF_HASH "0",
        "key  " HALF_HASH HALF_HASH,
        "key 0123456789ABCDEF0123456789abcdef" HALF_HASH,
        "key" HALF_HASH HALF_HASH,
        "other " HALF_HASH HALF_HASH,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct caller_query query = {.kind = CALLER_SESSION};

        assert_false(credential_header_read(texts[i], &query));
    }
}

/* Keys that a deferred start was given are a user's, whatever they look like. */
static void key_of_any_form_is_its_users(void **state)
{
    struct fixture *fixture = *state;
    struct principal caller = {.kind = PRINCIPAL_NOBODY};
    struct uuid user = test_user(fixture->db);
    struct error err = ERROR_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(&fixture->keyring, "any form", hash);
    assert_int_equal(user_store_add_key(fixture->db, &user, "given", hash, &err), 0);
    assert_int_equal(principal_from_key(fixture->db, &fixture->keyring, "any form", &caller, &err),
                     0);
    assert_int_equal(caller.kind, PRINCIPAL_USER_KEY);
    assert_string_equal(caller.user_id.text, user.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_key_is_its_users_until_revoked),
        cmocka_unit_test(key_is_picked_by_its_id_or_by_a_name_that_it_alone_has),
        cmocka_unit_test(key_is_not_kept_as_it_is),
        cmocka_unit_test(other_texts_are_no_keys),
        cmocka_unit_test(sandbox_key_sees_that_sandbox_alone),
        cmocka_unit_test(key_of_a_shared_sandbox_sees_no_conversation),
        cmocka_unit_test(caller_that_was_asked_for_is_of_its_sandboxs_kind),
        cmocka_unit_test(sandbox_whose_session_name_is_too_long_lets_nobody_in),
        cmocka_unit_test(sandbox_without_an_owner_lets_nobody_in),
        cmocka_unit_test(link_opens_one_session_and_no_second),
        cmocka_unit_test(old_links_and_sessions_are_none),
        cmocka_unit_test(wrong_keys_are_limited_for_their_address_alone),
        cmocka_unit_test(many_addresses_take_no_more_memory),
        cmocka_unit_test(sandbox_key_may_what_its_kind_allows),
        cmocka_unit_test(credential_header_is_read_as_it_was_written),
        cmocka_unit_test(other_texts_are_no_credential_header),
        cmocka_unit_test(key_of_any_form_is_its_users),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
