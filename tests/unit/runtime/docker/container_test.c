/*
 * Containers on the engine: removal, pause, processes, list, and why one ended.
 */
#include "runtime/docker/container.h"

#include <string.h>

#include "base/json.h"
#include "unit/runtime/docker/docker_fixture.h"

static const struct backend_functions *functions_of(const struct docker_fixture *fixture)
{
    return fixture->backend->functions;
}

static int remove_sandbox(struct docker_fixture *fixture, const char *network)
{
    fixture->err = (struct error)ERROR_INIT;
    return functions_of(fixture)->remove(fixture->backend, "abc", network, &fixture->err);
}

static void sandbox_goes_with_its_network(void **state)
{
    struct docker_fixture *fixture = *state;

    assert_int_equal(remove_sandbox(fixture, "a net"), 0);
    assert_asked(fixture, "DELETE /containers/inst-abc?force=1&v=1;DELETE /networks/a%20net;");
    assert_int_equal(remove_sandbox(fixture, ""), 0);
    assert_int_equal(remove_sandbox(fixture, NULL), 0);
    assert_asked(fixture, "DELETE /containers/inst-abc?force=1&v=1;"
                          "DELETE /containers/inst-abc?force=1&v=1;");
}

static void removed_container_need_not_be_there(void **state)
{
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "DELETE /containers/", 404, NULL);
    fake_engine_set(fixture->engine, "DELETE /networks/", 404, NULL);
    assert_int_equal(remove_sandbox(fixture, "n"), 0);
    fake_engine_set(fixture->engine, "DELETE /networks/", 500, NULL);
    assert_int_equal(remove_sandbox(fixture, "n"), -1);
    assert_string_equal(fixture->err.message,
                        "removing network n: the container engine replied 500: nothing");
    fake_engine_forget(fixture->engine);
    fake_engine_set(fixture->engine, "DELETE /containers/", 500, NULL);
    assert_int_equal(remove_sandbox(fixture, "n"), -1);
    assert_string_equal(fixture->err.message,
                        "removing container inst-abc: the container engine replied 500: nothing");
    assert_asked(fixture, "DELETE /containers/inst-abc?force=1&v=1;");
}

static void removal_by_another_is_waited_for(void **state)
{
    static const struct {
        int status;
        enum error_code code;
    } cases[] = {{200, ERROR_NONE}, {404, ERROR_NONE}, {500, ERROR_INTERNAL}};
    struct docker_fixture *fixture = *state;

    fake_engine_set(fixture->engine, "DELETE /containers/", 409, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fake_engine_set(fixture->engine, "POST /containers/inst-abc/wait", cases[i].status, "{}");
        assert_int_equal(remove_sandbox(fixture, ""), cases[i].code == ERROR_NONE ? 0 : -1);
        if (cases[i].code != ERROR_NONE)
            assert_string_equal(fixture->err.message,
                                "waiting for container inst-abc to go: the container engine "
                                "replied 500: nothing");
        assert_asked(fixture, "DELETE /containers/inst-abc?force=1&v=1;"
                              "POST /containers/inst-abc/wait?condition=removed;");
    }
}

static void network_is_forgotten_once_it_is_gone(void **state)
{
    struct docker_fixture *fixture = *state;

    docker_add_ready(fixture, "n", "h");
    fake_engine_set(fixture->engine, "DELETE /networks/", 409, NULL);
    assert_int_equal(remove_sandbox(fixture, "n"), -1);
    assert_true(docker_knows(fixture, PREALLOC_NETWORK, "n"));
    fake_engine_set(fixture->engine, "DELETE /networks/", 204, NULL);
    assert_int_equal(remove_sandbox(fixture, "n"), 0);
    assert_false(docker_knows(fixture, PREALLOC_NETWORK, "n"));
    assert_true(docker_knows(fixture, PREALLOC_HOME, "h"));
}

static void listed_container_is_removed_by_its_id(void **state)
{
    struct docker_fixture *fixture = *state;

    assert_int_equal(
        functions_of(fixture)->remove_container(fixture->backend, "c-9", &fixture->err), 0);
    assert_asked(fixture, "DELETE /containers/c-9?force=1&v=1;");
}

