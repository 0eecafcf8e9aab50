/*
 * Networks of sandboxes, and what is made in advance.
 */
#include "runtime/docker/network.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "support/json_path.h"
#include "unit/runtime/docker/docker_fixture.h"

#define LABELS "{\"deft.managed\":\"1\",\"deft.instance\":\"inst\",\"deft.role\":\"network\"}"

/* Leaves the network's name in `name`. */
static int make(struct docker_fixture *fixture, char name[PREALLOC_NAME_BYTES])
{
    fixture->err = (struct error)ERROR_INIT;
    name[0] = '\0';
    return docker_make_network(fixture->docker, name, &fixture->err);
}

static void assert_names(const char *body, const char *name_member, const char *bridge_member,
                         const char *name)
{
    CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;

    strbuf_appendf(&quoted, "\"%s\"", name);
    assert_json_at(body, name_member, quoted.text);
    assert_true(text_starts_with(name, "inst-net-"));
    strbuf_reset(&quoted);
    strbuf_appendf(&quoted, "\"dsb%s\"", strrchr(name, '-') + 1);
    assert_json_at(body, bridge_member, quoted.text);
}

static void network_is_a_bridge_of_this_instance(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf bridge = STRBUF_INIT;
    char name[PREALLOC_NAME_BYTES] = "";
    const char *body = NULL;
    json_auto_t *parsed = NULL;
    const char *subnet = NULL;

    assert_int_equal(make(fixture, name), 0);
    body = fake_engine_body(fixture->engine, "POST /networks/create", NULL);
    assert_int_equal(json_parse(body, strlen(body), &parsed, &fixture->err), 0);
    assert_true(text_starts_with(name, "inst-net-"));
    strbuf_appendf(&bridge, "dsb%s", strrchr(name, '-') + 1);
    assert_string_equal(json_text_or(parsed, "Name", ""), name);
    assert_string_equal(
        json_text_or(json_object_get(parsed, "Options"), "com.docker.network.bridge.name", ""),
        bridge.text);
    assert_string_equal(json_text_or(json_object_get(parsed, "Options"),
                                     "com.docker.network.bridge.enable_icc", ""),
                        "false");
    assert_json_at(body, "Driver", "\"bridge\"");
    assert_json_at(body, "EnableIPv6", "false");
    assert_json_at(body, "CheckDuplicate", "true");
    assert_json_at(body, "Internal", NULL);
    assert_json_at(body, "Labels", LABELS);
    subnet =
        json_text_or(json_array_get(json_object_get(json_object_get(parsed, "IPAM"), "Config"), 0),
                     "Subnet", "");
    assert_true(text_starts_with(subnet, "10.201."));
    assert_true(text_ends_with(subnet, "/29"));
    assert_true(docker_knows(fixture, PREALLOC_NETWORK, name));
    assert_int_equal(prealloc_n_ready(fixture->docker->prealloc, PREALLOC_NETWORK), 0);
    assert_asked(fixture, "POST /networks/create;");
}

static void podman_is_asked_without_a_name_server(void **state)
{
    struct docker_fixture *fixture = *state;
    char name[PREALLOC_NAME_BYTES] = "";
    const char *body = NULL;

    fixture->docker->is_podman = true;
    fake_engine_set(fixture->engine, "POST /v4.0.0/libpod/networks/create", 200, "{}");
    assert_int_equal(make(fixture, name), 0);
    body = fake_engine_body(fixture->engine, "POST /v4.0.0/libpod/networks/create", NULL);
    assert_names(body, "name", "network_interface", name);
    assert_json_at(body, "driver", "\"bridge\"");
    assert_json_at(body, "ipv6_enabled", "false");
    assert_json_at(body, "dns_enabled", "false");
    assert_json_at(body, "labels", LABELS);
    assert_non_null(strstr(body, "\"subnet\":\"10.201."));
    assert_asked(fixture, "POST /v4.0.0/libpod/networks/create;");
}

/* Another engine may use a subnet; at last the engine chooses itself. */
static void refused_subnets_are_not_insisted_on(void **state)
{
    struct docker_fixture *fixture = *state;
    char name[PREALLOC_NAME_BYTES] = "";

    fake_engine_set(fixture->engine, "POST /networks/create", 500, NULL);
    fake_engine_forget(fixture->engine);
    assert_int_equal(make(fixture, name), -1);
    assert_int_equal(fake_engine_count(fixture->engine, "POST /networks/create"), 9);
    assert_json_at(fake_engine_body(fixture->engine, "POST /networks/create", NULL), "IPAM", NULL);
    fake_engine_set(fixture->engine, "POST /networks/create", 201, NULL);
    fake_engine_add(
        fixture->engine,
        &(struct engine_reply){.request = "POST /networks/create", .status = 403, .n_times = 8});
    assert_int_equal(make(fixture, name), 0);
    assert_json_at(fake_engine_body(fixture->engine, "POST /networks/create", NULL), "IPAM", NULL);
    fixture->docker->is_podman = true;
    fake_engine_set(fixture->engine, "POST /v4.0.0/", 200, "{}");
    fake_engine_add(fixture->engine, &(struct engine_reply){
                                         .request = "POST /v4.0.0/", .status = 500, .n_times = 8});
    assert_int_equal(make(fixture, name), 0);
    assert_json_at(fake_engine_body(fixture->engine, "POST /v4.0.0/", NULL), "subnets", NULL);
}

