/*
 * The volumes of homes: their users, contents and removal.
 */
#include "runtime/docker/home_volumes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/backend/sandbox_users.h"
#include "support/json_path.h"
#include "unit/runtime/docker/docker_fixture.h"

#define HELPERS_OF(volume)                                                                         \
    "GET /containers/json?all=1&filters=%7B%22volume%22%3A%5B%22" volume                           \
    "%22%5D%2C%22label%22%3A%5B%22deft.role%3Dhelper%22%2C%22deft.instance%3Dinst%22%5D%7D;"

enum { TAR_BLOCK = 512 };

static int make(struct docker_fixture *fixture, char home[PREALLOC_NAME_BYTES])
{
    fixture->err = (struct error)ERROR_INIT;
    return docker_make_home(fixture->docker, home, &fixture->err);
}

static int remove_home(struct docker_fixture *fixture, const char *home)
{
    fixture->err = (struct error)ERROR_INIT;
    return fixture->backend->functions->remove_home(fixture->backend, home, &fixture->err);
}

/* Holds an archive's i-th entry against a directory. */
static void assert_folder(const char *archive, size_t i, const char *name,
                          const unsigned long *wanted)
{
    const char *header = archive + i * TAR_BLOCK;

    assert_string_equal(header, name);
    assert_int_equal(strtoul(header + 100, NULL, 8), wanted[0]);
    assert_int_equal(strtoul(header + 108, NULL, 8), wanted[1]);
    assert_int_equal(strtoul(header + 116, NULL, 8), wanted[2]);
    assert_int_equal(header[156], '5');
}

static void home_belongs_to_its_users(void **state)
{
    struct docker_fixture *fixture = *state;
    char home[PREALLOC_NAME_BYTES] = "";
    const char *archive = NULL;
    struct sandbox_users users = {0};
    size_t len = 0;

    assert_int_equal(make(fixture, home), 0);
    users = sandbox_users_of_home(home);
    assert_int_equal(strcspn(home, "-"), 10);
    assert_in_range(users.command, USERS_FIRST, USERS_END - 1);
    archive = fake_engine_body(fixture->engine, "PUT /containers/c-1/archive", &len);
    assert_int_equal(len, 5 * TAR_BLOCK);
    assert_folder(archive, 0, "workspace/", (unsigned long[]){0755, users.command, 10001});
    assert_folder(archive, 1, "workspace/project/", (unsigned long[]){0755, users.command, 10001});
    assert_folder(archive, 2, ".deft-j/", (unsigned long[]){0700, users.server, 10001});
    assert_true(docker_knows(fixture, PREALLOC_HOME, home));
    assert_int_equal(prealloc_n_ready(fixture->docker->prealloc, PREALLOC_HOME), 0);
}

static void home_is_two_volumes_that_a_helper_fills(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    char home[PREALLOC_NAME_BYTES] = "";
    const char *helper = NULL;
    const char *volume = NULL;

    assert_int_equal(make(fixture, home), 0);
    helper = fake_engine_body(fixture->engine, "POST /containers/create", NULL);
    volume = fake_engine_body(fixture->engine, "POST /volumes/create", NULL);
    strbuf_appendf(&name, "\"inst-j-%s\"", home);
    assert_json_at(volume, "Name", name.text);
    assert_json_at(volume, "DriverOpts", NULL);
    assert_json_at(volume, "Labels",
                   "{\"deft.managed\":\"1\",\"deft.instance\":\"inst\",\"deft.role\":\"journal\"}");
    assert_json_at(helper, "Image", "\"deft-empty:1\"");
    assert_json_at(helper, "HostConfig.Mounts[0].Target", "\"/workspace\"");
    assert_json_at(helper, "HostConfig.Mounts[1].Source", name.text);
    assert_json_at(helper, "HostConfig.Mounts[1].Target", "\"/.deft-j\"");
    assert_json_at(helper, "HostConfig.Mounts[1].Type", "\"volume\"");
    assert_json_at(helper, "HostConfig.Mounts[1].VolumeOptions.NoCopy", "true");
    strbuf_reset(&name);
    strbuf_appendf(&name, "\"inst-ws-%s\"", home);
    assert_json_at(helper, "HostConfig.Mounts[0].Source", name.text);
    assert_asked(fixture, "GET /volumes?filters=%7B%22label%22%3A%5B%22deft.managed%3D1%22%5D%7D;"
                          "POST /volumes/create;POST /volumes/create;POST /containers/create;"
                          "PUT /containers/c-1/archive?path=/;"
                          "DELETE /containers/c-1?force=1&v=1;");
}

