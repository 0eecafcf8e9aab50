/*
 * The start of a container: its steps, and what is left when one fails.
 */
#include "runtime/docker/container_start.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "support/json_path.h"
#include "unit/runtime/docker/docker_fixture.h"

#define READY "{\"event\":\"ready\"}\n"
#define FACTS                                                                                      \
    "{\"Image\":\"sha256:7\",\"NetworkSettings\":{\"Networks\":{\"n-1\":{\"IPAddress\":"           \
    "\"10.201.0.2\"},\"other\":{\"IPAddress\":\"10.9.9.9\"}}}}"

/* As the engine frames a line of output. */
static void append_frame(struct strbuf *out, const char *text)
{
    const char header[8] = {1, 0, 0, 0, 0, 0, 0, (char)strlen(text)};

    strbuf_append_bytes(out, header, sizeof(header));
    strbuf_append(out, text);
}

struct start_fixture {
    struct docker_fixture *docker;
    struct strbuf log;
    struct started_sandbox place;
};

static int set_up(void **state)
{
    struct start_fixture *fixture = NEW(struct start_fixture);
    void *docker = NULL;

    if (docker_set_up(&docker) < 0)
        return -1;
    fixture->docker = docker;
    fixture->log = (struct strbuf)STRBUF_INIT;
    docker_add_ready(fixture->docker, "n-1", "h-1");
    fake_engine_set(fixture->docker->engine, "GET /images/img/json", 200, "{}");
    fake_engine_set(fixture->docker->engine, "POST /containers/c-1/start", 204, NULL);
    fake_engine_set(fixture->docker->engine, "GET /containers/c-1/json", 200, FACTS);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct start_fixture *fixture = *state;
    void *docker = fixture->docker;

    strbuf_done(&fixture->log);
    mem_free(fixture);
    return docker_tear_down(&docker);
}

/* From now on the container writes these lines, a frame each, and ends; held: goes on. */
static void play_log(struct start_fixture *fixture, const char *const *lines, size_t n,
                     bool is_held)
{
    strbuf_reset(&fixture->log);
    for (size_t i = 0; i < n; i++)
        append_frame(&fixture->log, lines[i]);
    fake_engine_add(fixture->docker->engine,
                    &(struct engine_reply){.request = "GET /containers/c-1/logs",
                                           .body = fixture->log.text,
                                           .len = fixture->log.len,
                                           .is_held = is_held});
}

#define LOG_OF(fixture, ...)                                                                       \
    play_log((fixture), (const char *const[]){__VA_ARGS__},                                        \
             ARRAY_SIZE(((const char *const[]){__VA_ARGS__})), false)

static int start(struct start_fixture *fixture)
{
    const struct sandbox_config order = {.runtime_id = "r-1",
                                         .session_id = "s-1",
                                         .conversation_id = "",
                                         .image = "img",
                                         .home = "h-1"};
    struct backend *backend = fixture->docker->backend;

    fixture->docker->err = (struct error)ERROR_INIT;
    return backend->functions->start(backend, &order, &fixture->place, &fixture->docker->err);
}

static const char *message_of(const struct start_fixture *fixture)
{
    return fixture->docker->err.message;
}

#define UNTIL_LOGS                                                                                 \
    "GET /images/img/json;POST /containers/create?name=inst-r-1;POST /containers/c-1/start;"       \
    "GET /containers/c-1/logs?stdout=1&stderr=1&follow=1;"
#define UNDONE "DELETE /containers/inst-r-1?force=1&v=1;"

static void started_sandbox_has_an_address(void **state)
{
    static const char *const lines[] = {"{\"event\":\"begun\"}\nnoise\n{no JSON\n", READY};
    struct start_fixture *fixture = *state;
    const char *body = NULL;
    char key[128] = "";

    play_log(fixture, lines, ARRAY_SIZE(lines), true);
    if (start(fixture) < 0)
        fail_msg("%s", message_of(fixture));
    assert_string_equal(fixture->place.container_id, "c-1");
    assert_string_equal(fixture->place.network, "n-1");
    assert_string_equal(fixture->place.url, "http://10.201.0.2:8000");
    assert_string_equal(fixture->place.image_id, "sha256:7");
    body = fake_engine_body(fixture->docker->engine, "POST /containers/create", NULL);
    (void)snprintf(key, sizeof(key), "\"DEFT_ACTION_INIT_KEY=%s\"", fixture->place.init_key);
    assert_true(strlen(fixture->place.init_key) >= 32);
    assert_non_null(strstr(body, key));
    assert_asked(fixture->docker, UNTIL_LOGS "GET /containers/c-1/json;");
    assert_true(docker_knows(fixture->docker, PREALLOC_NETWORK, "n-1"));
    assert_int_equal(prealloc_n_ready(fixture->docker->docker->prealloc, PREALLOC_NETWORK), 0);
}

