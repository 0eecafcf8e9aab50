/*
 * The warm pool's configurations: the settings' one, and those of administrators.
 */
#include "runtime/api/warm_api.h"

#include <string.h>

#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/api/api_fixture.h"

#define LIST                                                                                       \
    (&(struct asked){"GET", "/api/warm-runtime-configs", .key = TENANT_KEY, .is_outside = true})
#define ADMIN "/api/admin/warm-runtime-configs/"
#define PUT(name, text) (&(struct asked){"PUT", ADMIN name, .key = HOUSE_KEY, .body = (text)})
#define DELETE(name) (&(struct asked){"DELETE", ADMIN name, .key = HOUSE_KEY})
#define SHARED                                                                                     \
    "\"environment\":{},\"working_dir\":\"/workspace/project\",\"run_as_user\":10001,"             \
    "\"run_as_group\":10001,\"fs_group\":10001,\"command\":[\"deft-action\"]"
#define USUAL                                                                                      \
    "{\"name\":\"default\",\"source\":\"file\",\"image\":\"" TEST_IMAGE "\",\"count\":1," SHARED "}"

static void settings_are_a_configuration(void **state)
{
    assert_replied(*state, LIST, "", "{\"configs\":[" USUAL "]}");
}

static void configuration_is_stored_and_removed(void **state)
{
    assert_replied(*state, PUT("b%20x", "{\"image\":\"a:1\",\"count\":3,\"extra\":1}"), "",
                   "{\"name\":\"b x\",\"source\":\"db\",\"image\":\"a:1\",\"count\":3,"
                   "\"extra\":1," SHARED "}");
    assert_replied(*state, LIST, "configs[0]", USUAL);
    assert_replied(*state, LIST, "configs[1].name", "\"b x\"");
    assert_replied(*state, LIST, "configs[1].count", "3");
    assert_replied(*state, LIST, "configs[1].extra", "1");
    assert_replied(*state, LIST, "configs[2]", NULL);
    assert_replied(*state, DELETE("b%20x"), "",
                   "{\"message\":\"removed; the configured values apply again\"}");
    assert_replied(*state, LIST, "configs[1]", NULL);
    assert_status(*state, DELETE("b%20x"), 404);
}

static void default_configuration_can_be_replaced(void **state)
{
    assert_status(*state, PUT("default", "{\"image\":\"a:1\"}"), 200);
    assert_replied(*state, LIST, "configs[0].source", "\"db\"");
    assert_replied(*state, LIST, "configs[0].count", "1"); /* the settings' least */
    assert_replied(*state, LIST, "configs[1]", NULL);
}

/* So that a start with the same members finds a sandbox in the pool. */
static void configuration_is_read_as_a_start(void **state)
{
    assert_status(*state, PUT("a", "{\"image\":\"a:1\",\"resource_factor\":2}"), 200);
    assert_true(service_row_is("(SELECT name AS id, * FROM warm_configs) AS c", "a",
                               "memory_bytes = 2147483648 AND nano_cpus = 2000000000"
                               " AND image = 'a:1' AND count = 1"));
}

static void what_is_no_configuration_is_refused(void **state)
{
    static const struct {
        const char *body;
        const char *detail;
    } cases[] = {
        {NULL, "the body must be an object with an image"},
        {"[]", "the body must be an object with an image"},
        {"{}", "the body must be an object with an image"},
        {"{\"image\":3}", "the body must be an object with an image"},
        {"{\"image\":\"../x\"}", "image: '../x' is not an image name"},
        {"{\"image\":\"a\",\"count\":-1}", "count: must be a whole number from 0 to 200"},
        {"{\"image\":\"a\",\"count\":201}", "count: must be a whole number from 0 to 200"},
        {"{\"image\":\"a\",\"count\":\"1\"}", "count: must be a whole number from 0 to 200"},
        {"{\"image\":\"a\",\"resource_factor\":5}",
         "resource_factor: 5 is above this host's limit"},
    };
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct asked asked = *PUT("a", "{\"image\":\"a\",\"count\":0}");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct asked refused = {"PUT", ADMIN "a", .key = HOUSE_KEY, .body = cases[i].body};

        assert_refused(*state, &refused, 400, cases[i].detail);
    }
    assert_int_equal(test_sql_count("SELECT count(*) FROM warm_configs"), 0);
    assert_status(*state, &asked, 200);
    assert_status(*state, PUT("a", "{\"image\":\"a\",\"count\":200}"), 200);
    assert_replied(*state, PUT("a", "{\"image\":\"a\",\"count\":null}"), "count", "1");
    strbuf_append(&path, ADMIN);
    for (int i = 0; i < 100; i++)
        strbuf_append_char(&path, 'n');
    asked.path = path.text;
    assert_status(*state, &asked, 200);
    strbuf_append_char(&path, 'n');
    asked.path = path.text;
    assert_refused(*state, &asked, 400, "name: must have 1 to 100 bytes");
    asked.method = "DELETE";
    asked.body = NULL;
    assert_refused(*state, &asked, 400, "name: must have 1 to 100 bytes");
}

int warm_api_tests(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(settings_are_a_configuration),
        API_TEST(configuration_is_stored_and_removed),
        API_TEST(default_configuration_can_be_replaced),
        API_TEST(configuration_is_read_as_a_start),
        API_TEST(what_is_no_configuration_is_refused),
    };

    return cmocka_run_group_tests_name("runtime/warm_api", tests, NULL, NULL);
}
