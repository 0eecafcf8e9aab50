/*
 * The Runtime API's replies: sandboxes as deft's processes and as tenants see them.
 */
#include "runtime/api/http_front.h"

#include <string.h>

#include "base/json.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/api/api_fixture.h"

#define GET(path) (&(struct asked){"GET", path, .key = HOUSE_KEY})
#define POST(path, text) (&(struct asked){"POST", path, .key = HOUSE_KEY, .body = (text)})
#define TENANT_GET(path) (&(struct asked){"GET", path, .key = TENANT_KEY, .is_outside = true})
#define TENANT_POST(path, text)                                                                    \
    (&(struct asked){"POST", path, .key = TENANT_KEY, .is_outside = true, .body = (text)})

static void house_sees_address_and_keys(void **state)
{
    static const struct {
        const char *path;
        const char *expected;
    } members[] = {
        {"runtime_id", "\"" OURS "\""},
        {"session_id", "\"s-" OURS "\""},
        {"url", "\"http://10.1.2.3:8000\""},
        {"session_api_key", "\"session-key-of-ours\""},
        {"call_key", "\"session-key-of-ours\""},
        {"proof_key", NULL},
        {"status", "\"running\""},
        {"pod_status", "\"ready\""},
        {"status_detail", "null"},
        {"restart_count", "0"},
        {"restart_reasons", "[]"},
        {"image", "\"" TEST_IMAGE "\""},
        {"command", "null"},
        {"working_dir", "\"/w\""},
        {"created_at", "\"2026-01-02T03:04:05.000000Z\""},
    };
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_auto_t *sandbox = NULL;

    test_sql("UPDATE runtimes SET created_at = '2026-01-02 03:04:05Z', proves = false,"
             " spec = spec || '{\"working_dir\": \"/w\"}'");
    assert_int_equal(api_ask(*state, GET("/runtime/" OURS), &reply), 200);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        assert_json_at(api_body(&reply), members[i].path, members[i].expected);
    assert_replied(*state, GET("/sessions/s-" OURS), "", api_body(&reply));
    test_sql("UPDATE runtimes SET proves = true, spec = spec || '{\"command\": [\"x\"]}'");
    assert_int_equal(api_ask(*state, GET("/runtime/" OURS), &reply), 200);
    assert_json_at(api_body(&reply), "command", "[\"x\"]");
    sandbox = json_loads(api_body(&reply), 0, NULL);
    assert_string_not_equal(json_text_or(sandbox, "call_key", ""), "session-key-of-ours");
    assert_string_not_equal(json_text_or(sandbox, "proof_key", ""), "");
}

static void sandbox_tells_its_previews(void **state)
{
    assert_replied(*state, GET("/runtime/" OURS), "vscode_url",
                   "\"https://60001-" OURS ".sandbox.app.example\"");
    assert_replied(*state, GET("/runtime/" OURS), "work_hosts",
                   "{\"https://12000-" OURS ".sandbox.app.example\":12000,"
                   "\"https://12001-" OURS ".sandbox.app.example\":12001}");
}

/* Clients read either member; the URL is never null. */
static void statuses_have_two_names(void **state)
{
    static const struct {
        const char *row;
        const char *status;
        const char *pod_status;
        const char *reasons;
    } cases[] = {
        {"status = 'starting', url = NULL", "\"starting\"", "\"pending\"", "[]"},
        {"status = 'starting', url = 'http://x'", "\"starting\"", "\"running\"", "[]"},
        {"status = 'running', restart_count = 1", "\"running\"", "\"ready\"",
         "[\"the sandbox had ended\"]"},
        {"status = 'paused', restart_count = 0", "\"paused\"", "\"not found\"", "[]"},
        {"status = 'stopped'", "\"stopped\"", "\"not found\"", "[]"},
        {"status = 'error', status_detail = 'the sandbox ran out of memory'", "\"error\"",
         "\"failed\"", "[\"OOMKilled\"]"},
        {"status = 'error', status_detail = 'odd'", "\"error\"", "\"failed\"", "[]"},
        {"status = 'error', restart_count = 2", "\"error\"", "\"crashloopbackoff\"",
         "[\"the sandbox had ended\"]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

        strbuf_appendf(&sql, "UPDATE runtimes SET %s", cases[i].row);
        test_sql(sql.text);
        assert_int_equal(api_ask(*state, GET("/runtime/" OURS), &reply), 200);
        assert_json_at(api_body(&reply), "status", cases[i].status);
        assert_json_at(api_body(&reply), "pod_status", cases[i].pod_status);
        assert_json_at(api_body(&reply), "restart_reasons", cases[i].reasons);
    }
    test_sql("UPDATE runtimes SET url = NULL");
    assert_replied(*state, GET("/runtime/" OURS), "url", "\"\"");
}

static void tenant_sees_its_own_sandbox_at_defts_address(void **state)
{
    static const struct asked cases[] = {
        {"GET", "/runtime/" TENANTS, .key = TENANT_KEY, .is_outside = true},
        {"GET", "/sessions/mine", .key = TENANT_KEY, .is_outside = true},
        {"POST", "/resume", .key = TENANT_KEY, .is_outside = true,
         .body = "{\"runtime_id\":\"" TENANTS "\"}"},
    };

    api_add_tenants(*state);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

        assert_int_equal(api_ask(*state, &cases[i], &reply), 200);
        assert_json_at(api_body(&reply), "runtime_id", "\"" TENANTS "\"");
        assert_json_at(api_body(&reply), "session_id", "\"mine\"");
        assert_json_at(api_body(&reply), "url", "\"https://agent.example\"");
        assert_json_at(api_body(&reply), "session_api_key", "\"session-key-of-tenants\"");
        assert_json_at(api_body(&reply), "call_key", NULL);
        assert_json_at(api_body(&reply), "proof_key", NULL);
    }
}