static void container_is_made_of_this_instances_objects(void **state)
{
    struct start_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf volume = STRBUF_INIT;
    struct docker *docker = fixture->docker->docker;
    const char *body = NULL;

    docker->n_cpus = 1;
    LOG_OF(fixture, READY);
    assert_int_equal(start(fixture), 0);
    body = fake_engine_body(fixture->docker->engine, "POST /containers/create", NULL);
    strbuf_appendf(&volume, "\"%s\"", docker->action_volume);
    assert_json_at(body, "Image", "\"img\"");
    assert_json_at(body, "HostConfig.NetworkMode", "\"n-1\"");
    assert_json_at(body, "HostConfig.Mounts[0].Source", volume.text);
    assert_json_at(body, "HostConfig.Mounts[1].Source", "\"inst-j-h-1\"");
    assert_json_at(body, "HostConfig.Mounts[2].Source", "\"inst-ws-h-1\"");
    assert_json_at(body, "HostConfig.NanoCpus", "1000000000");
    assert_json_at(body, "HostConfig.Memory", "1000");
    assert_json_at(body, "HostConfig.StorageOpt", NULL);
    assert_non_null(strstr(body, "\"seccomp={}\""));
}

/* More processors than a host has would be refused. */
static void processors_are_at_most_the_hosts(void **state)
{
    static const struct {
        int64_t n_cpus;
        int64_t wanted;
        const char *given;
    } cases[] = {
        {0, 0, "2000000000"},          {0, 7000000000, "7000000000"}, {2, 0, "2000000000"},
        {3, 4000000000, "3000000000"}, {4, 4000000000, "4000000000"}, {1, 0, "1000000000"},
        {4, 500000000, "500000000"},
    };
    struct start_fixture *fixture = *state;
    struct backend *backend = fixture->docker->backend;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct sandbox_config order = {.runtime_id = "r-1",
                                             .session_id = "",
                                             .conversation_id = "",
                                             .image = "img",
                                             .home = "h-1",
                                             .nano_cpus = cases[i].wanted};

        fixture->docker->docker->n_cpus = cases[i].n_cpus;
        docker_add_ready(fixture->docker, "n-1", "h-1");
        LOG_OF(fixture, READY);
        assert_int_equal(
            backend->functions->start(backend, &order, &fixture->place, &fixture->docker->err), 0);
        assert_json_at(fake_engine_body(fixture->docker->engine, "POST /containers/create", NULL),
                       "HostConfig.NanoCpus", cases[i].given);
    }
}

static void podman_gets_what_it_understands(void **state)
{
    struct start_fixture *fixture = *state;
    const char *body = NULL;

    fixture->docker->docker->is_podman = true;
    fixture->docker->docker->limits_layers = true;
    fixture->docker->docker->settings.profile.disk_bytes = 5000;
    LOG_OF(fixture, READY);
    assert_int_equal(start(fixture), 0);
    body = fake_engine_body(fixture->docker->engine, "POST /containers/create", NULL);
    assert_non_null(strstr(body, "\"seccomp=/etc/seccomp\""));
    assert_non_null(strstr(body, "30000"));
    assert_null(strstr(body, ",uid="));
    assert_json_at(body, "HostConfig.StorageOpt.size", "\"5000\"");
}

static void network_is_made_if_none_is_ready(void **state)
{
    struct start_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf facts = STRBUF_INIT;
    char taken[PREALLOC_NAME_BYTES] = "";

    assert_true(prealloc_take(fixture->docker->docker->prealloc, PREALLOC_NETWORK, taken));
    fake_engine_set(fixture->docker->engine, "POST /networks/create", 500, NULL);
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture),
                        "creating a network: the container engine replied 500: nothing");
    assert_int_equal(fake_engine_count(fixture->docker->engine, "POST /containers"), 0);
    assert_int_equal(fake_engine_count(fixture->docker->engine, "DELETE "), 0);
    fake_engine_set(fixture->docker->engine, "POST /networks/create", 201, NULL);
    LOG_OF(fixture, READY);
    assert_int_equal(start(fixture), -1); /* it has no address in that network */
    assert_int_equal(fake_engine_count(fixture->docker->engine, "POST /containers/c-1/start"), 1);
}