/* --- pause --- */

struct pause_case {
    int status;        /* of the engine's answer to the request */
    const char *state; /* the container's */
    enum error_code code;
};

static void assert_changes(struct docker_fixture *fixture,
                           int (*change)(struct backend *backend, const char *container_id,
                                         struct error *err),
                           const struct pause_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fake_engine_set(fixture->engine, "POST /containers/c-1/", cases[i].status,
                        "{\"message\":\"refused\"}");
        fake_engine_set(fixture->engine, "GET /containers/c-1/json",
                        cases[i].state != NULL ? 200 : 500, cases[i].state);
        fixture->err = (struct error)ERROR_INIT;
        assert_int_equal(change(fixture->backend, "c-1", &fixture->err),
                         cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(fixture->err.code, cases[i].code);
    }
}

#define RUNNING "{\"State\":{\"Running\":true,\"Paused\":false}}"
#define PAUSED "{\"State\":{\"Running\":true,\"Paused\":true}}"
#define STOPPED "{\"State\":{\"Running\":false,\"Paused\":false}}"

static void pause_succeeds_if_it_is_paused(void **state)
{
    static const struct pause_case pauses[] = {
        {204, RUNNING, ERROR_NONE},     {500, PAUSED, ERROR_NONE},   {409, RUNNING, ERROR_CONFLICT},
        {500, STOPPED, ERROR_INTERNAL}, {409, NULL, ERROR_INTERNAL},
    };
    static const struct pause_case resumes[] = {
        {204, PAUSED, ERROR_NONE},
        {500, RUNNING, ERROR_NONE},
        {409, PAUSED, ERROR_CONFLICT},
        {500, STOPPED, ERROR_INTERNAL},
    };
    struct docker_fixture *fixture = *state;

    assert_changes(fixture, functions_of(fixture)->pause, pauses, ARRAY_SIZE(pauses));
    assert_int_equal(fake_engine_count(fixture->engine, "POST /containers/c-1/pause"),
                     ARRAY_SIZE(pauses));
    assert_int_equal(fake_engine_count(fixture->engine, "GET /containers/c-1/json"), 4);
    assert_changes(fixture, functions_of(fixture)->resume, resumes, ARRAY_SIZE(resumes));
    assert_int_equal(fake_engine_count(fixture->engine, "POST /containers/c-1/unpause"),
                     ARRAY_SIZE(resumes));
}

