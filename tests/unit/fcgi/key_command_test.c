/*
 * Keys and links that deft-fcgi makes, lists and revokes from the command line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <cmocka.h>

#include "auth/credential.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "process_run.h"
#include "support/pg.h"
#include "support/sql.h"

enum { OUT_BYTES = 200 };

static void open_keyring(struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&key, PROCESS_ROOT_KEY);
    assert_int_equal(keyring_init(keyring, &key, &err), 0);
}

static void hash_key_is_the_gateways(void **state)
{
    RUN(hashed, "--hash-key", NULL);
    struct keyring keyring;
    char hex[CRYPTO_HASH_HEX_BYTES];
    char expected[CRYPTO_HASH_HEX_BYTES + 1];

    (void)state;
    open_keyring(&keyring);
    keyring_hash_key(&keyring, hex);
    (void)snprintf(expected, sizeof(expected), "%s\n", hex);
    assert_int_equal(hashed.status, 0);
    assert_string_equal(hashed.out.text, expected);
}

/* The rows whose column is the hash of what the run printed after that prefix, and its last line's
 * end. */
static void assert_stored(const struct run *run, const char *prefix, const char *from)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct keyring keyring;
    char token[OUT_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    assert_int_equal(run->status, 0);
    assert_true(text_starts_with(run->out.text, prefix));
    assert_int_equal(strcspn(run->out.text, "\n") + 1, run->out.len); /* one line */
    (void)snprintf(token, sizeof(token), "%s",
                   strchr(run->out.text, '#') != NULL ? strchr(run->out.text, '#') + 1
                                                      : run->out.text);
    token[strcspn(token, "\n")] = '\0';
    open_keyring(&keyring);
    keyring_hash_token(&keyring, token, hash);
    strbuf_appendf(&sql, "SELECT count(*) FROM %s'%s'", from, hash);
    assert_int_equal(test_sql_count(sql.text), 1);
}