static void container_left_by_a_crash_is_replaced(void **state)
{
    struct start_fixture *fixture = *state;

    fake_engine_add(
        fixture->docker->engine,
        &(struct engine_reply){.request = "POST /containers/create", .status = 409, .n_times = 1});
    LOG_OF(fixture, READY);
    assert_int_equal(start(fixture), 0);
    assert_asked(fixture->docker,
                 "GET /images/img/json;POST /containers/create?name=inst-r-1;"
                 "DELETE /containers/inst-r-1?force=1&v=1;POST /containers/create?name=inst-r-1;"
                 "POST /containers/c-1/start;GET /containers/c-1/"
                 "logs?stdout=1&stderr=1&follow=1;GET /containers/c-1/json;");
    fake_engine_set(fixture->docker->engine, "POST /containers/create", 409, NULL);
    fake_engine_set(fixture->docker->engine, "DELETE /containers/", 500, "{\"message\":\"busy\"}");
    docker_add_ready(fixture->docker, "n-1", "h-1");
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), "removing container inst-r-1: the container engine "
                                             "replied 500: busy");
}

static void image_that_went_is_pulled(void **state)
{
    struct start_fixture *fixture = *state;

    fake_engine_add(
        fixture->docker->engine,
        &(struct engine_reply){.request = "POST /containers/create", .status = 404, .n_times = 1});
    fake_engine_set(fixture->docker->engine, "POST /images/create", 200, NULL);
    LOG_OF(fixture, READY);
    assert_int_equal(start(fixture), 0);
    assert_int_equal(fake_engine_count(fixture->docker->engine, "POST /containers/create"), 2);
    fake_engine_set(fixture->docker->engine, "POST /containers/create", 404, NULL);
    fake_engine_set(fixture->docker->engine, "POST /images/create", 500, "{\"message\":\"gone\"}");
    docker_add_ready(fixture->docker, "n-1", "h-1");
    fake_engine_forget(fixture->docker->engine);
    assert_int_equal(start(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_NOT_FOUND);
    assert_asked(fixture->docker, "POST /containers/create?name=inst-r-1;"
                                  "POST /images/create?fromImage=img&tag=latest;" UNDONE);
}

static void image_for_another_host_is_refused_before_anything_is_made(void **state)
{
    struct start_fixture *fixture = *state;

    fake_engine_set(fixture->docker->engine, "GET /images/img/json", 200, "{\"Os\":\"windows\"}");
    assert_int_equal(start(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_UNSUPPORTED);
    assert_asked(fixture->docker, "GET /images/img/json;");
}

static void refusal_of_the_engine_is_explained(void **state)
{
    static const struct {
        const char *request;
        const char *reply;
        const char *message;
    } cases[] = {
        {"POST /containers/create", "{\"message\":\"unknown runtime specified x\"}",
         "the container engine has no such runtime (DEFT_SANDBOX_OCI_RUNTIME): the container "
         "engine replied 500: unknown runtime specified x"},
        {"POST /containers/create", "{\"message\":\"odd\"}",
         "the container engine replied 500: odd"},
        {"POST /containers/c-1/start", "{\"message\":\"exec format error\"}",
         "deft-action or the image is built for another processor architecture: the container "
         "engine replied 500: exec format error"},
        {"POST /containers/c-1/start", "{\"message\":\"odd\"}",
         "the container engine replied 500: odd"},
    };
    struct start_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_set(fixture->docker->engine, "POST /containers/create", 201,
                        "{\"Id\":\"c-1\"}");
        fake_engine_set(fixture->docker->engine, cases[i].request, 500, cases[i].reply);
        fake_engine_forget(fixture->docker->engine);
        assert_int_equal(start(fixture), -1);
        assert_string_equal(message_of(fixture), cases[i].message);
        assert_int_equal(
            fake_engine_count(fixture->docker->engine, "DELETE /containers/inst-r-1?force=1&v=1"),
            1);
        assert_int_equal(prealloc_n_ready(fixture->docker->docker->prealloc, PREALLOC_NETWORK), 1);
    }
}

static void sandbox_that_ends_tells_its_last_line(void **state)
{
    static const char state_of_end[] = "{\"State\":{\"ExitCode\":2}}";
    struct start_fixture *fixture = *state;
    char line[200] = "";
    char expected[300] = "";

    fake_engine_set(fixture->docker->engine, "GET /containers/c-1/json", 200, state_of_end);
    LOG_OF(fixture, "first\n", "the last\r\n\n");
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), "the sandbox ended with exit code 2: the last");
    assert_asked(fixture->docker, UNTIL_LOGS "GET /containers/c-1/json;" UNDONE);
    LOG_OF(fixture, "only");
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), "the sandbox ended with exit code 2: only");
    LOG_OF(fixture, "\n");
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), "the sandbox ended with exit code 2");
    memset(line, 'x', 124);
    LOG_OF(fixture, line);
    assert_int_equal(start(fixture), -1);
    (void)snprintf(expected, sizeof(expected), "the sandbox ended with exit code 2: %.119s", line);
    assert_string_equal(message_of(fixture), expected);
    line[119] = '\0';
    LOG_OF(fixture, line);
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), expected);
}

