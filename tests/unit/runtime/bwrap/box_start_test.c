/*
 * A sandbox's life as a process: start, pause, end, and failures on the way.
 */
#include "runtime/bwrap/box_start.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "model/conversation/preview.h"
#include "runtime/backend/backend.h"
#include "runtime/bwrap/box.h"
#include "runtime/bwrap/box_end.h"
#include "runtime/bwrap/host_prepare.h"
#include "runtime/bwrap/process_tree.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

static const struct sandbox_config order = {.runtime_id = TEST_RUNTIME,
                                            .session_id = "",
                                            .conversation_id = "",
                                            .image = "own.example/x",
                                            .home = TEST_HOME};

static void start(struct bwrap_fixture *fixture, struct started_sandbox *place)
{
    if (fixture->backend->functions->start(fixture->backend, &order, place, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
}

/* Nothing is left of a failed start. */
static void assert_fails(struct bwrap_fixture *fixture, enum error_code code, const char *message)
{
    struct started_sandbox place = {.url = "as before"};
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};

    assert_int_equal(
        fixture->backend->functions->start(fixture->backend, &order, &place, &fixture->err), -1);
    assert_int_equal(fixture->err.code, code);
    assert_string_equal(fixture->err.message, message);
    assert_string_equal(place.url, "as before");
    assert_int_equal(box_list(fixture->host, &list, &fixture->err), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(fixture->host->n_watched, 0);
}

static pid_t first_of(struct bwrap_fixture *fixture, const char *box)
{
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open(fixture->host, box, &pidfd, &pid, &fixture->err) < 0)
        fail_msg("%s", fixture->err.message);
    return pid;
}

static bool is_alive(pid_t pid)
{
    struct process_entry entry = {.pid = 0};

    return process_entry_read(pid, &entry) && entry.state != 'Z';
}

static bool has_line(const struct strbuf *text, const char *line)
{
    CLEANUP(strbuf_done) struct strbuf wanted = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;

    strbuf_appendf(&wanted, "\n%s\n", line);
    strbuf_appendf(&whole, "\n%s", text->text);
    return strstr(whole.text, wanted.text) != NULL;
}

static void started_sandbox_is_described(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    struct started_sandbox other = {.url = ""};
    long port = 0;

    start(fixture, &place);
    assert_true(text_starts_with(place.container_id, TEST_RUNTIME "-"));
    assert_int_equal(strlen(place.container_id), strlen(TEST_RUNTIME "-") + 8);
    assert_true(text_starts_with(place.url, "http://127.0.0.1:"));
    port = strtol(place.url + strlen("http://127.0.0.1:"), NULL, 10);
    assert_in_range(port, 1, 65535);
    assert_string_equal(place.network, "");
    assert_string_equal(place.image_id, "host");
    assert_true(strlen(place.init_key) >= 32);
    assert_int_equal(fixture->host->n_watched, 1);
    assert_string_equal(fixture->host->watched[0].box, place.container_id);
    assert_true(fixture->host->watched[0].is_child);
    /* A start of the same runtime ends the earlier one. */
    start(fixture, &other);
    assert_string_not_equal(other.container_id, place.container_id);
    assert_string_not_equal(other.init_key, place.init_key);
    assert_int_equal(
        box_open(fixture->host, place.container_id, &(int){-1}, &(pid_t){0}, &fixture->err), -1);
    assert_true(is_alive(first_of(fixture, other.container_id)));
}

static void server_learns_its_facts_from_its_environment(void **state)
{
    static const char *const lines[] = {
        "LANG=C.UTF-8",
        "HOME=/home/deft",
        "HOSTNAME=sandbox",
        "DEFT_ACTION_SAVE_DIR=/workspace/.openhands/outputs",
        ("RUNTIME_ID=" TEST_RUNTIME),
        "DEFT_ACTION_SOCKET=3",
        "DEFT_ACTION_PREVIEW_SOCKET=6",
        "DEFT_ACTION_BIND=127.0.0.1",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    };
    CLEANUP(strbuf_done) struct strbuf environment = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};

    start(fixture, &place);
    bwrap_read_seen(fixture, "environment", &environment);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        if (!has_line(&environment, lines[i]))
            fail_msg("no %s", lines[i]);
    }
    strbuf_appendf(&key, "DEFT_ACTION_INIT_KEY=%s", place.init_key);
    assert_true(has_line(&environment, key.text));
    /* Every user of the host can read the arguments. */
    bwrap_read_seen(fixture, "arguments", &arguments);
    assert_null(strstr(arguments.text, place.init_key));
    assert_true(text_ends_with(arguments.text, "\n--\n/.deft/deft-action\n"));
}