static void keys_are_made_listed_and_revoked(void **state)
{
    (void)state;
    test_sql("DELETE FROM api_keys; DELETE FROM runtime_keys");
    RUN(none, "--list-keys", NULL);
    RUN(key, "--new-key", "laptop");
    RUN(runtime_key, "--new-runtime-key", "cluster");
    RUN(both, "--list-keys", NULL);
    RUN(revoked, "--revoke-key", "laptop");
    RUN(again, "--revoke-key", "laptop");
    RUN(after, "--list-keys", NULL);

    assert_run(&none, 0, "There are no keys yet: ./deft key NAME makes one.\n", "");
    assert_stored(&key, CREDENTIAL_KEY_PREFIX, "api_keys WHERE name = 'laptop' AND key_hash = ");
    assert_stored(&runtime_key, CREDENTIAL_RUNTIME_KEY_PREFIX,
                  "runtime_keys WHERE name = 'cluster' AND key_hash = ");
    assert_run(&both, 0, "  laptop\n", "");
    assert_run(&both, 0, "  cluster\n", "");
    assert_null(strstr(both.out.text, "  revoked "));
    assert_null(strstr(both.out.text, "There are no keys"));
    assert_run(&revoked, 0, "", "");
    assert_int_equal(test_sql_count("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), 0);
    assert_run(&again, EXIT_FAILURE, "",
               "there is no valid key with the id or name 'laptop'; ./deft key --list shows all "
               "keys");
    assert_run(&after, 0, "  revoked ", "");
    assert_run(&after, 0, "  valid ", "");
}

/* A line: the first characters of the id, when it was made, its state, what it serves, its name. */
static void lines_of_keys_tell_what_they_serve(void **state)
{
    static const char valid[] =
        "1d3f1c52  2026-01-02 03:04  valid                     agent    one\n"
        "2d3f1c52  2026-01-03 03:04  valid                     runtime  two\n";
    static const char revoked[] =
        "1d3f1c52  2026-01-02 03:04  revoked 2026-01-04 03:04  agent    one\n";

    (void)state;
    test_sql("DELETE FROM api_keys; DELETE FROM runtime_keys");
    RUN(key, "--new-key", "one");
    RUN(runtime_key, "--new-runtime-key", "two");
    test_sql("UPDATE api_keys SET id = '1d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10',"
             " created_at = '2026-01-02 03:04:05Z';"
             " UPDATE runtime_keys SET id = '2d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10',"
             " created_at = '2026-01-03 03:04:05Z'");
    RUN(both, "--list-keys", NULL);
    test_sql("UPDATE api_keys SET revoked_at = '2026-01-04 03:04:05Z'");
    RUN(after, "--list-keys", NULL);

    assert_int_equal(key.status + runtime_key.status, 0);
    assert_int_equal(both.status, 0);
    assert_string_equal(both.out.text, valid);
    assert_run(&after, 0, revoked, "");
}

static void several_keys_of_a_name_are_told_apart(void **state)
{
    (void)state;
    test_sql("DELETE FROM api_keys; DELETE FROM runtime_keys");
    RUN(first, "--new-key", "same");
    test_sql("UPDATE api_keys SET revoked_at = now(),"
             " id = '11111111-2222-4333-8444-555555555555'");
    RUN(second, "--new-key", "same");
    test_sql("UPDATE api_keys SET id = '22222222-2222-4333-8444-555555555555'"
             " WHERE revoked_at IS NULL");
    RUN(third, "--new-key", "same");
    test_sql("UPDATE api_keys SET id = '33333333-2222-4333-8444-555555555555'"
             " WHERE revoked_at IS NULL AND id <> '22222222-2222-4333-8444-555555555555'");
    RUN(other, "--new-key", "other");
    RUN(refused, "--revoke-key", "same");
    RUN(by_id, "--revoke-key", "22222222");

    assert_int_equal(first.status + second.status + third.status + other.status, 0);
    assert_run(&refused, EXIT_FAILURE, "",
               "deft-fcgi: several keys are named 'same': revoke one of these by its id");
    assert_non_null(strstr(refused.err.text, "22222222  "));
    assert_non_null(strstr(refused.err.text, "33333333  "));
    assert_null(strstr(refused.err.text, "11111111  "));
    assert_null(strstr(refused.err.text, "other"));
    assert_run(&by_id, 0, "", "");
    assert_int_equal(test_sql_count("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), 2);
    assert_int_equal(test_sql_count("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL AND"
                                    " id = '22222222-2222-4333-8444-555555555555'"),
                     0);
}

static void keys_need_a_name(void **state)
{
    (void)state;
    test_sql("DELETE FROM api_keys; DELETE FROM runtime_keys");
    RUN(key, "--new-key", " ");
    RUN(runtime_key, "--new-runtime-key", " ");

    assert_run(&key, EX_CONFIG, "", "deft-fcgi: --new-key needs a name\n");
    assert_run(&runtime_key, EX_CONFIG, "", "deft-fcgi: --new-runtime-key needs a name\n");
    assert_int_equal(test_sql_count("SELECT (SELECT count(*) FROM api_keys)"
                                    " + (SELECT count(*) FROM runtime_keys)"),
                     0);
}

static void link_leads_to_the_page(void **state)
{
    RUN(link, "--new-link", NULL);

    (void)state;
    assert_stored(&link, "http://page.test/sign-in#", "sign_in_links WHERE token_hash = ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_key_is_the_gateways),
        cmocka_unit_test(keys_are_made_listed_and_revoked),
        cmocka_unit_test(lines_of_keys_tell_what_they_serve),
        cmocka_unit_test(several_keys_of_a_name_are_told_apart),
        cmocka_unit_test(keys_need_a_name),
        cmocka_unit_test(link_leads_to_the_page),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, process_set_up, process_tear_down);
}
