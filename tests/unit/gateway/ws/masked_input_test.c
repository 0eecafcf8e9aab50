/*
 * recv() as the server sees it: of a client's frames, nothing after the first unmasked one; of
 * other sockets, everything.
 */
#include "gateway/ws/masked_input.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"

#define HEAD "GET / HTTP/1.1\r\nA: 1\r\n\r\n"
#define MASKED "\x81\x81\1\2\3\4x"
#define UNMASKED "\x81\x01x"

static int set_up(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    return masked_input_open(&err);
}

static int tear_down(void **state)
{
    (void)state;
    masked_input_close();
    return 0;
}

static void connect_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
}

/* Returns what the server reads after the client has sent that text. */
static ssize_t pass(const int ends[2], const char *text, size_t len)
{
    char bytes[256];

    assert_int_equal(send(ends[0], text, len, MSG_NOSIGNAL), len);
    return recv(ends[1], bytes, sizeof(bytes), 0);
}

#define PASS(ends, text) pass(ends, text, sizeof(text) - 1)

static void note(void *owner)
{
    *(bool *)owner = true;
}

static void masked_frames_pass_and_nothing_from_an_unmasked_one_on(void **state)
{
    bool is_refused = false;
    int ends[2] = {-1, -1};

    (void)state;
    connect_pair(ends);
    masked_input_watch(ends[1]);
    masked_input_tell(ends[1], note, &is_refused);
    assert_int_equal(PASS(ends, HEAD), sizeof(HEAD) - 1);
    assert_int_equal(PASS(ends, MASKED), sizeof(MASKED) - 1);
    assert_false(is_refused);
    /* Its first byte does not say yet that it is not masked. */
    assert_int_equal(PASS(ends, MASKED UNMASKED MASKED), sizeof(MASKED) - 1 + 1);
    assert_true(is_refused);
    assert_int_equal(PASS(ends, MASKED), -1);
    assert_int_equal(errno, EAGAIN);
    masked_input_forget(ends[1]);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

/* A descriptor that was closed elsewhere may be another socket now: not of a client. */
static void descriptor_that_became_another_socket_is_read_whole(void **state)
{
    int ends[2] = {-1, -1};
    int others[2] = {-1, -1};

    (void)state;
    connect_pair(ends);
    connect_pair(others);
    masked_input_watch(ends[1]);
    assert_int_equal(PASS(ends, HEAD), sizeof(HEAD) - 1);
    assert_int_equal(dup2(others[1], ends[1]), ends[1]);
    fd_close(&others[1]);
    others[1] = ends[1];
    assert_int_equal(PASS(others, UNMASKED), sizeof(UNMASKED) - 1);
    assert_int_equal(PASS(others, UNMASKED), sizeof(UNMASKED) - 1);
    masked_input_forget(others[1]);
    fd_close(&ends[0]);
    fd_close(&others[0]);
    fd_close(&others[1]);
}

static void socket_that_is_not_watched_is_read_whole(void **state)
{
    bool is_refused = false;
    int ends[2] = {-1, -1};

    (void)state;
    connect_pair(ends);
    masked_input_tell(ends[1], note, &is_refused);
    assert_int_equal(PASS(ends, UNMASKED), sizeof(UNMASKED) - 1);
    assert_false(is_refused);
    masked_input_watch(ends[1]);
    masked_input_forget(ends[1]);
    assert_int_equal(PASS(ends, UNMASKED), sizeof(UNMASKED) - 1);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

/* A descriptor that was closed elsewhere is another connection's now, which begins with a head. */
static void socket_that_is_watched_again_begins_anew(void **state)
{
    bool is_first_refused = false;
    bool is_refused = false;
    int ends[2] = {-1, -1};

    (void)state;
    connect_pair(ends);
    masked_input_watch(ends[1]);
    masked_input_tell(ends[1], note, &is_first_refused);
    assert_int_equal(PASS(ends, HEAD), sizeof(HEAD) - 1);
    masked_input_watch(ends[1]);
    masked_input_tell(ends[1], note, &is_refused);
    assert_int_equal(PASS(ends, HEAD), sizeof(HEAD) - 1);
    assert_int_equal(PASS(ends, UNMASKED), 1);
    assert_true(is_refused);
    assert_false(is_first_refused);
    masked_input_forget(ends[1]);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

/* The end of the head may be cut anywhere, and be preceded by a part of itself. */
static void head_ends_at_its_empty_line_however_it_is_cut(void **state)
{
    static const char head[] = "GET / HTTP/1.1\r\nA: 1\r\r\n\r\n";

    (void)state;
    for (size_t cut = 1; cut < sizeof(head) - 1; cut++) {
        bool is_refused = false;
        int ends[2] = {-1, -1};

        connect_pair(ends);
        masked_input_watch(ends[1]);
        masked_input_tell(ends[1], note, &is_refused);
        assert_int_equal(pass(ends, head, cut), cut);
        assert_int_equal(pass(ends, head + cut, sizeof(head) - 1 - cut), sizeof(head) - 1 - cut);
        assert_int_equal(PASS(ends, MASKED), sizeof(MASKED) - 1);
        assert_false(is_refused);
        assert_int_equal(PASS(ends, UNMASKED), 1);
        assert_true(is_refused);
        masked_input_forget(ends[1]);
        fd_close(&ends[0]);
        fd_close(&ends[1]);
    }
}

/* Bytes that are looked at are read again: they count once. */
static void bytes_that_are_only_looked_at_do_not_count(void **state)
{
    bool is_refused = false;
    char bytes[64];
    int ends[2] = {-1, -1};

    (void)state;
    connect_pair(ends);
    masked_input_watch(ends[1]);
    masked_input_tell(ends[1], note, &is_refused);
    assert_int_equal(PASS(ends, HEAD), sizeof(HEAD) - 1);
    assert_int_equal(send(ends[0], MASKED, 3, MSG_NOSIGNAL), 3);
    assert_int_equal(recv(ends[1], bytes, sizeof(bytes), MSG_PEEK), 3);
    assert_int_equal(recv(ends[1], bytes, sizeof(bytes), 0), 3);
    assert_int_equal(pass(ends, MASKED + 3, sizeof(MASKED) - 4), sizeof(MASKED) - 4);
    assert_int_equal(PASS(ends, MASKED), sizeof(MASKED) - 1);
    assert_false(is_refused);
    masked_input_forget(ends[1]);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

/* The head and a frame may come at once, before the socket has its owner. */
static void owner_that_comes_late_is_told_of_an_earlier_refusal(void **state)
{
    bool is_refused = false;
    int ends[2] = {-1, -1};

    (void)state;
    connect_pair(ends);
    masked_input_watch(ends[1]);
    assert_int_equal(PASS(ends, HEAD UNMASKED), sizeof(HEAD) - 1 + 1);
    masked_input_tell(ends[1], note, &is_refused);
    assert_true(is_refused);
    masked_input_forget(ends[1]);
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

/* Descriptors are read after that, too: by other parts that end later. */
static void nothing_is_watched_after_the_end(void **state)
{
    bool is_refused = false;
    int ends[2] = {-1, -1};
    int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    struct error err = ERROR_INIT;

    (void)state;
    connect_pair(ends);
    assert_int_equal(masked_input_open(&err), 0);
    masked_input_watch(ends[1]);
    masked_input_close();
    assert_int_equal(dup2(ends[1], STDIN_FILENO), STDIN_FILENO); /* the first descriptor of all */
    masked_input_watch(STDIN_FILENO);
    masked_input_tell(ends[1], note, &is_refused);
    fd_close(&ends[1]);
    ends[1] = STDIN_FILENO;
    assert_int_equal(PASS(ends, HEAD UNMASKED), sizeof(HEAD UNMASKED) - 1);
    assert_false(is_refused);
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    fd_close(&input);
    fd_close(&ends[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(masked_frames_pass_and_nothing_from_an_unmasked_one_on),
        TEST(descriptor_that_became_another_socket_is_read_whole),
        TEST(socket_that_is_not_watched_is_read_whole),
        TEST(socket_that_is_watched_again_begins_anew),
        TEST(head_ends_at_its_empty_line_however_it_is_cut),
        TEST(bytes_that_are_only_looked_at_do_not_count),
        TEST(owner_that_comes_late_is_told_of_an_earlier_refusal),
        cmocka_unit_test(nothing_is_watched_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