static void command_mounts_the_home_and_the_shared_files(void **state)
{
    static const struct {
        const char *from; /* below the settings' folder */
        const char *to;
    } mounts[] = {{"homes/" TEST_HOME "/workspace", "/workspace"},
                  {"homes/" TEST_HOME "/journal", "/.deft-j"},
                  {"homes/" TEST_HOME "/user", "/home/deft"}};
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf shared = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};

    start(fixture, &place);
    bwrap_read_seen(fixture, "arguments", &arguments);
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
        CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;

        strbuf_appendf(&lines, "--bind\n%s/%s\n%s", fixture->state, mounts[i].from, mounts[i].to);
        assert_true(has_line(&arguments, lines.text));
    }
    strbuf_appendf(&shared, "--ro-bind\n%s/fittings/%s\n/.deft", fixture->state,
                   fixture->host->agent_build);
    assert_true(has_line(&arguments, shared.text));
    assert_true(has_line(&arguments, "--unshare-net"));
    assert_true(has_line(&arguments, "--size\n5\n--perms\n1777\n--tmpfs\n/tmp"));
    assert_true(has_line(&arguments, "--size\n6\n--perms\n1777\n--tmpfs\n/dev/shm"));
    assert_false(has_line(&arguments, "--seccomp"));
}

static void filter_is_given_by_a_descriptor(void **state)
{
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};

    fixture->settings.seccomp_profile = "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}";
    bwrap_restart(fixture);
    /* Its files are not there yet. */
    assert_int_equal(
        fixture->backend->functions->start(fixture->backend, &order, &place, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNAVAILABLE);
    assert_true(text_ends_with(fixture->err.message, "filter: No such file or directory"));
    assert_int_equal(host_prepare(fixture->host, &fixture->err), 0);
    bwrap_play(fixture, "wc -c <&5 >&2\n" PLAY_SERVER);
    start(fixture, &place);
    bwrap_read_seen(fixture, "arguments", &arguments);
    assert_true(has_line(&arguments, "--seccomp\n5"));
    strbuf_appendf(&path, "boxes/%s/said", place.container_id);
    bwrap_read(fixture, path.text, &said);
    assert_true(strtol(said.text, NULL, 10) > 0);
}

/* The listening sockets are there from the start, the sandbox has no network but them. */
static bool connects(uint32_t host, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host)};
    CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static uint16_t port_of(const struct started_sandbox *place)
{
    return (uint16_t)strtoul(strrchr(place->url, ':') + 1, NULL, 10);
}

static void server_listens_for_actions_and_previews(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};

    start(fixture, &place);
    assert_true(connects(INADDR_LOOPBACK, port_of(&place)));
    assert_true(connects(PREVIEW_LOOPBACK, port_of(&place)));
    assert_int_equal(box_end(fixture->host, place.container_id, &fixture->err), 0);
    assert_false(connects(INADDR_LOOPBACK, port_of(&place)));
}

static void sandbox_in_the_hosts_network_has_no_preview_socket(void **state)
{
    CLEANUP(strbuf_done) struct strbuf environment = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};

    fixture->settings.network = "host";
    bwrap_restart(fixture);
    start(fixture, &place);
    bwrap_read_seen(fixture, "environment", &environment);
    assert_true(has_line(&environment, "DEFT_ACTION_PREVIEW_SOCKET=0"));
    assert_true(has_line(&environment, "DEFT_ACTION_BIND=none"));
    bwrap_read_seen(fixture, "arguments", &arguments);
    assert_false(has_line(&arguments, "--unshare-net"));
    assert_true(connects(INADDR_LOOPBACK, port_of(&place)));
    assert_false(connects(PREVIEW_LOOPBACK, port_of(&place)));
}

static void limits_are_those_of_the_settings(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};

    fixture->settings.disk_bytes = 512000;
    fixture->settings.oom_score_adj = 321;
    bwrap_restart(fixture);
    bwrap_play(fixture, "for i in n c u; do\n"
                        "  case $i in n) ulimit -n ;; c) ulimit -c ;; u) ulimit -f ;; esac\n"
                        "done >&2\n"
                        "grep processes /proc/self/limits | tr -s ' ' | cut -d' ' -f3 >&2\n"
                        "cat /proc/self/oom_score_adj >&2\n"
                        "id -u >&2\n" PLAY_SERVER);
    start(fixture, &place);
    strbuf_appendf(&path, "boxes/%s/said", place.container_id);
    bwrap_read(fixture, path.text, &text);
    strbuf_append(&expected, "64\n0\n1000\n");
    if (geteuid() != 0) {
        assert_true(text_starts_with(text.text, expected.text));
        return;
    }
    strbuf_append(&expected, "100\n321\n1900000001\n");
    assert_string_equal(text.text, expected.text);
}