static void pause_fails_without_the_engine(void **state)
{
    struct docker_fixture *fixture = *state;

    fixture->docker->engine.socket = "/nonexistent/socket";
    assert_int_equal(functions_of(fixture)->pause(fixture->backend, "c-1", &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
}

static void paused_container_is_seen(void **state)
{
    static const struct {
        const char *body;
        bool is_paused;
    } cases[] = {{RUNNING, false}, {PAUSED, true}, {STOPPED, false}, {"{}", false}};
    struct docker_fixture *fixture = *state;
    bool is_paused = false;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        is_paused = !cases[i].is_paused;
        fake_engine_set(fixture->engine, "GET /containers/c-1/json", 200, cases[i].body);
        assert_int_equal(
            functions_of(fixture)->is_paused(fixture->backend, "c-1", &is_paused, &fixture->err),
            0);
        assert_int_equal(is_paused, cases[i].is_paused);
    }
    fake_engine_set(fixture->engine, "GET /containers/c-1/json", 404, NULL);
    assert_int_equal(
        functions_of(fixture)->is_paused(fixture->backend, "c-1", &is_paused, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_NOT_FOUND);
}

/* --- processes --- */

#define INIT "[\"1\",\"0\",\"/sbin/docker-init -- /.deft/deft-action\"]"
#define SERVER "[\"7\",\"1\",\"/.deft/deft-action\"]"
#define SHELL "[\"8\",\"7\",\"/bin/bash -i\"]"
#define PROCESSES(...) "{\"Processes\":[" __VA_ARGS__ "]}"

static void container_rests_if_only_shells_wait(void **state)
{
    static const struct {
        const char *body;
        bool is_at_rest;
    } cases[] = {
        {PROCESSES(INIT "," SERVER), true},
        {PROCESSES("[\"1\",\"0\",\"/run/podman-init\"]," SERVER), true},
        {PROCESSES(INIT "," SERVER "," SHELL), true},
        {PROCESSES(INIT "," SERVER "," SHELL ",[\"9\",\"8\",\"/.deft/deft-action x\"]"), false},
        {PROCESSES(INIT "," SERVER ",[\"8\",\"7\",\"/bin/bash\"]"), false},
        {PROCESSES(INIT "," SERVER ",[\"8\",\"7\",\"sleep 100\"]"), false},
        {PROCESSES("[\"8\",\"7\",\"sleep 100\"]," INIT), false},
        {PROCESSES(INIT ",[\"8\",\"7\"]"), false},
        {PROCESSES(""), false},
        {"{}", false},
    };
    struct docker_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool is_at_rest = !cases[i].is_at_rest;

        fake_engine_set(fixture->engine, "GET /containers/c-1/top", 200, cases[i].body);
        assert_int_equal(
            functions_of(fixture)->is_at_rest(fixture->backend, "c-1", &is_at_rest, &fixture->err),
            0);
        if (is_at_rest != cases[i].is_at_rest)
            fail_msg("%s", cases[i].body);
    }
    fake_engine_forget(fixture->engine);
    fake_engine_set(fixture->engine, "GET /containers/c-1/top", 409, "{\"message\":\"stopped\"}");
    assert_int_equal(
        functions_of(fixture)->is_at_rest(fixture->backend, "c-1", &(bool){false}, &fixture->err),
        -1);
    assert_int_equal(fixture->err.code, ERROR_CONFLICT);
    assert_string_equal(fixture->err.message, "listing the processes of container c-1: the "
                                              "container engine replied 409: stopped");
    assert_asked(fixture, "GET /containers/c-1/top?ps_args=-o%20pid,ppid,args;");
}

/* --- the list --- */

static void list_says_what_rows_are_held_against(void **state)
{
    static const struct {
        const char *text;
        enum seen_state state;
    } states[] = {{"created", SEEN_CREATED},    {"running", SEEN_RUNNING},
                  {"restarting", SEEN_RUNNING}, {"paused", SEEN_PAUSED},
                  {"exited", SEEN_ENDED},       {"dead", SEEN_ENDED},
                  {"removing", SEEN_ENDED}};
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};

    strbuf_append(&body, "[{}");
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        strbuf_appendf(&body,
                       ",{\"Id\":\"c-%zu\",\"State\":\"%s\",\"Created\":%zu,"
                       "\"Labels\":{\"deft.runtime_id\":\"r-%zu\"}}",
                       i, states[i].text, 100 + i, i);
    strbuf_append(&body, "]");
    fake_engine_set(fixture->engine, "GET /containers/json", 200, body.text);
    assert_int_equal(functions_of(fixture)->list(fixture->backend, &list, &fixture->err), 0);
    assert_asked(fixture, "GET /containers/json?all=1&" FILTER_OURS ";");
    assert_int_equal(list.n, 1 + ARRAY_SIZE(states));
    assert_string_equal(list.items[0].runtime_id, "");
    assert_string_equal(list.items[0].container_id, "");
    assert_int_equal(list.items[0].created_at_s, 0);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        char id[8] = {'r', '-', (char)('0' + i), '\0'};

        assert_string_equal(list.items[1 + i].runtime_id, id);
        id[0] = 'c';
        assert_string_equal(list.items[1 + i].container_id, id);
        assert_int_equal(list.items[1 + i].state, states[i].state);
        assert_int_equal(list.items[1 + i].created_at_s, 100 + i);
        assert_false(list.items[1 + i].is_outdated);
    }
}

