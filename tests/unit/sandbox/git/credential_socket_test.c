/*
 * Which processes get a credential for git, and for which host.
 */
#include "sandbox/git/credential_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/git/credentials.h"
#include "unit/sandbox/sandbox_test.h"

enum { ANOTHER_UID = 65534 };

struct bench {
    struct event_loop *loop;
    struct credentials *credentials;
    struct credential_socket *listener;
    struct sockaddr_un address;
    socklen_t address_len;
};

static int set_up(void **state)
{
    static const struct credential_order order = {.origin = "https://git.example",
                                                  .username = "alice",
                                                  .password = "the-password",
                                                  .lifetime_ms = 3600000};
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;

    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    bench->credentials = credentials_new();
    assert_int_equal(credentials_keep(bench->credentials, &order, &err), 0);
    assert_int_equal(
        credential_socket_open(bench->loop, bench->credentials, &bench->listener, &err), 0);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    bench->address_len =
        credential_socket_address(getenv(CREDENTIAL_SOCKET_VARIABLE), &bench->address);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    credential_socket_close(bench->listener);
    credentials_free(bench->credentials);
    event_loop_free(bench->loop);
    mem_free(bench);
    return 0;
}

static int connect_to(const struct bench *bench)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&bench->address, bench->address_len), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until the server ends the connection. */
static void read_answer(struct bench *bench, int fd, struct strbuf *answer)
{
    char bytes[512];
    ssize_t n = -1;

    while (n != 0) {
        n = read(fd, bytes, sizeof(bytes));
        if (n > 0)
            strbuf_append_bytes(answer, bytes, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            event_loop_dispatch(bench->loop);
        else
            n = 0;
    }
}

static void assert_answer(struct bench *bench, const char *question, const char *part)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(fd_close) int fd = connect_to(bench);

    say(fd, question);
    read_answer(bench, fd, &answer);
    if (strstr(answer.text, part) == NULL)
        fail_msg("%s: %s", question, answer.text);
    if (strstr(part, "password=") == NULL)
        assert_null(strstr(answer.text, "the-password"));
}

static void credential_is_given_for_its_origin_alone(void **state)
{
    assert_answer(*state, "protocol=https\nhost=git.example\n\n",
                  "username=alice\npassword=the-password\n");
    assert_answer(*state, "host=git.example\nprotocol=https\npath=a/b\n\n",
                  "username=alice\npassword=the-password\n");
    assert_answer(*state, "protocol=http\nhost=git.example\n\n", "error=");
    assert_answer(*state, "protocol=https\nhost=git.example.org\n\n", "error=");
    assert_answer(*state, "protocol=https\nhost=git.example:8443\n\n", "error=");
    assert_answer(*state, "protocol=https\n\n", "");
    assert_answer(*state, "\n\n", "");
}

static void member_is_found_by_its_whole_name(void **state)
{
    assert_answer(*state, "protocols=ssh\nhostname=other\nprotocol=https\nhost=git.example\n\n",
                  "password=the-password\n");
    assert_answer(*state, "protocol=https\nhostname=git.example\nhost=other.example\n\n", "error=");
}

static void question_may_come_in_parts(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(fd_close) int fd = connect_to(bench);

    say(fd, "protocol=https\nho");
    event_loop_dispatch(bench->loop); /* accepts */
    event_loop_dispatch(bench->loop); /* reads */
    say(fd, "st=git.example\n\n");
    read_answer(bench, fd, &answer);
    assert_string_equal(answer.text, "username=alice\npassword=the-password\n");
}

/* The kernel reports the process that connected, not the later owner of the descriptor. */
static void another_user_gets_nothing(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    if (geteuid() != 0)
        skip();
    assert_int_equal(seteuid(ANOTHER_UID), 0);
    fd = connect_to(bench);
    assert_int_equal(seteuid(0), 0);
    say(fd, "protocol=https\nhost=git.example\n\n");
    read_answer(bench, fd, &answer);
    assert_string_equal(answer.text, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int credential_socket_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(credential_is_given_for_its_origin_alone),
        TEST(member_is_found_by_its_whole_name),
        TEST(question_may_come_in_parts),
        TEST(another_user_gets_nothing),
    };

    return cmocka_run_group_tests_name("sandbox/credential_socket", tests, NULL, NULL);
}