static void only_the_default_image_is_started(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct sandbox_config other = order;
    struct started_sandbox place = {.url = ""};

    other.image = "own.example/y";
    assert_int_equal(
        fixture->backend->functions->start(fixture->backend, &other, &place, &fixture->err), -1);
    assert_int_equal(fixture->err.code, ERROR_UNSUPPORTED);
    assert_non_null(strstr(fixture->err.message, "the files of own.example/x: the image "
                                                 "own.example/y needs a container engine"));
}

static void start_that_ends_early_says_why(void **state)
{
    struct bwrap_fixture *fixture = *state;

    bwrap_play(fixture, "echo no such namespace >&2\nexit 1\n");
    assert_fails(fixture, ERROR_UNAVAILABLE, "the sandbox ended: no such namespace");
    bwrap_play(fixture, "echo '{\"exit-code\": 9}' >&4\necho oops >&2\n");
    assert_fails(fixture, ERROR_UNAVAILABLE, "the sandbox ended with exit code 9: oops");
    bwrap_play(fixture, PLAY_SERVER);
    (void)snprintf(fixture->err.message, sizeof(fixture->err.message), "none");
    start(fixture, &(struct started_sandbox){.url = ""});
}

static void start_that_does_not_get_ready_is_ended(void **state)
{
    struct bwrap_fixture *fixture = *state;

    fixture->settings.ready_ms = 1;
    bwrap_restart(fixture);
    bwrap_play(fixture, "exec sleep 600\n");
    assert_fails(fixture, ERROR_TIMEOUT, "the sandbox did not get ready");
}

static void readiness_may_arrive_in_parts(void **state)
{
    struct bwrap_fixture *fixture = *state;

    bwrap_play(fixture, "printf '{\"re'\nsleep 0.1\nprintf 'ady\": true}\\n'\n"
                        "exec \"$dir/deft-action\" 600\n");
    start(fixture, &(struct started_sandbox){.url = ""});
}

static void other_output_is_not_read_for_ever(void **state)
{
    struct bwrap_fixture *fixture = *state;

    bwrap_play(fixture, "head -c 100000 /dev/zero | tr '\\0' x\nexec sleep 600\n");
    assert_fails(fixture, ERROR_UNAVAILABLE, "the sandbox ended");
}

/* Removes the sandbox; the script tells how its server ended. */
static void assert_ends_with(struct bwrap_fixture *fixture, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf end = STRBUF_INIT;
    struct started_sandbox place = {.url = ""};
    pid_t pid = 0;

    start(fixture, &place);
    pid = first_of(fixture, place.container_id);
    assert_true(is_alive(pid));
    assert_int_equal(
        fixture->backend->functions->remove(fixture->backend, TEST_RUNTIME, NULL, &fixture->err),
        0);
    assert_false(is_alive(pid));
    bwrap_read_seen(fixture, "end", &end);
    assert_string_equal(end.text, expected);
}

static void server_is_asked_to_end_unless_it_has(void **state)
{
    struct bwrap_fixture *fixture = *state;

    bwrap_play(fixture, PLAY_SERVER "echo $code >\"$dir/seen/end\"\n");
    assert_ends_with(fixture, "143\n");
    bwrap_play(fixture, PLAY_START "echo '{\"exit-code\": 0}' >&4\n" PLAY_READY PLAY_END
                                   "echo $code >\"$dir/seen/end\"\n");
    assert_ends_with(fixture, "137\n");
}

static void boxes_of_other_runtimes_stay(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    pid_t pid = 0;

    start(fixture, &place);
    pid = first_of(fixture, place.container_id);
    assert_int_equal(boxes_end(fixture->host, "abcdefghijk", &fixture->err), 0);
    assert_int_equal(boxes_end(fixture->host, "", &fixture->err), 0);
    assert_true(is_alive(pid));
    assert_int_equal(boxes_end(fixture->host, TEST_RUNTIME, &fixture->err), 0);
    assert_false(is_alive(pid));
    assert_int_equal(boxes_end(fixture->host, TEST_RUNTIME, &fixture->err), 0);
}