static void container_of_another_build_is_outdated(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};

    strbuf_appendf(&body,
                   "[{\"Mounts\":[{\"Destination\":\"/x\",\"Name\":\"y\"},"
                   "{\"Destination\":\"/.deft\",\"Name\":\"%s\"}]},"
                   "{\"Mounts\":[{\"Destination\":\"/.deft\",\"Name\":\"inst-action-0\"}]},"
                   "{\"Mounts\":[{\"Destination\":\"/workspace\",\"Name\":\"inst-action-0\"}]}]",
                   functions_of(fixture)->agent_build(fixture->backend));
    fake_engine_set(fixture->engine, "GET /containers/json", 200, body.text);
    assert_int_equal(functions_of(fixture)->list(fixture->backend, &list, &fixture->err), 0);
    assert_int_equal(list.n, 3);
    assert_false(list.items[0].is_outdated);
    assert_true(list.items[1].is_outdated);
    assert_false(list.items[2].is_outdated);
}

static void list_that_fails_is_no_empty_list(void **state)
{
    struct docker_fixture *fixture = *state;
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};

    fake_engine_set(fixture->engine, "GET /containers/json", 500, NULL);
    assert_int_equal(functions_of(fixture)->list(fixture->backend, &list, &fixture->err), -1);
    assert_string_equal(fixture->err.message,
                        "listing containers: the container engine replied 500: nothing");
    assert_int_equal(list.n, 0);
}

/* --- reasons --- */

static void end_is_explained(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *message;
    } cases[] = {
        {200, "{\"State\":{\"ExitCode\":137,\"OOMKilled\":true}}",
         "the sandbox ran out of memory and was ended"},
        {200, "{\"State\":{\"ExitCode\":1,\"Status\":\"removing\"}}",
         "the sandbox's container was removed"},
        {200, "{\"State\":{\"ExitCode\":1,\"Error\":\"a: exec format error\"}}",
         "deft-action or the image is built for another processor architecture: a: exec format "
         "error"},
        {200, "{\"State\":{\"ExitCode\":137}}", "the sandbox was killed (exit code 137)"},
        {200, "{\"State\":{\"ExitCode\":137,\"Error\":\"x\"}}",
         "the sandbox was killed (exit code 137)"},
        {200, "{\"State\":{\"ExitCode\":255}}",
         "the sandbox ended when the engine or the host did"},
        {200, "{\"State\":{\"ExitCode\":255,\"Error\":\"x\"}}",
         "the sandbox ended with exit code 255: x"},
        {200, "{\"State\":{\"ExitCode\":3}}", "the sandbox ended with exit code 3"},
        {200, "{\"State\":{\"ExitCode\":3,\"Error\":\"why\"}}",
         "the sandbox ended with exit code 3: why"},
        {200, "{}", "the sandbox ended with exit code -1"},
        {404, NULL, "the sandbox's container was removed"},
        {500, NULL, "the sandbox ended"},
    };
    struct docker_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error why = ERROR_INIT;

        fake_engine_set(fixture->engine, "GET /containers/c-1/json", cases[i].status,
                        cases[i].body);
        functions_of(fixture)->explain_end(fixture->backend, "c-1", &why);
        assert_string_equal(why.message, cases[i].message);
        assert_int_equal(why.code, ERROR_UNAVAILABLE);
    }
}

int docker_container_tests(void)
{
    const struct CMUnitTest tests[] = {
        DOCKER_TEST(sandbox_goes_with_its_network),
        DOCKER_TEST(removed_container_need_not_be_there),
        DOCKER_TEST(removal_by_another_is_waited_for),
        DOCKER_TEST(network_is_forgotten_once_it_is_gone),
        DOCKER_TEST(listed_container_is_removed_by_its_id),
        DOCKER_TEST(pause_succeeds_if_it_is_paused),
        DOCKER_TEST(pause_fails_without_the_engine),
        DOCKER_TEST(paused_container_is_seen),
        DOCKER_TEST(container_rests_if_only_shells_wait),
        DOCKER_TEST(list_says_what_rows_are_held_against),
        DOCKER_TEST(container_of_another_build_is_outdated),
        DOCKER_TEST(list_that_fails_is_no_empty_list),
        DOCKER_TEST(end_is_explained),
    };

    return cmocka_run_group_tests_name("runtime/docker/container", tests, NULL, NULL);
}