static void other_tenants_sandboxes_do_not_exist(void **state)
{
    static const struct asked cases[] = {
        {"POST", "/stop", .key = TENANT_KEY, .is_outside = true,
         .body = "{\"runtime_id\":\"" THEIRS "\"}"},
        {"POST", "/pause", .key = TENANT_KEY, .is_outside = true,
         .body = "{\"runtime_id\":\"" THEIRS "\"}"},
        {"POST", "/resume", .key = TENANT_KEY, .is_outside = true,
         .body = "{\"runtime_id\":\"" THEIRS "\"}"},
        {"POST", "/stop", .key = TENANT_KEY, .is_outside = true,
         .body = "{\"runtime_id\":\"" OURS "\"}"},
        {"POST", "/stop", .key = HOUSE_KEY, .body = "{\"runtime_id\":\"zzzzzzzzzzzzzzzz\"}"},
        {"GET", "/sessions/s-" THEIRS, .key = TENANT_KEY, .is_outside = true},
        {"GET", "/sessions/none", .key = HOUSE_KEY},
    };
    struct service_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_status(fixture, &cases[i], 404);
    assert_told(fixture, "");
}

static void list_has_what_the_caller_may_see(void **state)
{
    api_add_tenants(*state);
    assert_replied(*state, GET("/list"), "runtimes[3]", NULL);
    assert_replied(*state, TENANT_GET("/list"), "runtimes[0].runtime_id", "\"" TENANTS "\"");
    assert_replied(*state, TENANT_GET("/list"), "runtimes[1]", NULL);
    test_sql("UPDATE runtimes SET desired = 'deleted' WHERE id <> '" THEIRS "'");
    assert_replied(*state, GET("/list"), "runtimes[0].runtime_id", "\"" THEIRS "\"");
    assert_replied(*state, GET("/list"), "runtimes[1]", NULL);
    assert_replied(*state, TENANT_GET("/list"), "runtimes", "[]");
    assert_status(*state, GET("/sessions/s-" OURS), 404);
}

static void several_sessions_are_asked_for_at_once(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct asked many = {"GET", NULL, .key = HOUSE_KEY};

    assert_replied(*state, GET("/sessions/batch?ids=s-" THEIRS "&ids=none&x=s-" OURS "&ids="),
                   "[0].runtime_id", "\"" THEIRS "\"");
    assert_replied(*state, GET("/sessions/batch?ids=s-" THEIRS "&ids=none&x=s-" OURS "&ids="),
                   "[1]", NULL);
    assert_replied(*state, GET("/sessions/batch?ids=s-" THEIRS "&ids=s-" OURS), "[1].session_id",
                   "\"s-" OURS "\"");
    assert_replied(*state, GET("/sessions/batch"), "", "[]");
    strbuf_append(&path, "/sessions/batch?x=1");
    for (int i = 0; i < 100; i++)
        strbuf_append(&path, "&ids=n");
    many.path = path.text;
    assert_replied(*state, &many, "", "[]");
    strbuf_append(&path, "&ids=n");
    many.path = path.text;
    assert_refused(*state, &many, 400, "ids: there may be at most 100");
    test_sql("UPDATE runtimes SET session_key = 'not sealed'");
    assert_status(*state, GET("/sessions/batch?ids=s-" OURS), 500);
}

