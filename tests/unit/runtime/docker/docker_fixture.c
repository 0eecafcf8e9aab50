#include "unit/runtime/docker/docker_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/http.h"
#include "runtime/build/image_source.h"
#include "runtime/docker/docker_backend.h"

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void make_backend(struct docker_fixture *fixture)
{
    if (docker_backend_new(&fixture->settings, fixture->http, &fixture->backend, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    fixture->docker = (struct docker *)(void *)fixture->backend;
}

int docker_set_up(void **state)
{
    struct docker_fixture *fixture = NEW(struct docker_fixture);

    fixture->engine = fake_engine_start();
    fake_engine_set(fixture->engine, "POST /networks/create", 201, "{\"Id\":\"n\"}");
    fake_engine_set(fixture->engine, "POST /volumes/create", 201, "{}");
    fake_engine_set(fixture->engine, "POST /containers/create", 201, "{\"Id\":\"c-1\"}");
    fake_engine_set(fixture->engine, "PUT /containers/", 200, NULL);
    fake_engine_set(fixture->engine, "DELETE ", 204, NULL);
    fake_engine_set(fixture->engine, "GET /volumes?", 200, "{\"Volumes\":[]}");
    assert_int_equal(http_open(&fixture->http, &fixture->err), 0);
    (void)snprintf(fixture->action_path, sizeof(fixture->action_path), "%s.action",
                   fake_engine_socket(fixture->engine));
    (void)snprintf(fixture->bundle_path, sizeof(fixture->bundle_path), "%s.ca",
                   fake_engine_socket(fixture->engine));
    write_file(fixture->action_path, TEST_ACTION);
    fixture->settings = (struct docker_settings){.socket = fake_engine_socket(fixture->engine),
                                                 .api_version = "1.41",
                                                 .instance = "inst",
                                                 .action_binary = fixture->action_path,
                                                 .ca_bundle = "",
                                                 .subnets = "10.201.0.0/16",
                                                 .n_prealloc = 1,
                                                 .ready_ms = 20000,
                                                 .may_pull = 1,
                                                 .registries = IMAGE_SOURCE_DEFAULT,
                                                 .own_image = "own.example/x",
                                                 .build_ms = 60000,
                                                 .profile = {.memory_bytes = 1000,
                                                             .nano_cpus = 2000000000,
                                                             .n_pids = 10,
                                                             .tmp_bytes = 100,
                                                             .shm_bytes = 300,
                                                             .oci_runtime = "",
                                                             .seccomp_profile = "{}",
                                                             .seccomp_path = "/etc/seccomp"}};
    make_backend(fixture);
    *state = fixture;
    return 0;
}

int docker_tear_down(void **state)
{
    struct docker_fixture *fixture = *state;

    fixture->backend->functions->free(fixture->backend);
    fake_engine_release(fixture->engine);
    http_free(fixture->http);
    (void)unlink(fixture->action_path);
    (void)unlink(fixture->bundle_path);
    fake_engine_stop(fixture->engine);
    mem_free(fixture);
    return 0;
}

void docker_be_up(struct docker_fixture *fixture)
{
    lock_take(&fixture->docker->lock);
    fixture->docker->state = (struct error)ERROR_INIT;
    lock_release(&fixture->docker->lock);
}

void docker_restart(struct docker_fixture *fixture)
{
    fixture->backend->functions->free(fixture->backend);
    make_backend(fixture);
}

void docker_add_ready(struct docker_fixture *fixture, const char *network, const char *home)
{
    prealloc_add_ready(fixture->docker->prealloc, PREALLOC_NETWORK, network);
    prealloc_add_ready(fixture->docker->prealloc, PREALLOC_HOME, home);
}

bool docker_knows(const struct docker_fixture *fixture, enum prealloc_kind kind, const char *name)
{
    return prealloc_has(fixture->docker->prealloc, kind, name);
}

void assert_asked(struct docker_fixture *fixture, const char *expected)
{
    assert_string_equal(fake_engine_asked(fixture->engine), expected);
    fake_engine_forget(fixture->engine);
}