static void workspace_has_a_label_of_its_own(void **state)
{
    struct docker_fixture *fixture = *state;
    char home[PREALLOC_NAME_BYTES] = "";

    /* The first volume is the last that is asked for. */
    fake_engine_set(fixture->engine, "POST /volumes/create", 500, NULL);
    assert_int_equal(make(fixture, home), -1);
    assert_json_at(
        fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "Labels",
        "{\"deft.managed\":\"1\",\"deft.instance\":\"inst\",\"deft.role\":\"workspace\"}");
}

static void volume_has_the_size_that_the_engine_can_hold(void **state)
{
    struct docker_fixture *fixture = *state;
    char home[PREALLOC_NAME_BYTES] = "";

    fixture->docker->settings.profile.disk_bytes = 12345;
    assert_int_equal(make(fixture, home), 0);
    assert_json_at(fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "DriverOpts",
                   NULL);
    fixture->docker->limits_volumes = true;
    assert_int_equal(make(fixture, home), 0);
    assert_json_at(fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "DriverOpts",
                   "{\"size\":\"12345\"}");
}

/* No other sandbox of the engine has the same users, whatever service it belongs to. */
static void users_of_other_homes_are_not_taken(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf volumes = STRBUF_INIT;
    char home[PREALLOC_NAME_BYTES] = "";
    unsigned last = USERS_FIRST + 2 * (USERS_PAIRS - 1);

    strbuf_append(&volumes, "{\"Volumes\":[{}");
    for (unsigned user = USERS_FIRST; user < last; user += 2)
        strbuf_appendf(&volumes, ",{\"Name\":\"other-ws-0-%u\"}", user);
    strbuf_append(&volumes, "]}");
    fake_engine_set(fixture->engine, "GET /volumes?", 200, volumes.text);
    assert_int_equal(make(fixture, home), 0);
    assert_int_equal(sandbox_users_of_home(home).command, last);
    fake_engine_forget(fixture->engine);
    assert_int_equal(make(fixture, home), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_string_equal(fixture->err.message,
                        "creating a workspace: all 22767 pairs of users are in use by workspaces "
                        "on this engine; delete sandboxes that are no longer needed");
    assert_int_equal(fake_engine_count(fixture->engine, "POST "), 0);
    assert_int_equal(remove_home(fixture, home), 0);
    assert_int_equal(make(fixture, home), 0);
}

static void failed_home_is_forgotten(void **state)
{
    static const struct {
        const char *request;
        const char *message;
    } cases[] = {
        {"GET /volumes?", "creating a workspace: the container engine replied 500: nothing"},
        {"POST /volumes/create", "creating a workspace: the container engine replied 500: nothing"},
        {"POST /containers/create",
         "creating a workspace: the container engine replied 500: nothing"},
        {"PUT /containers/", "creating a workspace: the container engine replied 500: nothing"},
    };
    struct docker_fixture *fixture = *state;
    char home[PREALLOC_NAME_BYTES] = "";
    static const struct users_in_use none = {.bits = {0}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_add(
            fixture->engine,
            &(struct engine_reply){.request = cases[i].request, .status = 500, .n_times = 1});
        assert_int_equal(make(fixture, home), -1);
        assert_string_equal(fixture->err.message, cases[i].message);
        assert_string_equal(home, "");
        assert_memory_equal(&fixture->docker->users, &none, sizeof(none));
    }
    /* The helper of the last one did not stay. */
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /containers/c-1"), 1);
}

static void helper_that_stays_is_no_failure(void **state)
{
    struct docker_fixture *fixture = *state;
    char home[PREALLOC_NAME_BYTES] = "";

    fake_engine_set(fixture->engine, "DELETE /containers/", 500, NULL);
    assert_int_equal(make(fixture, home), 0);
}

static void removed_home_is_unknown(void **state)
{
    struct docker_fixture *fixture = *state;
    static const struct users_in_use none = {.bits = {0}};

    docker_add_ready(fixture, "n-1", "h-20000");
    assert_int_equal(remove_home(fixture, "h-20000"), 0);
    assert_asked(fixture, "DELETE /volumes/inst-ws-h-20000;DELETE /volumes/inst-j-h-20000;");
    assert_false(docker_knows(fixture, PREALLOC_HOME, "h-20000"));
    assert_memory_equal(&fixture->docker->users, &none, sizeof(none));
    fake_engine_set(fixture->engine, "DELETE /volumes/", 404, NULL);
    assert_int_equal(remove_home(fixture, "h-20000"), 0);
}

/* Its users stay taken while a volume exists. */
static void home_that_stays_keeps_its_users(void **state)
{
    static const char *const requests[] = {"DELETE /volumes/inst-j-", "DELETE /volumes/inst-ws-"};
    struct docker_fixture *fixture = *state;
    static const struct users_in_use none = {.bits = {0}};

    docker_add_ready(fixture, "n-1", "h-20000");
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        fake_engine_set(fixture->engine, requests[i], 500, NULL);
        fixture->docker->users = none;
        assert_int_equal(remove_home(fixture, "h-20000"), -1);
        assert_true(docker_knows(fixture, PREALLOC_HOME, "h-20000"));
        assert_memory_not_equal(&fixture->docker->users, &none, sizeof(none));
    }
    assert_string_equal(fixture->err.message, "removing volume inst-ws-h-20000: the container "
                                              "engine replied 500: nothing");
}