static void stop_keeps_the_files_of_defts_own(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    assert_int_equal(api_ask(fixture, POST("/stop", "{\"runtime_id\":\"" OURS "\"}"), &reply), 200);
    assert_json_at(api_body(&reply), "status", "\"stopped\"");
    assert_json_at(api_body(&reply), "runtime_id", "\"" OURS "\"");
    assert_told(fixture, "remove " OURS ";");
    assert_replied(fixture, POST("/stop", "{\"runtime_id\":\"" OURS "\",\"forget\":true}"), "",
                   "{\"runtime_id\":\"" OURS
                   "\",\"status\":\"stopped\",\"pod_status\":\"not found\"}");
    assert_told(fixture, "remove " OURS ";remove_home h-" OURS ";");
    assert_status(fixture, GET("/runtime/" OURS), 404);
}

static void stop_by_a_tenant_deletes(void **state)
{
    struct service_fixture *fixture = *state;

    api_add_tenants(fixture);
    assert_replied(fixture, TENANT_POST("/stop", "{\"runtime_id\":\"" TENANTS "\"}"), "status",
                   "\"stopped\"");
    assert_told(fixture, "remove " TENANTS ";remove_home h-" TENANTS ";");
    assert_status(fixture, TENANT_POST("/stop", "{\"runtime_id\":\"" TENANTS "\"}"), 404);
}

static void sandbox_is_paused_and_resumed(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    assert_replied(fixture, POST("/pause", "{\"runtime_id\":\"" OURS "\"}"), "status",
                   "\"paused\"");
    assert_told(fixture, "pause c-" OURS ";");
    assert_int_equal(
        api_ask(fixture, POST("/resume", "{\"runtime_id\":\"" OURS "\",\"wait_ms\":1}"), &reply),
        200);
    assert_json_at(api_body(&reply), "status", "\"running\"");
    assert_told(fixture, "resume c-" OURS ";");
    assert_refused(fixture, POST("/resume", "{}"), 400, "runtime_id: missing");
    assert_refused(fixture, POST("/resume", "{\"runtime_id\":3}"), 400, "runtime_id: missing");
    assert_status(fixture, POST("/resume", "{\"runtime_id\":\"zzzzzzzzzzzzzzzz\"}"), 404);
}

static void start_of_a_session_is_found_or_queued(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    assert_replied(fixture, POST("/start", "{\"session_id\":\"s-" OURS "\"}"), "runtime_id",
                   "\"" OURS "\"");
    assert_int_equal(api_ask(fixture, POST("/start", "{\"session_id\":\"new\"}"), &reply), 200);
    assert_json_at(api_body(&reply), "status", "\"starting\"");
    assert_json_at(api_body(&reply), "session_id", "\"new\"");
    assert_json_at(api_body(&reply), "image", "\"" TEST_IMAGE "\"");
    assert_int_equal(
        test_sql_count(
            "SELECT count(*) FROM runtimes WHERE session_id = 'new' AND tenant_id IS NULL"),
        1);
    assert_refused(fixture, POST("/start", "{\"session_id\":\"new\",\"image\":\"../x\"}"), 400,
                   "image: '../x' is not an image name");
    assert_refused(fixture, POST("/start", NULL), 400, "the body must be an object");
}

static void start_by_a_tenant_is_its_own(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    assert_int_equal(
        api_ask(fixture, TENANT_POST("/start", "{\"session_id\":\"s-" OURS "\"}"), &reply), 200);
    assert_json_at(api_body(&reply), "session_id", "\"s-" OURS "\"");
    assert_null(strstr(reply.text, "\"runtime_id\":\"" OURS));
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes r JOIN runtime_keys k"
                                    " ON r.tenant_id = k.id WHERE k.name = 'one'"),
                     1);
    assert_refused(
        fixture,
        TENANT_POST("/start", "{\"session_id\":\"x\",\"image\":\"localhost/inst/house/x\"}"), 404,
        "the image localhost/inst/house/x is not on this host");
}