/* The line may be in the middle of a word of a program. */
static void only_the_servers_own_line_counts(void **state)
{
    struct start_fixture *fixture = *state;

    fake_engine_set(fixture->docker->engine, "GET /containers/c-1/json", 200,
                    "{\"State\":{\"ExitCode\":0}}");
    LOG_OF(fixture, "x{\"event\":\"ready\"}\n[1]\n",
           "{\"event\":\"begun\"}\n{\"event\":\"ready\"}");
    assert_int_equal(start(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_UNAVAILABLE);
}

static void sandbox_must_be_ready_in_time(void **state)
{
    static const char *const lines[] = {"wait\n"};
    struct start_fixture *fixture = *state;

    fixture->docker->docker->settings.ready_ms = 50;
    play_log(fixture, lines, 1, true);
    assert_int_equal(start(fixture), -1);
    assert_int_equal(fixture->docker->err.code, ERROR_TIMEOUT);
    assert_int_equal(strncmp(message_of(fixture), "the sandbox did not get ready: ", 31), 0);
    assert_asked(fixture->docker, UNTIL_LOGS UNDONE);
}

static void sandbox_without_address_has_ended(void **state)
{
    struct start_fixture *fixture = *state;

    LOG_OF(fixture, READY);
    fake_engine_set(fixture->docker->engine, "GET /containers/c-1/json", 200,
                    "{\"State\":{\"ExitCode\":5},\"NetworkSettings\":{\"Networks\":{\"n-1\":{"
                    "\"IPAddress\":\"\"}}}}");
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), "the sandbox ended with exit code 5");
    fake_engine_set(fixture->docker->engine, "GET /containers/c-1/json", 500, NULL);
    assert_int_equal(start(fixture), -1);
    assert_string_equal(message_of(fixture), "the container engine replied 500: nothing");
}

/* The network is still used: it is not given to another sandbox. */
static void network_of_a_container_that_stays_is_not_reused(void **state)
{
    struct start_fixture *fixture = *state;

    fake_engine_set(fixture->docker->engine, "POST /containers/c-1/start", 500, NULL);
    fake_engine_set(fixture->docker->engine, "DELETE /containers/", 500, NULL);
    assert_int_equal(start(fixture), -1);
    assert_false(docker_knows(fixture->docker, PREALLOC_NETWORK, "n-1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int docker_start_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(started_sandbox_has_an_address),
        TEST(container_is_made_of_this_instances_objects),
        TEST(processors_are_at_most_the_hosts),
        TEST(podman_gets_what_it_understands),
        TEST(network_is_made_if_none_is_ready),
        TEST(container_left_by_a_crash_is_replaced),
        TEST(image_that_went_is_pulled),
        TEST(image_for_another_host_is_refused_before_anything_is_made),
        TEST(refusal_of_the_engine_is_explained),
        TEST(sandbox_that_ends_tells_its_last_line),
        TEST(only_the_servers_own_line_counts),
        TEST(sandbox_must_be_ready_in_time),
        TEST(sandbox_without_address_has_ended),
        TEST(network_of_a_container_that_stays_is_not_reused),
    };

    return cmocka_run_group_tests_name("runtime/docker/container_start", tests, NULL, NULL);
}
