/*
 * A runtime's row in memory: its id and texts, the endpoint of its server, and whether it has a
 * container.
 */
#include "runtime/core/runtime_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/sandbox_call.h"
#include "store/runtime/runtime_store.h"
#include "unit/runtime/runtime_test.h"

#define KEY "a-session-key"

static void open_keyring(struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, "00112233445566778899001122334455667788990011223344556677889900ff");
    assert_int_equal(keyring_init(keyring, &root, &err), 0);
}

/* A row whose session key is sealed for a runtime of that id. */
static struct runtime runtime_sealed_for(const struct keyring *keyring, const char *id)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    struct runtime runtime = RUNTIME_INIT;
    char context[RUNTIME_RECORD_KEY_CONTEXT_BYTES] = "";

    secret_set(&key, KEY);
    runtime_record_key_context(id, context);
    keyring_seal(keyring, context, &key, &sealed);
    memcpy(runtime.id, "aaaabbbbccccdddd", sizeof(runtime.id));
    runtime.session_key = mem_dup_text(sealed.text);
    runtime.proves = true;
    return runtime;
}

static void ids_are_sixteen_letters_and_differ(void **state)
{
    char first[RUNTIME_RECORD_ID_BYTES] = "";
    char second[RUNTIME_RECORD_ID_BYTES] = "";

    (void)state;
    runtime_record_make_id(first);
    runtime_record_make_id(second);
    assert_int_equal(strlen(first), 16);
    assert_int_equal(strspn(first, "abcdefghijklmnopqrstuvwxyz"), 16);
    assert_string_not_equal(first, second);
}

static void empty_text_is_none(void **state)
{
    char *field = NULL;
    char text[] = "one";

    (void)state;
    runtime_record_set_text(&field, text);
    assert_string_equal(field, "one");
    assert_ptr_not_equal(field, text);
    runtime_record_set_text(&field, "other");
    assert_string_equal(field, "other");
    runtime_record_set_text(&field, "");
    assert_null(field);
    runtime_record_set_text(&field, "again");
    runtime_record_set_text(&field, NULL);
    assert_null(field);
}

static void endpoint_has_the_rows_id_address_and_keys(void **state)
{
    struct keyring keyring;
    struct error err = ERROR_INIT;

    (void)state;
    open_keyring(&keyring);
    for (int i = 0; i < 2; i++) {
        CLEANUP(runtime_done) struct runtime runtime =
            runtime_sealed_for(&keyring, "aaaabbbbccccdddd");
        CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
        CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint expected = SANDBOX_ENDPOINT_INIT;

        runtime.proves = i == 1;
        runtime.url = i == 1 ? mem_dup_text("http://10.0.0.2:8000") : NULL;
        sandbox_endpoint_set_keys(&expected, KEY, i == 1 ? SANDBOX_KEYS_DERIVED : SANDBOX_KEYS_OLD);
        assert_int_equal(runtime_record_open_endpoint(&runtime, &keyring, &endpoint, &err), 0);
        assert_string_equal(endpoint.runtime_id, "aaaabbbbccccdddd");
        assert_string_equal(secret_reveal(&endpoint.session_key), KEY);
        assert_string_equal(secret_reveal(&endpoint.call_key), secret_reveal(&expected.call_key));
        assert_int_equal(secret_is_set(&endpoint.proof_key), i == 1);
        if (i == 1)
            assert_string_equal(endpoint.url, "http://10.0.0.2:8000");
        else
            assert_null(endpoint.url);
    }
}

static void key_of_another_row_is_not_opened(void **state)
{
    struct keyring keyring;
    struct error err = ERROR_INIT;

    (void)state;
    open_keyring(&keyring);
    {
        CLEANUP(runtime_done) struct runtime runtime =
            runtime_sealed_for(&keyring, "aaaabbbbccccdddx");
        CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;

        assert_int_equal(runtime_record_open_endpoint(&runtime, &keyring, &endpoint, &err), -1);
        assert_int_equal(err.code, ERROR_INTERNAL);
        assert_null(endpoint.url);
    }
}

static void container_is_there_while_it_starts_and_runs(void **state)
{
    static const bool has_none[RUNTIME_N_STATUSES] = {
        [RUNTIME_PAUSED] = true, [RUNTIME_STOPPED] = true, [RUNTIME_ERROR] = true};

    (void)state;
    for (int i = 0; i < (int)RUNTIME_N_STATUSES; i++) {
        const struct runtime runtime = {.status = (enum runtime_status)i};

        assert_int_equal(runtime_record_has_no_container(&runtime), has_none[i]);
    }
}

static void removed_container_leaves_nothing_in_the_row(void **state)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    (void)state;
    runtime.container_id = mem_dup_text("container");
    runtime.network = mem_dup_text("network");
    runtime.url = mem_dup_text("url");
    runtime.status_detail = mem_dup_text("detail");
    runtime_record_clear_container(&runtime);
    assert_null(runtime.container_id);
    assert_null(runtime.network);
    assert_null(runtime.url);
    assert_string_equal(runtime.status_detail, "detail");
}

int test_runtime_record(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_sixteen_letters_and_differ),
        cmocka_unit_test(empty_text_is_none),
        cmocka_unit_test(endpoint_has_the_rows_id_address_and_keys),
        cmocka_unit_test(key_of_another_row_is_not_opened),
        cmocka_unit_test(container_is_there_while_it_starts_and_runs),
        cmocka_unit_test(removed_container_leaves_nothing_in_the_row),
    };

    return cmocka_run_group_tests_name("runtime/runtime_record", tests, NULL, NULL);
}