static void paused_sandbox_is_seen_resumed_and_ended(void **state)
{
    struct bwrap_fixture *fixture = *state;
    const struct backend_functions *functions = fixture->backend->functions;
    struct backend *backend = fixture->backend;
    struct started_sandbox place = {.url = ""};
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    bool is_paused = true;
    pid_t pid = 0;

    start(fixture, &place);
    pid = first_of(fixture, place.container_id);
    assert_int_equal(functions->is_paused(backend, place.container_id, &is_paused, &fixture->err),
                     0);
    assert_false(is_paused);
    assert_int_equal(functions->pause(backend, place.container_id, &fixture->err), 0);
    assert_true(process_tree_is_stopped(pid));
    assert_int_equal(functions->is_paused(backend, place.container_id, &is_paused, &fixture->err),
                     0);
    assert_true(is_paused);
    assert_int_equal(functions->list(backend, &list, &fixture->err), 0);
    assert_int_equal(list.items[0].state, SEEN_PAUSED);
    assert_int_equal(functions->resume(backend, place.container_id, &fixture->err), 0);
    assert_false(process_tree_is_stopped(pid));
    assert_int_equal(functions->pause(backend, place.container_id, &fixture->err), 0);
    assert_int_equal(functions->remove_container(backend, place.container_id, &fixture->err), 0);
    assert_false(is_alive(pid));
    assert_int_equal(functions->pause(backend, place.container_id, &fixture->err), -1);
    assert_int_equal(functions->resume(backend, place.container_id, &fixture->err), -1);
    assert_int_equal(functions->is_paused(backend, place.container_id, &is_paused, &fixture->err),
                     -1);
    assert_true(is_paused);
}

static void sandbox_is_at_rest_without_programs(void **state)
{
    struct bwrap_fixture *fixture = *state;
    const struct backend_functions *functions = fixture->backend->functions;
    struct started_sandbox place = {.url = ""};
    bool is_at_rest = false;

    start(fixture, &place);
    assert_int_equal(
        functions->is_at_rest(fixture->backend, place.container_id, &is_at_rest, &fixture->err), 0);
    assert_true(is_at_rest);
    assert_int_equal(box_end(fixture->host, place.container_id, &fixture->err), 0);
    assert_int_equal(
        functions->is_at_rest(fixture->backend, place.container_id, &is_at_rest, &fixture->err),
        -1);
    assert_true(is_at_rest);
}

/* A guardian whose first process is not known: the start was interrupted. */
static void guardian_alone_is_ended(void **state)
{
    struct bwrap_fixture *fixture = *state;
    struct started_sandbox place = {.url = ""};
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    bwrap_play(fixture, "echo '{\"ready\": true}'\nexec \"$dir/deft-action\" 600\n");
    start(fixture, &place);
    assert_int_equal(
        box_open_guardian(fixture->host, place.container_id, &pidfd, &pid, &fixture->err), 0);
    assert_int_equal(box_end(fixture->host, place.container_id, &fixture->err), 0);
    assert_false(is_alive(pid));
    assert_false(bwrap_exists(fixture, "boxes/" TEST_RUNTIME));
}

int test_box_start(void)
{
    const struct CMUnitTest tests[] = {
        BWRAP_TEST(started_sandbox_is_described),
        BWRAP_TEST(server_learns_its_facts_from_its_environment),
        BWRAP_TEST(command_mounts_the_home_and_the_shared_files),
        BWRAP_TEST(filter_is_given_by_a_descriptor),
        BWRAP_TEST(server_listens_for_actions_and_previews),
        BWRAP_TEST(sandbox_in_the_hosts_network_has_no_preview_socket),
        BWRAP_TEST(limits_are_those_of_the_settings),
        BWRAP_TEST(only_the_default_image_is_started),
        BWRAP_TEST(start_that_ends_early_says_why),
        BWRAP_TEST(start_that_does_not_get_ready_is_ended),
        BWRAP_TEST(readiness_may_arrive_in_parts),
        BWRAP_TEST(other_output_is_not_read_for_ever),
        BWRAP_TEST(server_is_asked_to_end_unless_it_has),
        BWRAP_TEST(boxes_of_other_runtimes_stay),
        BWRAP_TEST(paused_sandbox_is_seen_resumed_and_ended),
        BWRAP_TEST(sandbox_is_at_rest_without_programs),
        BWRAP_TEST(guardian_alone_is_ended),
    };

    return cmocka_run_group_tests_name("runtime/box_start", tests, NULL, NULL);
}