/* An engine that was shut down leaves the container that filled the volume. */
static void helpers_that_use_the_volume_are_removed_first(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_add(
        fixture->engine,
        &(struct engine_reply){.request = "DELETE /volumes/inst-ws-", .status = 409, .n_times = 1});
    fake_engine_set(fixture->engine, "GET /containers/json", 200,
                    "[{\"Id\":\"c-8\"},{\"Id\":\"c-9\"}]");
    assert_int_equal(remove_home(fixture, "h"), 0);
    assert_asked(fixture, "DELETE /volumes/inst-ws-h;" HELPERS_OF(
                              "inst-ws-h") "DELETE /containers/c-8?force=1&v=1;"
                                           "DELETE /containers/c-9?force=1&v=1;"
                                           "DELETE /volumes/inst-ws-h;DELETE /volumes/inst-j-h;");
}

static void volume_in_use_by_others_stays(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "DELETE /volumes/", 409, "{\"message\":\"in use\"}");
    fake_engine_set(fixture->engine, "GET /containers/json", 200, "[]");
    assert_int_equal(remove_home(fixture, "h"), -1);
    assert_int_equal(fixture->err.code, ERROR_CONFLICT);
    fake_engine_set(fixture->engine, "GET /containers/json", 200, "[{\"Id\":\"c-8\"}]");
    fake_engine_set(fixture->engine, "DELETE /containers/", 500, NULL);
    fake_engine_forget(fixture->engine);
    assert_int_equal(remove_home(fixture, "h"), -1);
    assert_int_equal(fixture->err.code, ERROR_INTERNAL);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /volumes/"), 1);
    fake_engine_set(fixture->engine, "GET /containers/json", 500, NULL);
    fake_engine_forget(fixture->engine);
    assert_int_equal(remove_home(fixture, "h"), -1);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /"), 1);
}

int docker_home_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(home_belongs_to_its_users),
        DOCKER_TEST(home_is_two_volumes_that_a_helper_fills),
        DOCKER_TEST(workspace_has_a_label_of_its_own),
        DOCKER_TEST(volume_has_the_size_that_the_engine_can_hold),
        DOCKER_TEST(users_of_other_homes_are_not_taken),
        DOCKER_TEST(failed_home_is_forgotten),
        DOCKER_TEST(helper_that_stays_is_no_failure),
        DOCKER_TEST(removed_home_is_unknown),
        DOCKER_TEST(home_that_stays_keeps_its_users),
        DOCKER_TEST(helpers_that_use_the_volume_are_removed_first),
        DOCKER_TEST(volume_in_use_by_others_stays),
    };

    return cmocka_run_group_tests_name("runtime/docker/home_volumes", tests, NULL, NULL);
}
