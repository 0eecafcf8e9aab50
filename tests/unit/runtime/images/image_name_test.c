/*
 * Which image names a tenant may build, use, and build on.
 */
#include "runtime/images/image_name.h"

#include <string.h>

#include "base/json.h"
#include "store/runtime/runtime_key_store.h"
#include "unit/runtime/lifecycle/service_fixture.h"

#define TENANT "12345678-1234-4234-8234-123456789abc"
#define OWN "localhost/inst/" TENANT

static const struct tenant tenant = {.id = {TENANT}};

static void prefix_is_that_of_the_tenant(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;

    image_name_append_prefix(&fixture->service, &tenant, &prefix);
    assert_string_equal(prefix.text, OWN);
    strbuf_reset(&prefix);
    /* Engines take lower case alone. */
    fixture->settings.docker.instance = "Inst-2";
    image_name_append_prefix(&fixture->service, NULL, &prefix);
    assert_string_equal(prefix.text, "localhost/inst-2/house");
}

/* The last of two names is judged as the first is. */
static void only_names_with_the_own_prefix_are_built(void **state)
{
    static const struct {
        const char *name;
        const struct tenant *whose;
        const char *refusal; /* NULL: none */
    } cases[] = {
        {OWN "/x:1", &tenant, NULL},
        {"localhost/inst/house/x:1", NULL, NULL},
        {"localhost/inst/house/x:1", &tenant,
         "image names must begin with " OWN "/ (/registry_prefix)"},
        {OWN "/x:1", NULL, "image names must begin with localhost/inst/house/ (/registry_prefix)"},
        {OWN "x/x:1", &tenant, "image names must begin with " OWN "/ (/registry_prefix)"},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *names = json_array();
        struct error err = ERROR_INIT;
        int rc = 0;

        json_push(names,
                  json_text_of(cases[i].whose != NULL ? OWN "/a" : "localhost/inst/house/a"));
        json_push(names, json_text_of(cases[i].name));
        rc = image_name_check_own(&fixture->service, cases[i].whose, names, &err);
        assert_int_equal(rc, cases[i].refusal != NULL ? -1 : 0);
        if (cases[i].refusal == NULL)
            continue;
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].refusal);
    }
}

static void malformed_name_is_not_built(void **state)
{
    struct service_fixture *fixture = *state;
    json_auto_t *names = json_array();
    struct error err = ERROR_INIT;

    json_push(names, json_text_of(OWN "/x y"));
    assert_int_equal(image_name_check_own(&fixture->service, &tenant, names, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_null(strstr(err.message, "registry_prefix"));
}

/* A tenant does not see the images of another one. The house sees all. */
static void images_of_other_tenants_are_not_used(void **state)
{
    static const struct {
        const char *image;
        const struct tenant *whose;
        bool is_refused;
    } cases[] = {
        {OWN "/x:1", &tenant, false},
        {OWN "x/x:1", &tenant, true},
        {"localhost/inst/house/x:1", &tenant, true},
        {"localhost/inst/house/x:1", NULL, false},
        {OWN "/x:1", NULL, false},
        {"localhost/other/house/x:1", &tenant, false},
        {"debian:12", &tenant, false},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        int rc = image_name_check_use(&fixture->service, cases[i].whose, cases[i].image, &err);

        assert_int_equal(rc, cases[i].is_refused ? -1 : 0);
        assert_int_equal(err.code, cases[i].is_refused ? ERROR_NOT_FOUND : ERROR_NONE);
        if (cases[i].is_refused)
            assert_non_null(strstr(err.message, "is not on this host"));
    }
}

/* A source is of a listed registry, or on this host and not another tenant's. */
static void sources_are_listed_or_on_this_host(void **state)
{
    static const struct {
        const char *image;
        enum error_code find_error;
        const char *registry; /* in the refusal; NULL: allowed */
    } cases[] = {
        {"docker.io/debian:12", ERROR_NOT_FOUND, NULL},
        {"evil.example/x:1", ERROR_NOT_FOUND, "from evil.example: it is not"},
        {"evil.example/x:1", ERROR_UNAVAILABLE, "from evil.example: it is not"},
        {"evil.example/x:1", ERROR_NONE, NULL},
        {"evil.example/x y", ERROR_NONE, "from evil.example: it is not"},
        {OWN "/x:1", ERROR_NONE, NULL},
        {"localhost/inst/house/x:1", ERROR_NONE, "from localhost: it is not"},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        int rc = 0;

        fixture->backend.find_error = cases[i].find_error;
        rc = image_name_check_source(&fixture->service, &tenant, cases[i].image, &err);
        assert_int_equal(rc, cases[i].registry != NULL ? -1 : 0);
        if (cases[i].registry == NULL)
            continue;
        assert_int_equal(err.code, ERROR_INVALID);
        assert_non_null(strstr(err.message, cases[i].registry));
    }
}

int image_name_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prefix_is_that_of_the_tenant, service_set_up,
                                        service_tear_down),
        cmocka_unit_test_setup_teardown(only_names_with_the_own_prefix_are_built, service_set_up,
                                        service_tear_down),
        cmocka_unit_test_setup_teardown(malformed_name_is_not_built, service_set_up,
                                        service_tear_down),
        cmocka_unit_test_setup_teardown(images_of_other_tenants_are_not_used, service_set_up,
                                        service_tear_down),
        cmocka_unit_test_setup_teardown(sources_are_listed_or_on_this_host, service_set_up,
                                        service_tear_down),
    };

    return cmocka_run_group_tests_name("runtime/image_name", tests, NULL, NULL);
}
