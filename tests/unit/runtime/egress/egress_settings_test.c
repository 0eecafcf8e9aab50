/*
 * Which policies can be enforced, by the settings of the host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "runtime/core/service.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_state.h"
#include "unit/runtime/runtime_test.h"

static void policy_of_the_settings_must_be_enforceable(void **state)
{
    static const char needs_rules[] = "OH_SANDBOX_EGRESS: needs DEFT_NETWORK_RULES=1";
    static const char needs_engine[] =
        "OH_SANDBOX_EGRESS: sandboxes run as processes of the host (DEFT_RUNTIME=process): an "
        "allow list needs a container engine";
    static const char has_network[] =
        "OH_SANDBOX_EGRESS: sandboxes run as processes of the host (DEFT_RUNTIME=process): they "
        "use its network (DEFT_PROCESS_NETWORK=host)";
    static const struct {
        const char *backend;
        int has_rules;
        const char *network;
        const char *mode;
        const char *list;
        const char *message; /* NULL: it is accepted */
    } cases[] = {
        {"docker", 0, "none", "internet", "", NULL},
        {"docker", 0, "none", "none", "", needs_rules},
        {"docker", 0, "none", "list", "a.org", needs_rules},
        {"docker", 1, "none", "none", "", NULL},
        {"docker", 1, "none", "list", "a.org", NULL},
        {"process", 0, "none", "internet", "", NULL},
        {"process", 0, "none", "none", "", NULL},
        {"process", 0, "host", "none", "", has_network},
        {"process", 0, "none", "list", "a.org", needs_engine},
        {"process", 0, "host", "internet", "", NULL},
        {"docker", 1, "none", "list", "",
         "OH_SANDBOX_EGRESS, OH_SANDBOX_EGRESS_ALLOW: the allow list is empty; use the policy none "
         "instead"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct runtime_settings settings = {.backend = cases[i].backend,
                                            .has_network_rules = cases[i].has_rules,
                                            .egress = cases[i].mode,
                                            .egress_allow = cases[i].list,
                                            .docker = {.instance = "one"},
                                            .process = {.network = cases[i].network}};
        struct egress *egress = NULL;
        struct error err = ERROR_INIT;
        int rc = egress_new(&settings, &egress, &err);

        if (cases[i].message != NULL) {
            assert_int_equal(rc, -1);
            assert_int_equal(err.code, ERROR_INVALID);
            assert_string_equal(err.message, cases[i].message);
            assert_null(egress);
            continue;
        }
        assert_int_equal(rc, 0);
        egress_free(egress);
    }
    egress_free(NULL);
}

int test_egress_settings(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policy_of_the_settings_must_be_enforceable),
    };

    return cmocka_run_group_tests_name("runtime/egress_settings", tests, NULL, NULL);
}
