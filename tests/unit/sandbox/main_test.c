/*
 * deft-action as a process: what it needs to start, says, hides from the sandbox's programs, and
 * how it ends.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/json_path.h"
#include "support/program.h"

#ifndef DEFT_ACTION /* for tools that read this file alone */
#define DEFT_ACTION "./deft-action"
#endif

enum { REPLY_MAX_BYTES = 64 * 1024 };

#define KEY "a-key-of-the-test"
#define INIT_KEY "an-init-key-of-the-test"

static const char *const variables[] = {
    "SESSION_API_KEY",       "DEFT_ACTION_INIT_KEY", "DEFT_ACTION_PORT",      "DEFT_ACTION_BIND",
    "DEFT_ACTION_WORKSPACE", "DEFT_ACTION_JOURNAL",  "OH_SESSION_API_KEYS_0", "DEFT_ACTION_OPEN",
    "SESSION_API_KEYS",      "NAME_AS_LONG_15"};

struct fixture {
    char folder[32];
    char workspace[64];
    struct program program;
    int port;
};

static void set(const char *name, const char *value)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    assert_int_equal(setenv(name, value, 1), 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);

    (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/deft-main-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    (void)snprintf(fixture->workspace, sizeof(fixture->workspace), "%s/new/work", fixture->folder);
    set("DEFT_ACTION_PORT", "0");
    set("DEFT_ACTION_BIND", "127.0.0.1");
    set("DEFT_ACTION_WORKSPACE", fixture->workspace);
    set("DEFT_ACTION_JOURNAL", fixture->folder);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf complaint = STRBUF_INIT;
    char *const argv[] = {(char *)(uintptr_t)"/bin/rm", (char *)(uintptr_t)"-rf", fixture->folder,
                          NULL};

    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): as above */
        (void)unsetenv(variables[i]);
    assert_int_equal(program_run(argv, &out, &complaint), 0);
    mem_free(fixture);
    return 0;
}

/* Starts it and reads its port from the line that it prints then. */
static void start(struct fixture *fixture)
{
    char path[] = DEFT_ACTION;
    char *const argv[] = {path, NULL};
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *ready = NULL;
    char c = '\0';

    fixture->program = program_start(argv);
    while (c != '\n' && read(fixture->program.out_fd, &c, 1) == 1)
        strbuf_append_char(&line, c);
    ready = json_loads(line.text, 0, NULL);
    assert_string_equal(json_text_or(ready, "event", ""), "ready");
    assert_int_equal(json_int_or(ready, "pid", 0), fixture->program.pid);
    assert_true(json_int_or(ready, "start_us", -1) > 0);
    assert_true(json_string_length(json_object_get(ready, "version")) > 0);
    assert_int_equal(json_object_size(ready), 5);
    fixture->port = (int)json_int_or(ready, "port", 0);
    assert_in_range(fixture->port, 1, 65535);
}

static void stop(struct fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf complaint = STRBUF_INIT;

    assert_int_equal(kill(fixture->program.pid, SIGTERM), 0);
    assert_int_equal(program_wait(&fixture->program, &out, &complaint), 0);
}

