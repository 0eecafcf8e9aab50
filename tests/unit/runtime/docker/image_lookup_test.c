/*
 * Whether an image can be used, and where it may come from.
 */
#include "runtime/docker/image_lookup.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "unit/runtime/docker/docker_fixture.h"

static int check(struct docker_fixture *fixture, const char *image)
{
    fixture->err = (struct error)ERROR_INIT;
    return docker_check_image(fixture->docker, image, &fixture->err);
}

static void image_is_checked_once(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "GET /images/a/b:1/json", 200, "{}");
    assert_int_equal(check(fixture, "a/b:1"), 0);
    assert_int_equal(check(fixture, "a/b:1"), 0);
    assert_asked(fixture, "GET /images/a/b:1/json;");
    assert_int_equal(
        fixture->backend->functions->remove_image(fixture->backend, "a/b:1", &fixture->err), 0);
    assert_int_equal(check(fixture, "a/b:1"), 0);
    assert_asked(fixture, "DELETE /images/a/b:1;GET /images/a/b:1/json;");
}

static void image_must_run_on_this_host(void **state)
{
    static const struct {
        const char *facts;
        const char *host;
        const char *message; /* NULL: it may be used */
    } cases[] = {
        {"{\"Os\":\"linux\",\"Architecture\":\"amd64\"}", "amd64", NULL},
        {"{\"Architecture\":\"amd64\"}", "", NULL},
        {"{\"Architecture\":\"\"}", "amd64", NULL},
        {"{\"Os\":\"windows\",\"Architecture\":\"amd64\"}", "amd64",
         "the image x is for windows, not Linux"},
        {"{\"Os\":\"linux\",\"Architecture\":\"arm64\"}", "amd64",
         "the image x is for arm64 processors, this host has amd64"},
    };
    struct docker_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct docker *docker = fixture->docker;

        json_object_clear(docker->known_images);
        memset(docker->architecture, 0, sizeof(docker->architecture));
        memcpy(docker->architecture, cases[i].host, strlen(cases[i].host));
        fake_engine_set(fixture->engine, "GET /images/x/json", 200, cases[i].facts);
        assert_int_equal(check(fixture, "x"), cases[i].message == NULL ? 0 : -1);
        assert_int_equal(json_object_size(docker->known_images), cases[i].message == NULL);
        if (cases[i].message != NULL) {
            assert_string_equal(fixture->err.message, cases[i].message);
            assert_int_equal(fixture->err.code, ERROR_UNSUPPORTED);
        }
    }
}

static void missing_image_is_pulled(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "GET /images/a/b", 200, "{}");
    fake_engine_add(
        fixture->engine,
        &(struct engine_reply){.request = "GET /images/a/b", .status = 404, .n_times = 1});
    fake_engine_set(fixture->engine, "POST /images/create", 200, "{\"status\":\"done\"}\n");
    assert_int_equal(check(fixture, "a/b"), 0);
    assert_asked(fixture, "GET /images/a/b/json;POST /images/create?fromImage=a%2Fb&tag=latest;"
                          "GET /images/a/b/json;");
    fake_engine_set(fixture->engine, "GET /images/a/c", 404, NULL);
    assert_int_equal(check(fixture, "a/c"), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    fake_engine_set(fixture->engine, "GET /images/a/c", 500, NULL);
    fake_engine_forget(fixture->engine);
    assert_int_equal(check(fixture, "a/c"), -1);
    assert_int_equal(fixture->err.code, ERROR_INTERNAL);
    assert_asked(fixture, "GET /images/a/c/json;");
}

static void tag_is_latest_if_none_is_named(void **state)
{
    static const struct {
        const char *image;
        const char *asked;
    } cases[] = {
        {"debian", "POST /images/create?fromImage=debian&tag=latest;"},
        {"debian:12", "POST /images/create?fromImage=debian%3A12;"},
        {"ghcr.io/a/b", "POST /images/create?fromImage=ghcr.io%2Fa%2Fb&tag=latest;"},
        {"ghcr.io/a/b:1", "POST /images/create?fromImage=ghcr.io%2Fa%2Fb%3A1;"},
        {"a/b@sha256:0", "POST /images/create?fromImage=a%2Fb%40sha256%3A0;"},
        {"a/b@x", "POST /images/create?fromImage=a%2Fb%40x;"},
        {"my.example:5000/a", "POST /images/create?fromImage=my.example%3A5000%2Fa&tag=latest;"},
    };
    struct docker_fixture *fixture = *state;

    fixture->docker->settings.registries = "docker.io ghcr.io my.example:5000";
    fake_engine_set(fixture->engine, "POST /images/create", 200, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(docker_fetch_image(fixture->docker, cases[i].image, &fixture->err), 0);
        assert_asked(fixture, cases[i].asked);
    }
}

