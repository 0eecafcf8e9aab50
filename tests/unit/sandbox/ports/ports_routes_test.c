/*
 * The routes for ports of programs and for the image's editor, which has one port of its own: where
 * another program has it already, the editor cannot be started by a test.
 */
#include "sandbox/ports/ports.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/secret.h"
#include "model/conversation/preview.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/tools_tests.h"

/* A listening socket; port 0: any. -1 when the port is taken. */
static int listen_on(in_addr_t host, int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(host)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
        fd_close(&fd);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);

    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

/* --- listening ports --- */

static bool is_listed(struct action_bench *bench, int port)
{
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, "POST /ports/listening", "", "{}");
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);
    const json_t *ports = json_object_get(body, "ports");
    const json_t *one = NULL;
    json_int_t before = 0;
    bool found = false;
    size_t i = 0;

    assert_int_equal(reply.status, 200);
    assert_true(json_is_array(ports));
    json_array_foreach (ports, i, one) {
        assert_true(json_integer_value(one) > before);
        before = json_integer_value(one);
        found = found || before == port;
    }
    return found;
}

static void ports_for_others_are_listed_without_our_own(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int open = listen_on(INADDR_ANY, 0);
    CLEANUP(fd_close) int closed = listen_on(INADDR_LOOPBACK, 0);
    int64_t own = bench->config.port;

    assert_true(is_listed(bench, port_of(open)));
    assert_false(is_listed(bench, port_of(closed)));
    assert_true(ports_has_listener(port_of(open)));
    assert_false(ports_has_listener(port_of(closed)));
    bench->config.port = port_of(open);
    assert_false(is_listed(bench, port_of(open)));
    bench->config.port = own;
    assert_false(ports_has_listener(0));
    assert_false(ports_has_listener(-1));
    assert_false(ports_has_listener(PORTS_MAX));
}

/* --- the editor --- */

/* The image's variable says where the editor is; the test's other programs stay in PATH. */
static void install_editor(struct action_bench *bench, const char *name, const char *script)
{
    bench_shell(bench, "rm -rf image");
    bench_write(bench, bench_text(bench, "image/bin/%s", name),
                bench_text(bench, "#!/bin/sh\n%s\n", script));
    bench_shell(bench, bench_text(bench, "chmod +x image/bin/%s", name));
    assert_int_equal(setenv("OPENVSCODE_SERVER_ROOT", bench_path(bench, "image"), 1), 0);
}

static int tear_down(void **state)
{
    (void)unsetenv("OPENVSCODE_SERVER_ROOT");
    return action_bench_tear_down(state);
}

static void editor_that_listens_is_described(void **state)
{
    struct action_bench *bench = *state;
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";
    CLEANUP(fd_close) int fd = listen_on(INADDR_ANY, PREVIEW_EDITOR_PORT);

    preview_editor_token(secret_reveal(&bench->config.api_key), token);
    install_editor(bench, "openvscode-server", "exit 1");
    assert_answers(bench, "POST /editor/status", "", "{}", 200, "",
                   "{\"program\":\"openvscode-server\",\"running\":true}");
    assert_answers(
        bench, "POST /editor/start", "", "{}", 200, "",
        bench_text(bench, "{\"program\":\"openvscode-server\",\"token\":\"%s\"}", token));
    install_editor(bench, "code-server", "exit 1");
    assert_answers(bench, "POST /editor/status", "", "{}", 200, "",
                   "{\"program\":\"code-server\",\"running\":true}");
    assert_answers(bench, "POST /editor/start", "", "{}", 200, "", "{\"program\":\"code-server\"}");
    /* A listener without an editor is another program. */
    install_editor(bench, "other", "");
    assert_answers(bench, "POST /editor/status", "", "{}", 200, "", "{\"running\":false}");
}

static void editor_that_ends_says_why(void **state)
{
    static const struct {
        const char *says;
        const char *detail;
    } cases[] = {
        {"echo first; echo 'no disk' >&2; echo; echo", "\"the editor ended: no disk\""},
        {"printf only", "\"the editor ended: only\""},
        {"", "\"the editor ended: \""},
    };
    struct action_bench *bench = *state;
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";

    if (ports_has_listener(PREVIEW_EDITOR_PORT))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        install_editor(bench, "openvscode-server",
                       bench_text(bench, "pwd >%s/image/pwd; echo \"$@\" >%s/image/args; %s",
                                  bench->workspace, bench->workspace, cases[i].says));
        assert_answers(bench, "POST /editor/start", "", "{}", 503, "detail", cases[i].detail);
    }
    preview_editor_token(secret_reveal(&bench->config.api_key), token);
    assert_file(bench, "image/args",
                bench_text(bench, "--host 0.0.0.0 --port %d --connection-token %s\n",
                           PREVIEW_EDITOR_PORT, token));
    assert_file(bench, "image/pwd", bench_text(bench, "%s\n", bench->workspace));
    install_editor(bench, "code-server",
                   bench_text(bench, "echo \"$@\" >%s/image/args", bench->workspace));
    assert_answers(bench, "POST /editor/start", "", "{}", 503, "detail", "\"the editor ended: \"");
    assert_file(bench, "image/args",
                bench_text(bench, "--bind-addr 0.0.0.0:%d --auth none --disable-telemetry\n",
                           PREVIEW_EDITOR_PORT));
    install_editor(bench, "code-server", "");
    bench_shell(bench, "echo '#!/none' >image/bin/code-server");
    assert_answers(bench, "POST /editor/start", "", "{}", 503, "detail",
                   bench_text(bench, "\"%s/image/bin/code-server: No such file or directory\"",
                              bench->workspace));
}

static void started_editor_is_waited_for(void **state)
{
    struct action_bench *bench = *state;

    if (ports_has_listener(PREVIEW_EDITOR_PORT))
        skip();
    install_editor(bench, "code-server",
                   bench_text(bench,
                              "echo $$ >%s/image/pid; exec python3 -c \""
                              "import socket, time; s = socket.socket(); "
                              "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
                              "s.bind(('0.0.0.0', %d)); s.listen(); time.sleep(1000)\"",
                              bench->workspace, PREVIEW_EDITOR_PORT));
    assert_answers(bench, "POST /editor/status", "", "{}", 200, "",
                   "{\"program\":\"code-server\",\"running\":false}");
    assert_answers(bench, "POST /editor/start", "", "{}", 200, "", "{\"program\":\"code-server\"}");
    assert_answers(bench, "POST /editor/status", "", "{}", 200, "",
                   "{\"program\":\"code-server\",\"running\":true}");
    bench_shell(bench, "kill -9 $(cat image/pid)");
}

#define EDITOR_TEST(name) cmocka_unit_test_setup_teardown(name, action_bench_set_up, tear_down)

int ports_routes_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(ports_for_others_are_listed_without_our_own),
        EDITOR_TEST(editor_that_listens_is_described),
        EDITOR_TEST(editor_that_ends_says_why),
        EDITOR_TEST(started_editor_is_waited_for),
    };

    return cmocka_run_group_tests_name("sandbox/ports_routes", tests, NULL, NULL);
}