/* Sends a request and reads its reply's status and body. */
static int ask(const struct fixture *fixture, const char *line, const char *headers,
               const char *body, struct strbuf *body_out)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)fixture->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *reply = mem_alloc(REPLY_MAX_BYTES);
    struct error err = ERROR_INIT;
    const char *at = NULL;
    size_t len = 0;
    ssize_t n = 1;

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    strbuf_appendf(&text,
                   "%s HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n%s"
                   "Content-Length: %zu\r\n\r\n%s",
                   line, headers, strlen(body), body);
    assert_int_equal(fd_write_all(fd, text.text, text.len, &err), 0);
    while (n > 0 && len < REPLY_MAX_BYTES - 1) {
        n = read(fd, reply + len, REPLY_MAX_BYTES - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    reply[len] = '\0';
    at = strstr(reply, "\r\n\r\n");
    assert_non_null(at);
    strbuf_reset(body_out);
    strbuf_append(body_out, at + 4);
    return (int)strtol(reply + strlen("HTTP/1.1 "), NULL, 10);
}

/* Whether a file of /proc about the server contains a text; false also where it cannot be read. */
static bool proc_has(const struct fixture *fixture, const char *name, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    char bytes[4096];
    ssize_t n = 0;

    strbuf_appendf(&path, "/proc/%d/%s", (int)fixture->program.pid, name);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (n = read(fd, bytes, sizeof(bytes)); n > 0; n = read(fd, bytes, sizeof(bytes)))
        strbuf_append_bytes(&found, bytes, (size_t)n);
    return memmem(found.text, found.len, text, strlen(text)) != NULL;
}

static void it_serves_with_its_key_and_ends_when_asked(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct stat info;

    set("SESSION_API_KEY", KEY);
    start(fixture);
    assert_int_equal(stat(fixture->workspace, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(ask(fixture, "GET /alive", "", "", &body), 200);
    assert_int_equal(ask(fixture, "POST /editor/status", "", "", &body), 401);
    assert_int_equal(
        ask(fixture, "POST /editor/status", "X-Session-API-Key: " KEY "\r\n", "", &body), 200);
    assert_int_equal(ask(fixture, "GET /server_info", "X-Session-API-Key: " KEY "\r\n", "", &body),
                     200);
    stop(fixture);
}

/* Root may read everything of a process; so what is erased is looked for. */
static void keys_are_hidden_from_programs(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    set("SESSION_API_KEY", KEY);
    set("DEFT_ACTION_INIT_KEY", INIT_KEY);
    /* Others stay, whatever they share with those that are hidden. */
    set("SESSION_API_KEYS", "kept");
    set("NAME_AS_LONG_15", "kept-too");
    start(fixture);
    assert_false(proc_has(fixture, "environ", KEY));
    assert_false(proc_has(fixture, "environ", INIT_KEY));
    if (geteuid() == 0)
        assert_true(proc_has(fixture, "environ", "DEFT_ACTION_WORKSPACE="));
    assert_int_equal(
        ask(fixture, "POST /api/bash/execute_bash_command", "X-Session-API-Key: " KEY "\r\n",
            "{\"command\":\"echo \\\"<$SESSION_API_KEY$DEFT_ACTION_INIT_KEY$DEFT_ACTION_PORT>"
            "$SESSION_API_KEYS $NAME_AS_LONG_15 ${#OH_SESSION_API_KEYS_0}\\\"\"}",
            &body),
        200);
    assert_non_null(strstr(body.text, "\"<>kept kept-too "));
    assert_null(strstr(body.text, "kept-too 0"));
    stop(fixture);
    /* A key of the image stays. */
    set("OH_SESSION_API_KEYS_0", "given");
    start(fixture);
    assert_int_equal(ask(fixture, "POST /api/bash/execute_bash_command",
                         "X-Session-API-Key: " KEY "\r\n",
                         "{\"command\":\"echo $OH_SESSION_API_KEYS_0\"}", &body),
                     200);
    assert_json_at(body.text, "stdout", "\"given\\n\"");
    stop(fixture);
}

static void orphans_and_signals_do_not_end_it(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;

    set("SESSION_API_KEY", KEY);
    start(fixture);
    assert_int_equal(kill(fixture->program.pid, SIGPIPE), 0);
    assert_int_equal(kill(fixture->program.pid, SIGXFSZ), 0);
    /* What outlives its parent becomes the server's child: field 4 of stat is the parent. */
    strbuf_appendf(&command,
                   "{\"command\":\"(sh -c 'while read -r s < /proc/$$/stat && set -- $s && "
                   "[ $4 != %d ]; do sleep 0.01; done; echo > orphan' &); "
                   "while [ ! -e orphan ]; do sleep 0.01; done; echo seen\"}",
                   (int)fixture->program.pid);
    assert_int_equal(ask(fixture, "POST /api/bash/execute_bash_command",
                         "X-Session-API-Key: " KEY "\r\n", command.text, &body),
                     200);
    assert_json_at(body.text, "stdout", "\"seen\\n\"");
    stop(fixture);
}

static void without_a_key_it_does_not_start(void **state)
{
    char path[] = DEFT_ACTION;
    char *const argv[] = {path, NULL};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf complaint = STRBUF_INIT;

    (void)state;
    assert_int_not_equal(program_run(argv, &out, &complaint), 0);
    assert_string_equal(out.text, "");
    assert_non_null(strstr(complaint.text, "SESSION_API_KEY is not set; DEFT_ACTION_OPEN=1 serves "
                                           "without a key"));
    strbuf_reset(&complaint);
    set("SESSION_API_KEY", KEY);
    set("DEFT_ACTION_BIND", "no-address");
    assert_int_not_equal(program_run(argv, &out, &complaint), 0);
    assert_string_equal(out.text, "");
    assert_true(complaint.len > 0);
}

static void init_brings_the_key(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    set("DEFT_ACTION_INIT_KEY", INIT_KEY);
    start(fixture);
    assert_int_equal(ask(fixture, "GET /api/init", "", "", &body), 200);
    assert_json_at(body.text, "", "{\"state\":\"dormant\",\"error\":null}");
    assert_int_equal(ask(fixture, "POST /api/init", "X-Init-API-Key: " INIT_KEY "\r\n",
                         "{\"session_api_keys\":[\"" KEY "\"],\"env\":{\"X\":\"given\"}}", &body),
                     200);
    assert_json_at(body.text, "", "{\"state\":\"ready\",\"error\":null}");
    assert_int_equal(ask(fixture, "POST /api/bash/execute_bash_command",
                         "X-Session-API-Key: " KEY "\r\n", "{\"command\":\"echo $X\"}", &body),
                     200);
    assert_json_at(body.text, "stdout", "\"given\\n\"");
    stop(fixture);
}

#define NEEDS_INIT_KEY "X-Init-API-Key: " INIT_KEY "\r\n"

static void init_that_is_wrong_changes_nothing(void **state)
{
    static const struct {
        const char *headers;
        const char *body;
        int status;
        const char *path;
        const char *value;
    } cases[] = {
        {"", "{\"session_api_keys\":[\"" KEY "\"]}", 401, "detail", "\"Unauthorized\""},
        {"X-Init-API-Key: other\r\n", "{}", 401, "detail", "\"Unauthorized\""},
        {NEEDS_INIT_KEY, "{", 422, "detail[0].type", "\"json_invalid\""},
        {NEEDS_INIT_KEY, "{", 422, "detail[0].loc", "[\"body\"]"},
        {NEEDS_INIT_KEY, "{}", 422, "detail[0]",
         "{\"type\":\"value_error\",\"loc\":[\"body\",\"session_api_keys\"],\"msg\":\"Input "
         "should be a list with one key\",\"input\":null}"},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\",\"b\"]}", 422, "detail[0].loc[1]",
         "\"session_api_keys\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"\"]}", 422, "detail[0].loc[1]",
         "\"session_api_keys\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[7]}", 422, "detail[0].loc[1]",
         "\"session_api_keys\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"proof_key\":\"\"}", 422, "detail[0].msg",
         "\"Input should be a key\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"proof_key\":7}", 422, "detail[0].loc[1]",
         "\"proof_key\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"env\":[]}", 422, "detail[0].loc[1]",
         "\"env\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"env\":{\"A\":1}}", 422, "detail[0].msg",
         "\"Input should be an object of strings\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"env\":{\"\":\"x\"}}", 422,
         "detail[0].loc[1]", "\"env\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"env\":{\"A=B\":\"x\"}}", 422,
         "detail[0].loc[1]", "\"env\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"a\"],\"env\":{},\"other\":1}", 422, "detail[0]",
         "{\"type\":\"value_error\",\"loc\":[\"body\"],\"msg\":\"Input should have no other "
         "members\",\"input\":null}"},
        {"", "", 200, "state", "\"dormant\""}, /* GET */
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"" KEY "\"],\"env\":{},\"proof_key\":\"p\"}", 200,
         "state", "\"ready\""},
        {NEEDS_INIT_KEY, "{\"session_api_keys\":[\"" KEY "\"]}", 400, "detail",
         "\"server already in state: ready\""},
        {"", "", 200, "state", "\"ready\""}, /* GET */
    };
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    set("DEFT_ACTION_INIT_KEY", INIT_KEY);
    start(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *line = cases[i].body[0] != '\0' ? "POST /api/init" : "GET /api/init";

        assert_int_equal(ask(fixture, line, cases[i].headers, cases[i].body, &body),
                         cases[i].status);
        assert_json_at(body.text, cases[i].path, cases[i].value);
    }
    stop(fixture);
}

static void options_are_answered(void **state)
{
    static const struct {
        const char *option;
        int status;
        const char *out;
    } cases[] = {
        {"--help", 0, "Usage: deft-action [--help | --help-config | --version]\n"},
        {"--help-config", 0, "DEFT_ACTION_WORKSPACE"},
        {"--version", 0, "deft-action "},
        {"--other", 2, ""},
    };
    char path[] = DEFT_ACTION;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *const argv[] = {path, (char *)(uintptr_t)cases[i].option, NULL};
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf complaint = STRBUF_INIT;

        assert_int_equal(program_run(argv, &out, &complaint) != 0, cases[i].status != 0);
        assert_non_null(strstr(out.text, cases[i].out));
        assert_int_equal(out.len == 0, cases[i].status != 0);
    }
    {
        /* Git's credential helper, without a server: it has nothing to say. */
        char *const argv[] = {path, (char *)(uintptr_t)"git-credential", (char *)(uintptr_t)"store",
                              NULL};
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf complaint = STRBUF_INIT;

        assert_int_equal(program_run(argv, &out, &complaint), 0);
        assert_string_equal(out.text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_serves_with_its_key_and_ends_when_asked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(keys_are_hidden_from_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(orphans_and_signals_do_not_end_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_key_it_does_not_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(init_brings_the_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(init_that_is_wrong_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_are_answered, set_up, tear_down),
    };

    json_setup();
    return cmocka_run_group_tests_name("deft-action", tests, NULL, NULL);
}
