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

enum { ANOTHER_UID = 65534, MOST_AT_ONCE = 32 };

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

/* It is cut off, whatever it holds. */
static void question_without_an_end_is_answered_at_its_limit(void **state)
{
    static const char question[] = "protocol=https\nhost=git.example\n";
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(fd_close) int fd = connect_to(bench);

    strbuf_append(&text, question);
    while (text.len < CREDENTIAL_QUESTION_MAX_BYTES - 1)
        strbuf_append_char(&text, 'x');
    say(fd, text.text);
    event_loop_dispatch(bench->loop);
    event_loop_dispatch(bench->loop);
    assert_int_equal(read(fd, text.text, 1), -1);
    assert_int_equal(errno, EAGAIN);
    say(fd, "x");
    read_answer(bench, fd, &answer);
    assert_string_equal(answer.text, "username=alice\npassword=the-password\n");
}

/* Further ones are refused until one of them ends. */
static void thirty_two_may_ask_at_once(void **state)
{
    static const char question[] = "protocol=https\nhost=git.example\n\n";
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT;
    CLEANUP(fd_close) int late = -1;
    int silent[MOST_AT_ONCE];

    for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
        silent[i] = connect_to(bench);
        event_loop_dispatch(bench->loop);
    }
    late = connect_to(bench);
    say(late, question);
    read_answer(bench, late, &none);
    assert_string_equal(none.text, "");
    fd_close(&silent[0]);
    event_loop_dispatch(bench->loop);
    assert_answer(bench, question, "password=the-password\n");
    for (size_t i = 1; i < ARRAY_SIZE(silent); i++)
        fd_close(&silent[i]);
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
        TEST(question_without_an_end_is_answered_at_its_limit),
        TEST(thirty_two_may_ask_at_once),
        TEST(another_user_gets_nothing),
    };

    return cmocka_run_group_tests_name("sandbox/credential_socket", tests, NULL, NULL);
}