/* A response would reveal whether a service listens there. */
static void only_listed_registries_are_asked(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "POST /images/create", 200, NULL);
    assert_int_equal(docker_fetch_image(fixture->docker, "127.0.0.1:22/x", &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    assert_string_equal(fixture->err.message,
                        "the image 127.0.0.1:22/x is not on this host, and its registry is not on "
                        "the list (DEFT_REGISTRIES)");
    assert_asked(fixture, "");
    assert_int_equal(docker_fetch_image(fixture->docker, "own.example/x", &fixture->err), 0);
    assert_int_equal(docker_fetch_image(fixture->docker, "own.example/y", &fixture->err), -1);
}

static void failed_pull_is_a_missing_image(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum error_code code;
        const char *message;
    } cases[] = {
        {200, "{\"error\":\"manifest unknown\"}", ERROR_NOT_FOUND,
         "the image a is not on this host and cannot be pulled: manifest unknown"},
        {500, "{\"message\":\"dial\"}", ERROR_NOT_FOUND,
         "the image a is not on this host and cannot be pulled: the container engine replied 500: "
         "dial"},
        {409, "{\"message\":\"x\"}", ERROR_CONFLICT,
         "the image a is not on this host and cannot be pulled: the container engine replied 409: "
         "x"},
    };
    struct docker_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_set(fixture->engine, "POST /images/create", cases[i].status, cases[i].body);
        assert_int_equal(docker_pull_image(fixture->docker, "a", &fixture->err), -1);
        assert_int_equal(fixture->err.code, cases[i].code);
        assert_string_equal(fixture->err.message, cases[i].message);
    }
    fixture->docker->settings.may_pull = 0;
    fake_engine_forget(fixture->engine);
    assert_int_equal(docker_pull_image(fixture->docker, "a", &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    assert_string_equal(fixture->err.message, "the image a is not on this host");
    assert_asked(fixture, "");
}

static int find(struct docker_fixture *fixture, const char *image, struct seen_image *seen)
{
    *seen = (struct seen_image){.size_bytes = -1};
    fixture->err = (struct error)ERROR_INIT;
    return fixture->backend->functions->find_image(fixture->backend, image, seen, &fixture->err);
}

static void found_image_is_described(void **state)
{
    struct docker_fixture *fixture = *state;
    struct seen_image seen;

    fake_engine_set(fixture->engine, "GET /images/a", 200,
                    "{\"Id\":\"sha256:1\",\"Created\":\"2026-01-01T00:00:00Z\",\"Size\":77}");
    assert_int_equal(find(fixture, "a", &seen), 0);
    assert_string_equal(seen.id, "sha256:1");
    assert_string_equal(seen.created_at, "2026-01-01T00:00:00Z");
    assert_int_equal(seen.size_bytes, 77);
    assert_asked(fixture, "GET /images/a/json;");
    fake_engine_set(fixture->engine, "GET /images/a", 500, NULL);
    assert_int_equal(find(fixture, "a", &seen), -1);
    assert_int_equal(fixture->err.code, ERROR_INTERNAL);
    assert_asked(fixture, "GET /images/a/json;");
}

static void registry_says_whether_it_has_an_image(void **state)
{
    struct docker_fixture *fixture = *state;
    struct seen_image seen;

    fake_engine_set(fixture->engine, "GET /distribution/", 200, "{}");
    assert_int_equal(find(fixture, "a/b", &seen), 0);
    assert_string_equal(seen.id, "");
    assert_asked(fixture, "GET /images/a/b/json;GET /distribution/a/b/json;");
    fake_engine_set(fixture->engine, "GET /distribution/", 403, NULL);
    assert_int_equal(find(fixture, "a/b", &seen), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    assert_string_equal(fixture->err.message, "the image a/b is not available");
    fake_engine_forget(fixture->engine);
    assert_int_equal(find(fixture, "127.0.0.1:1/b", &seen), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
    fixture->docker->settings.may_pull = 0;
    assert_int_equal(find(fixture, "a/b", &seen), -1);
    assert_string_equal(fixture->err.message, "the image a/b is not on this host");
    assert_int_equal(fake_engine_count(fixture->engine, "GET /distribution/"), 0);
}

static void removed_image_need_not_be_there(void **state)
{
    struct docker_fixture *fixture = *state;
    const struct backend_functions *functions = fixture->backend->functions;

    fake_engine_set(fixture->engine, "DELETE /images/", 404, NULL);
    assert_int_equal(functions->remove_image(fixture->backend, "x", &fixture->err), 0);
    fake_engine_set(fixture->engine, "DELETE /images/", 409, "{\"message\":\"used\"}");
    assert_int_equal(functions->remove_image(fixture->backend, "x", &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_CONFLICT);
    assert_string_equal(fixture->err.message,
                        "removing the image x: the container engine replied 409: used");
}

int docker_image_lookup_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(image_is_checked_once),
        DOCKER_TEST(image_must_run_on_this_host),
        DOCKER_TEST(missing_image_is_pulled),
        DOCKER_TEST(tag_is_latest_if_none_is_named),
        DOCKER_TEST(only_listed_registries_are_asked),
        DOCKER_TEST(failed_pull_is_a_missing_image),
        DOCKER_TEST(found_image_is_described),
        DOCKER_TEST(registry_says_whether_it_has_an_image),
        DOCKER_TEST(removed_image_need_not_be_there),
    };

    return cmocka_run_group_tests_name("runtime/docker/image_lookup", tests, NULL, NULL);
}