static void health_is_told_to_anyone(void **state)
{
    struct service_fixture *fixture = *state;
    const struct asked asked = {"GET", "/health", .key = NULL, .is_outside = true};
    const struct error rules = {.code = ERROR_UNAVAILABLE, .message = "no rules"};

    assert_replied(fixture, &asked, "",
                   "{\"status\":\"ok\",\"sandboxes\":\"available\",\"detail\":null,"
                   "\"isolation\":\"container\"}");
    fixture->settings.backend = "process";
    fixture->settings.free_bytes = 1000000;
    fixture->backend.space.free_bytes = 1000000;
    assert_replied(fixture, &asked, "detail", "null");
    assert_replied(fixture, &asked, "isolation", "\"process\"");
    fixture->backend.space.free_bytes = 999999;
    assert_replied(fixture, &asked, "sandboxes", "\"unavailable\"");
    assert_replied(fixture, &asked, "detail",
                   "\"the host's disk has 0 MB free, and 1 MB are to stay free "
                   "(DEFT_SANDBOX_FREE_BYTES): delete conversations, or unused images and volumes "
                   "(docker system df)\"");
    fixture->backend.space = (struct backend_space){.free_bytes = 1000000, .n_free_files = 4};
    fixture->settings.n_free_files = 4;
    assert_replied(fixture, &asked, "detail", "null");
    fixture->settings.n_free_files = 5;
    assert_replied(fixture, &asked, "detail",
                   "\"the host's disk has 4 free inodes, and 5 are to stay free "
                   "(DEFT_SANDBOX_FREE_FILES): delete conversations, or unused images and "
                   "volumes\"");
    fixture->backend.check_error = ERROR_UNAVAILABLE;
    assert_replied(fixture, &asked, "detail", "\"as the test wants it\"");
    service_set_rules_state(&fixture->service, &rules);
    assert_replied(fixture, &asked, "detail", "\"sandboxes cannot be confined: no rules\"");
}

static void metrics_count_sandboxes_by_tenant(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    fixture->backend.space = (struct backend_space){.free_bytes = 1234, .n_free_files = 5};
    assert_int_equal(api_ask(fixture, GET("/metrics"), &reply), 200);
    assert_non_null(strstr(reply.text, "tenant=\"two\""));
    assert_non_null(strstr(reply.text, " 1234\n"));
}

static void images_are_looked_up(void **state)
{
    struct service_fixture *fixture = *state;

    assert_replied(fixture, GET("/registry_prefix"), "",
                   "{\"registry_prefix\":\"localhost/inst/house\"}");
    assert_replied(fixture, GET("/image_exists?image=a%2Fb:1"), "",
                   "{\"exists\":true,\"image\":{\"upload_time\":\"2026-01-02T03:04:05Z\","
                   "\"image_size_bytes\":77}}");
    assert_replied(fixture, TENANT_GET("/image_exists?image=localhost/inst/house/x"), "",
                   "{\"exists\":false}");
    assert_replied(fixture, GET("/image_exists?image=localhost/inst/house/x"), "exists", "true");
    fixture->backend.find_error = ERROR_NOT_FOUND;
    assert_replied(fixture, GET("/image_exists?image=a"), "", "{\"exists\":false}");
    fixture->backend.find_error = ERROR_UNAVAILABLE;
    assert_status(fixture, GET("/image_exists?image=a"), 503);
    assert_status(fixture, GET("/image_exists?image="), 400);
    assert_status(fixture, GET("/image_exists"), 400);
}

static void refusals_are_listed(void **state)
{
    struct service_fixture *fixture = *state;

    assert_replied(fixture, GET("/egress_refusals/" OURS), "refusals", "[]");
    assert_replied(fixture, GET("/egress_refusals/" OURS), "logged", "false");
    assert_status(fixture, GET("/egress_refusals/zzzzzzzzzzzzzzzz"), 404);
    assert_status(fixture, TENANT_GET("/egress_refusals/" THEIRS), 404);
}

int api_tests(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(house_sees_address_and_keys),
        API_TEST(sandbox_tells_its_previews),
        API_TEST(statuses_have_two_names),
        API_TEST(tenant_sees_its_own_sandbox_at_defts_address),
        API_TEST(other_tenants_sandboxes_do_not_exist),
        API_TEST(list_has_what_the_caller_may_see),
        API_TEST(several_sessions_are_asked_for_at_once),
        API_TEST(stop_keeps_the_files_of_defts_own),
        API_TEST(stop_by_a_tenant_deletes),
        API_TEST(sandbox_is_paused_and_resumed),
        API_TEST(start_of_a_session_is_found_or_queued),
        API_TEST(start_by_a_tenant_is_its_own),
        API_TEST(health_is_told_to_anyone),
        API_TEST(metrics_count_sandboxes_by_tenant),
        API_TEST(images_are_looked_up),
        API_TEST(refusals_are_listed),
    };

    return cmocka_run_group_tests_name("runtime/api", tests, NULL, NULL);
}
