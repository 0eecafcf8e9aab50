/*
 * What all sandboxes share, and what is learned of the engine when it is reached.
 */
#include "runtime/docker/shared_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "runtime/docker/disk_limits.h"
#include "runtime/docker/docker_backend.h"
#include "support/json_path.h"
#include "unit/runtime/docker/docker_fixture.h"

enum { TAR_BLOCK = 512 };

#define HELPER_MARK "HEAD /containers/c-1/archive?path=/.deft/complete;"
#define MADE                                                                                       \
    "GET /info;GET /images/deft-empty:1/json;"                                                     \
    "POST /volumes/create;POST /containers/create;" HELPER_MARK

static int make(struct docker_fixture *fixture)
{
    fixture->err = (struct error)ERROR_INIT;
    return docker_make_shared_objects(fixture->docker, &fixture->err);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void answer(struct docker_fixture *fixture, const char *info)
{
    fake_engine_set(fixture->engine, "GET /info", 200, info);
    fake_engine_set(fixture->engine, "GET /images/deft-empty:1/json", 200, "{}");
    fake_engine_set(fixture->engine, "HEAD /containers/", 200, NULL);
}

static void complete_volume_is_left_as_it_is(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    answer(fixture, "{}");
    assert_int_equal(make(fixture), 0);
    strbuf_appendf(&name, "\"%s\"", fixture->docker->action_volume);
    assert_json_at(fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "Name",
                   name.text);
    assert_json_at(fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "Labels",
                   "{\"deft.managed\":\"1\",\"deft.instance\":\"inst\",\"deft.role\":\"action\"}");
    assert_json_at(fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "DriverOpts",
                   NULL);
    assert_json_at(fake_engine_body(fixture->engine, "POST /containers/create", NULL),
                   "HostConfig.Mounts[0].Source", name.text);
    assert_json_at(fake_engine_body(fixture->engine, "POST /containers/create", NULL),
                   "HostConfig.Mounts[0].Target", "\"/.deft\"");
    assert_json_at(fake_engine_body(fixture->engine, "POST /containers/create", NULL), "Image",
                   "\"deft-empty:1\"");
    assert_asked(fixture, MADE "DELETE /containers/c-1?force=1&v=1;");
}

static void assert_file(const char *archive, size_t block, const char *name, const char *mode,
                        const char *text)
{
    const char *header = archive + block * TAR_BLOCK;

    assert_string_equal(header, name);
    assert_non_null(strstr(header + 100, mode));
    assert_int_equal(strtoul(header + 108, NULL, 8), 0);
    assert_int_equal(header[156], '0');
    assert_string_equal(header + TAR_BLOCK, text);
}

static void new_volume_is_filled(void **state)
{
    struct docker_fixture *fixture = *state;
    const char *archive = NULL;
    size_t len = 0;

    answer(fixture, "{}");
    fake_engine_set(fixture->engine, "HEAD /containers/", 404, NULL);
    assert_int_equal(make(fixture), 0);
    archive = fake_engine_body(fixture->engine, "PUT /containers/c-1/archive", &len);
    assert_int_equal(len, 6 * TAR_BLOCK);
    assert_file(archive, 0, "deft-action", "555", TEST_ACTION);
    assert_file(archive, 2, "complete", "444", fixture->docker->action_volume);
    assert_asked(fixture, MADE "PUT /containers/c-1/archive?path=/.deft;"
                               "DELETE /containers/c-1?force=1&v=1;");
}

static void certificates_are_put_next_to_the_program(void **state)
{
    struct docker_fixture *fixture = *state;
    const char *archive = NULL;
    char before[DOCKER_NAME_BYTES] = "";
    size_t len = 0;

    memcpy(before, fixture->docker->action_volume, sizeof(before));
    assert_true(text_starts_with(before, "inst-action-"));
    assert_int_equal(strlen(before), strlen("inst-action-") + 12);
    fixture->settings.ca_bundle = fixture->bundle_path; /* it need not exist */
    docker_restart(fixture);
    assert_string_equal(fixture->docker->action_volume, before);
    write_file(fixture->bundle_path, "certificates");
    docker_restart(fixture);
    assert_string_not_equal(fixture->docker->action_volume, before);
    answer(fixture, "{}");
    fake_engine_set(fixture->engine, "HEAD /containers/", 404, NULL);
    assert_int_equal(make(fixture), 0);
    archive = fake_engine_body(fixture->engine, "PUT /containers/c-1/archive", &len);
    assert_int_equal(len, 8 * TAR_BLOCK);
    assert_file(archive, 2, "ca.pem", "444", "certificates");
    assert_file(archive, 4, "complete", "444", fixture->docker->action_volume);
}

static void volume_is_named_after_the_program(void **state)
{
    struct docker_fixture *fixture = *state;
    char before[DOCKER_NAME_BYTES] = "";

    memcpy(before, fixture->docker->action_volume, sizeof(before));
    assert_string_equal(fixture->backend->functions->agent_build(fixture->backend), before);
    docker_restart(fixture);
    assert_string_equal(fixture->docker->action_volume, before);
    write_file(fixture->action_path, "another program");
    docker_restart(fixture);
    assert_string_not_equal(fixture->docker->action_volume, before);
}

static void program_must_be_readable(void **state)
{
    struct docker_fixture *fixture = *state;
    struct backend *backend = NULL;
    struct docker_settings settings = fixture->settings;

    settings.ca_bundle = "/tmp"; /* not a file */
    assert_int_equal(docker_backend_new(&settings, fixture->http, &backend, &fixture->err), -1);
    assert_true(text_starts_with(fixture->err.message, "DEFT_SANDBOX_CA_BUNDLE: "));
    settings = fixture->settings;
    settings.action_binary = "/nonexistent/deft-action";
    assert_int_equal(docker_backend_new(&settings, fixture->http, &backend, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    assert_true(text_starts_with(fixture->err.message, "DEFT_ACTION_BINARY: "));
    assert_null(backend);
}

/* The volume's name would be another one's. */
static void program_that_changed_is_not_used(void **state)
{
    struct docker_fixture *fixture = *state;

    answer(fixture, "{}");
    fake_engine_set(fixture->engine, "HEAD /containers/", 404, NULL);
    write_file(fixture->action_path, "another program");
    assert_int_equal(make(fixture), -1);
    assert_int_equal(fixture->err.code, ERROR_CONFLICT);
    assert_int_equal(fake_engine_count(fixture->engine, "PUT "), 0);
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /containers/c-1"), 1);
    (void)unlink(fixture->action_path);
    assert_int_equal(make(fixture), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
}

static void empty_image_is_made_once(void **state)
{
    struct docker_fixture *fixture = *state;
    size_t len = 0;

    answer(fixture, "{}");
    fake_engine_set(fixture->engine, "GET /images/", 404, NULL);
    fake_engine_set(fixture->engine, "POST /images/create", 200, "{\"status\":\"sha256:1\"}");
    assert_int_equal(make(fixture), 0);
    (void)!fake_engine_body(fixture->engine, "POST /images/create", &len);
    assert_int_equal(len, 2 * TAR_BLOCK);
    assert_int_equal(
        fake_engine_count(fixture->engine, "POST /images/create?fromSrc=-&repo=deft-empty:1"), 1);
    fake_engine_set(fixture->engine, "GET /images/", 500, "{\"message\":\"odd\"}");
    fake_engine_forget(fixture->engine);
    assert_int_equal(make(fixture), -1);
    assert_string_equal(fixture->err.message,
                        "creating an empty image: the container engine replied 500: odd");
    assert_asked(fixture, "GET /info;GET /images/deft-empty:1/json;");
    fake_engine_set(fixture->engine, "GET /images/", 404, NULL);
    fake_engine_set(fixture->engine, "POST /images/create", 200, "{\"error\":\"disk\"}");
    assert_int_equal(make(fixture), -1);
    assert_string_equal(fixture->err.message, "creating an empty image: disk");
}

static void each_step_may_fail(void **state)
{
    static const struct {
        const char *request;
        const char *message;
    } cases[] = {
        {"GET /info", "the container engine replied 500: nothing"},
        {"POST /volumes/create",
         "making the volume with deft-action: the container engine replied 500: nothing"},
        {"POST /containers/create",
         "making the volume with deft-action: the container engine replied 500: nothing"},
        {"HEAD /containers/",
         "making the volume with deft-action: the container engine replied 500: nothing"},
        {"PUT /containers/",
         "making the volume with deft-action: the container engine replied 500: nothing"},
    };
    struct docker_fixture *fixture = *state;

    answer(fixture, "{}");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_add(
            fixture->engine,
            &(struct engine_reply){.request = "HEAD /containers/", .status = 404, .n_times = 1});
        fake_engine_add(
            fixture->engine,
            &(struct engine_reply){.request = cases[i].request, .status = 500, .n_times = 1});
        assert_int_equal(make(fixture), -1);
        assert_string_equal(fixture->err.message, cases[i].message);
    }
    assert_int_equal(fake_engine_count(fixture->engine, "DELETE /containers/c-1"), 2);
    fake_engine_set(fixture->engine, "DELETE /containers/", 500, NULL);
    assert_int_equal(make(fixture), 0);
}

/* --- what is learned --- */

static void engine_is_learned(void **state)
{
    static const struct {
        const char *info;
        const char *architecture;
        const char *root;
        const char *name;
        int64_t n_cpus;
    } cases[] = {
        {"{\"Architecture\":\"x86_64\",\"NCPU\":4,\"DockerRootDir\":\"/var/lib/docker\"}", "amd64",
         "/var/lib/docker", "docker", 4},
        {"{\"Architecture\":\"aarch64\",\"BuildahVersion\":\"1.2\"}", "arm64", "", "podman", 0},
        {"{\"Architecture\":\"armv7l\"}", "arm", "", "docker", 0},
        {"{\"Architecture\":\"riscv64\"}", "riscv64", "", "docker", 0},
        {"{}", "", "", "docker", 0},
    };
    struct docker_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        answer(fixture, cases[i].info);
        json_object_set_new(fixture->docker->known_images, "img", json_true());
        assert_int_equal(make(fixture), 0);
        assert_string_equal(fixture->docker->architecture, cases[i].architecture);
        assert_string_equal(fixture->docker->root, cases[i].root);
        assert_string_equal(fixture->backend->functions->name(fixture->backend), cases[i].name);
        assert_int_equal(fixture->docker->n_cpus, cases[i].n_cpus);
        assert_int_equal(json_object_size(fixture->docker->known_images), 0);
    }
}

static void free_space_is_that_of_the_engines_folder(void **state)
{
    struct docker_fixture *fixture = *state;
    struct backend_space space = {.free_bytes = -1};

    assert_int_equal(fixture->backend->functions->space(fixture->backend, &space, &fixture->err),
                     -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    assert_int_equal(space.free_bytes, -1);
    (void)snprintf(fixture->docker->root, sizeof(fixture->docker->root), "/tmp");
    assert_int_equal(fixture->backend->functions->space(fixture->backend, &space, &fixture->err),
                     0);
    assert_true(space.free_bytes >= 0);
}

/* --- limits of disks --- */

struct limits_case {
    int volume_status;
    int layer_status;
    bool is_podman;
    int64_t volume_bytes;
    int64_t layer_bytes;
};

static void limits_are_those_that_the_engine_takes(void **state)
{
    static const struct limits_case cases[] = {
        {201, 201, false, 700, 700}, {201, 500, false, 700, 0}, {500, 201, false, 0, 700},
        {500, 500, false, 0, 0},     {201, 201, true, 0, 700},
    };
    struct docker_fixture *fixture = *state;

    fixture->docker->settings.profile.disk_bytes = 700;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_set(fixture->engine, "POST /volumes/create", cases[i].volume_status, NULL);
        fake_engine_set(fixture->engine, "POST /containers/create", cases[i].layer_status,
                        "{\"Id\":\"c-1\"}");
        fixture->docker->is_podman = cases[i].is_podman;
        docker_detect_limits(fixture->docker);
        assert_int_equal(docker_volume_limit(fixture->docker), cases[i].volume_bytes);
        assert_int_equal(docker_layer_limit(fixture->docker), cases[i].layer_bytes);
    }
}

static void limits_are_tried_with_a_volume_that_goes(void **state)
{
    struct docker_fixture *fixture = *state;
    const char *helper = NULL;

    docker_detect_limits(fixture->docker);
    assert_asked(fixture, "");
    fixture->docker->settings.profile.disk_bytes = 700;
    docker_detect_limits(fixture->docker);
    helper = fake_engine_body(fixture->engine, "POST /containers/create", NULL);
    assert_json_at(fake_engine_body(fixture->engine, "POST /volumes/create", NULL), "",
                   "{\"Name\":\"inst-probe\",\"DriverOpts\":{\"size\":\"700\"},\"Labels\":{"
                   "\"deft.managed\":\"1\",\"deft.instance\":\"inst\",\"deft.role\":\"probe\"}}");
    assert_json_at(helper, "HostConfig.StorageOpt", "{\"size\":\"700\"}");
    assert_json_at(helper, "HostConfig.Mounts[0].Source", "\"inst-probe\"");
    assert_json_at(helper, "HostConfig.Mounts[0].Target", "\"/workspace\"");
    assert_asked(fixture, "POST /volumes/create;POST /containers/create;"
                          "DELETE /containers/c-1?force=1&v=1;DELETE /volumes/inst-probe;");
    fake_engine_set(fixture->engine, "DELETE /", 500, NULL);
    docker_detect_limits(fixture->docker);
    assert_int_equal(docker_layer_limit(fixture->docker), 0);
    assert_int_equal(docker_volume_limit(fixture->docker), 700);
}

int docker_shared_objects_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(complete_volume_is_left_as_it_is),
        DOCKER_TEST(new_volume_is_filled),
        DOCKER_TEST(certificates_are_put_next_to_the_program),
        DOCKER_TEST(volume_is_named_after_the_program),
        DOCKER_TEST(program_must_be_readable),
        DOCKER_TEST(program_that_changed_is_not_used),
        DOCKER_TEST(empty_image_is_made_once),
        DOCKER_TEST(each_step_may_fail),
        DOCKER_TEST(engine_is_learned),
        DOCKER_TEST(free_space_is_that_of_the_engines_folder),
        DOCKER_TEST(limits_are_those_that_the_engine_takes),
        DOCKER_TEST(limits_are_tried_with_a_volume_that_goes),
    };

    return cmocka_run_group_tests_name("runtime/docker/shared_objects", tests, NULL, NULL);
}