static void network_that_was_not_made_is_unknown(void **state)
{
    struct docker_fixture *fixture = *state;
    char name[PREALLOC_NAME_BYTES] = "";
    const char *body = NULL;
    json_auto_t *parsed = NULL;

    fake_engine_set(fixture->engine, "POST /networks/create", 500, NULL);
    assert_int_equal(make(fixture, name), -1);
    assert_string_equal(name, "");
    body = fake_engine_body(fixture->engine, "POST /networks/create", NULL);
    assert_int_equal(json_parse(body, strlen(body), &parsed, &fixture->err), 0);
    assert_false(docker_knows(fixture, PREALLOC_NETWORK, json_text_or(parsed, "Name", "")));
}

static void engine_that_is_away_is_asked_once(void **state)
{
    struct docker_fixture *fixture = *state;
    char name[PREALLOC_NAME_BYTES] = "";

    fixture->docker->engine.socket = "/nonexistent/socket";
    assert_int_equal(make(fixture, name), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
}

static void range_must_be_one(void **state)
{
    struct docker_fixture *fixture = *state;
    char name[PREALLOC_NAME_BYTES] = "";

    fixture->docker->settings.subnets = "10.201.0.0";
    assert_int_equal(make(fixture, name), -1);
    assert_int_equal(fixture->err.code, ERROR_INVALID);
    assert_asked(fixture, "");
}

static bool refill(struct docker_fixture *fixture)
{
    bool is_full = false;

    if (fixture->backend->functions->refill(fixture->backend, &is_full, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    return is_full;
}

static void one_of_each_is_made_in_advance(void **state)
{
    struct docker_fixture *fixture = *state;
    struct prealloc *prealloc = fixture->docker->prealloc;
    bool is_full = true;

    assert_false(refill(fixture));
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_NETWORK), 1);
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 0);
    assert_false(refill(fixture));
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_NETWORK), 1);
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 1);
    assert_true(refill(fixture));
    assert_int_equal(fake_engine_count(fixture->engine, "POST /networks/create"), 1);
    assert_int_equal(fake_engine_count(fixture->engine, "POST /volumes/create"), 2);
    fixture->docker->settings.n_prealloc = 2;
    fake_engine_set(fixture->engine, "POST /networks/create", 500, NULL);
    assert_int_equal(fixture->backend->functions->refill(fixture->backend, &is_full, &fixture->err),
                     -1);
    assert_false(is_full);
    fake_engine_set(fixture->engine, "POST /networks/create", 201, NULL);
    assert_false(refill(fixture));
    fake_engine_set(fixture->engine, "POST /volumes/create", 500, NULL);
    assert_int_equal(fixture->backend->functions->refill(fixture->backend, &is_full, &fixture->err),
                     -1);
}

/* As the service uses them. */
static void homes_are_taken_kept_and_given_back(void **state)
{
    struct docker_fixture *fixture = *state;
    struct backend *backend = fixture->backend;
    const struct backend_functions *functions = backend->functions;
    char home[BACKEND_NAME_BYTES] = "";

    docker_add_ready(fixture, "n-1", "h-1");
    assert_true(functions->take_ready_home(backend, home));
    assert_string_equal(home, "h-1");
    assert_false(functions->take_ready_home(backend, home));
    functions->give_home(backend, "h-1");
    home[0] = '\0';
    assert_int_equal(functions->take_home(backend, home, &fixture->err), 0);
    assert_string_equal(home, "h-1");
    functions->home_is_kept(backend, "h-1");
    assert_false(docker_knows(fixture, PREALLOC_HOME, "h-1"));
    assert_true(docker_knows(fixture, PREALLOC_NETWORK, "n-1"));
    functions->network_is_kept(backend, "n-1");
    assert_false(docker_knows(fixture, PREALLOC_NETWORK, "n-1"));
    assert_asked(fixture, "");
    assert_int_equal(functions->take_home(backend, home, &fixture->err), 0);
    assert_string_not_equal(home, "h-1");
    assert_int_equal(fake_engine_count(fixture->engine, "POST /volumes/create"), 2);
}

int docker_network_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(network_is_a_bridge_of_this_instance),
        DOCKER_TEST(podman_is_asked_without_a_name_server),
        DOCKER_TEST(refused_subnets_are_not_insisted_on),
        DOCKER_TEST(network_that_was_not_made_is_unknown),
        DOCKER_TEST(engine_that_is_away_is_asked_once),
        DOCKER_TEST(range_must_be_one),
        DOCKER_TEST(one_of_each_is_made_in_advance),
        DOCKER_TEST(homes_are_taken_kept_and_given_back),
    };

    return cmocka_run_group_tests_name("runtime/docker/network", tests, NULL, NULL);
}
