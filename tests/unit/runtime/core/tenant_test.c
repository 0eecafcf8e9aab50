/*
 * The sandboxes that a tenant of the Runtime API may see, and the starts that it may request.
 */
#include "runtime/core/tenant.h"

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
#include "runtime/core/start_spec.h"
#include "store/runtime/runtime_key_store.h"
#include "store/runtime/runtime_store.h"
#include "unit/runtime/runtime_test.h"

static void open_keyring(struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, "00112233445566778899001122334455667788990011223344556677889900ff");
    assert_int_equal(keyring_init(keyring, &root, &err), 0);
}

static void assert_sees(const struct tenant *tenant, const struct runtime *runtime, bool sees)
{
    struct error err = ERROR_INIT;

    assert_int_equal(tenant_check(tenant, runtime, &err), sees ? 0 : -1);
    assert_int_equal(err.code, sees ? ERROR_NONE : ERROR_NOT_FOUND);
}

static void tenant_sees_its_own_runtimes_until_they_are_deleted(void **state)
{
    const struct tenant one = {.id = uuid_random()};
    const struct tenant two = {.id = uuid_random()};
    struct runtime runtime = RUNTIME_INIT;

    (void)state;
    /* deft's own runtime */
    assert_sees(&one, &runtime, false);
    assert_sees(NULL, &runtime, true);
    runtime.tenant_id = one.id;
    for (enum runtime_desire desired = DESIRED_RUNNING; desired < DESIRED_N; desired++) {
        runtime.desired = desired;
        assert_sees(&one, &runtime, desired != DESIRED_DELETED);
        assert_sees(&two, &runtime, false);
        assert_sees(NULL, &runtime, true);
    }
}

static void sessions_of_two_tenants_never_meet(void **state)
{
    const struct tenant one = {.id = uuid_random()};
    const struct tenant two = {.id = uuid_random()};
    char names[4][TENANT_SESSION_BYTES] = {"", "", "", ""};
    struct keyring keyring;

    (void)state;
    open_keyring(&keyring);
    tenant_name_session(&keyring, &one, "s", names[0]);
    tenant_name_session(&keyring, &two, "s", names[1]);
    tenant_name_session(&keyring, &one, "t", names[2]);
    tenant_name_session(&keyring, &one, "s", names[3]);
    assert_string_equal(names[0], names[3]);
    assert_string_not_equal(names[0], names[1]);
    assert_string_not_equal(names[0], names[2]);
    assert_int_equal(strlen(names[0]), TENANT_SESSION_BYTES - 1);
    assert_int_equal(strncmp(names[0], "t-", 2), 0);
}

/* A session "u-…" or "c-…" would be that of a user's own sandbox. */
static void start_of_a_tenant_is_its_own_whatever_it_says(void **state)
{
    const struct tenant tenant = {.id = uuid_random(), .user_id = uuid_random()};
    struct start_spec spec = {.session_id = mem_dup_text("u-00112233445566778899aabbccddeeff"),
                              .conversation_id = mem_dup_text("c"),
                              .owner_id = uuid_random(),
                              .is_doubted = true};
    struct keyring keyring;

    (void)state;
    open_keyring(&keyring);
    tenant_own_start(&keyring, &tenant, &spec);
    assert_int_equal(strncmp(spec.session_id, "t-", 2), 0);
    assert_string_equal(spec.tenant_session, "u-00112233445566778899aabbccddeeff");
    assert_string_equal(spec.tenant.id.text, tenant.id.text);
    assert_string_equal(spec.owner_id.text, tenant.user_id.text);
    assert_string_equal(spec.conversation_id, "");
    assert_false(spec.is_doubted);
    assert_int_equal(spec.wait_ms, 250);
    spec.wait_ms = 5000;
    tenant_own_start(&keyring, &tenant, &spec);
    assert_int_equal(spec.wait_ms, 5000);
    start_spec_done(&spec);
}

int test_tenant(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tenant_sees_its_own_runtimes_until_they_are_deleted),
        cmocka_unit_test(sessions_of_two_tenants_never_meet),
        cmocka_unit_test(start_of_a_tenant_is_its_own_whatever_it_says),
    };

    return cmocka_run_group_tests_name("runtime/tenant", tests, NULL, NULL);
}
