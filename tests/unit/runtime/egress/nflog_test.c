/*
 * Groups of nfnetlink_log: one that is free is bound and configured, and only the kernel's messages
 * are read. The kernel's part is skipped where no network namespace can be made.
 */
#include "runtime/egress/nflog.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "unit/runtime/runtime_test.h"

#define FIRST 100
#define GROUPS 16
#define LISTING "/proc/self/net/netfilter/nfnetlink_log"
#define PATIENCE_S 60

/* --- groups --- */

/* An attempt to bind a group, in a network namespace of its own. */
struct attempt {
    int rc;
    enum error_code code;
    bool has_fd;
    bool is_close_on_exec;
    uint16_t group;
    long answer_s;
};

struct report {
    bool is_skipped;
    struct attempt attempts[GROUPS + 2];
    char listing[4096];
};

static struct attempt attempt(uint16_t first, int *fd_out)
{
    struct attempt made = {.group = 0};
    struct error err = ERROR_INIT;
    struct timeval patience = {.tv_sec = 0};
    socklen_t len = sizeof(patience);

    *fd_out = -1;
    made.rc = nflog_open(first, fd_out, &made.group, &err);
    made.code = err.code;
    made.has_fd = *fd_out >= 0;
    if (made.has_fd) {
        made.is_close_on_exec = (fcntl(*fd_out, F_GETFD) & FD_CLOEXEC) != 0;
        (void)getsockopt(*fd_out, SOL_SOCKET, SO_RCVTIMEO, &patience, &len);
        made.answer_s = patience.tv_sec;
    }
    return made;
}

static void read_listing(struct report *report)
{
    CLEANUP(fd_close) int fd = open(LISTING, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, report->listing, sizeof(report->listing) - 1);

    report->listing[n > 0 ? n : 0] = '\0';
}

static void open_all(struct report *report)
{
    int fds[GROUPS + 2] = {0};

    for (int i = 0; i <= GROUPS; i++)
        report->attempts[i] = attempt(FIRST, &fds[i]);
    read_listing(report);
    fd_close(&fds[3]);
    report->attempts[GROUPS + 1] = attempt(FIRST + 2, &fds[GROUPS + 1]);
}

static void open_without_rights(struct report *report)
{
    int fd = -1;

    if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
        report->is_skipped = true;
    report->attempts[0] = attempt(FIRST, &fd);
}

/* What a child process found; it has a network of its own if that is asked for. */
static void in_child(bool is_in_own_network, void (*work)(struct report *), struct report *report)
{
    int ends[2] = {-1, -1};
    pid_t pid = 0;
    int status = 0;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct error err = ERROR_INIT;

        (void)alarm(PATIENCE_S);
        report->is_skipped = is_in_own_network && unshare(CLONE_NEWNET) < 0 &&
                             unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0;
        if (!report->is_skipped)
            work(report);
        _exit(fd_write_all(ends[1], report, sizeof(*report), &err) < 0 ? 1 : 0);
    }
    (void)close(ends[1]);
    for (size_t n = 0; n < sizeof(*report);) {
        ssize_t part = read(ends[0], (char *)report + n, sizeof(*report) - n);

        if (part <= 0)
            break;
        n += (size_t)part;
    }
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool has_kernel_support(const struct report *report)
{
    return !report->is_skipped &&
           (report->attempts[0].rc == 0 || access("/proc/net/netfilter/nfnetlink_log", F_OK) == 0);
}

/* A group's line: its number, the socket, packets that wait, the mode, the bytes shown, the delay.
 */
static void assert_configured(const char *listing, int group)
{
    const char *line = listing;

    for (; line != NULL && line[0] != '\0'; line = strchr(line, '\n') + 1) {
        char *at = NULL;
        long number = strtol(line, &at, 10);
        long values[5] = {0};

        for (size_t i = 0; i < 5; i++)
            values[i] = strtol(at, &at, 10);
        if (number != group)
            continue;
        assert_int_equal(values[1], 0);
        assert_int_equal(values[2], 2);
        assert_int_equal(values[3], NFLOG_SHOWN_BYTES);
        assert_int_equal(values[4], 10);
        return;
    }
    fail_msg("group %d is not listed", group);
}

static void each_process_has_a_group_of_its_own(void **state)
{
    struct report report = {.is_skipped = false};

    (void)state;
    in_child(true, open_all, &report);
    if (!has_kernel_support(&report))
        skip();
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(report.attempts[i].rc, 0);
        assert_int_equal(report.attempts[i].group, FIRST + i);
        assert_true(report.attempts[i].has_fd);
        assert_true(report.attempts[i].is_close_on_exec);
        assert_in_range(report.attempts[i].answer_s, 1, PATIENCE_S);
        if (report.listing[0] != '\0')
            assert_configured(report.listing, FIRST + i);
    }
    /* Only so many are tried. */
    assert_int_equal(report.attempts[GROUPS].rc, -1);
    assert_int_equal(report.attempts[GROUPS].code, ERROR_UNAVAILABLE);
    assert_false(report.attempts[GROUPS].has_fd);
    /* A closed one is free again. */
    assert_int_equal(report.attempts[GROUPS + 1].rc, 0);
    assert_int_equal(report.attempts[GROUPS + 1].group, FIRST + 3);
}

static void process_without_rights_gets_none(void **state)
{
    struct report report = {.is_skipped = false};

    (void)state;
    in_child(false, open_without_rights, &report);
    if (report.is_skipped)
        skip();
    assert_int_equal(report.attempts[0].rc, -1);
    assert_int_equal(report.attempts[0].code, ERROR_UNAVAILABLE);
    assert_false(report.attempts[0].has_fd);
}

/* --- messages --- */

static int open_netlink(int protocol, struct sockaddr_nl *address_out)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    socklen_t len = sizeof(*address_out);

    *address_out = (struct sockaddr_nl){.nl_family = AF_NETLINK};
    if (fd < 0)
        return -1;
    assert_int_equal(bind(fd, (const struct sockaddr *)address_out, sizeof(*address_out)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address_out, &len), 0);
    return fd;
}

static void wait_for_message(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&asked, 1, PATIENCE_S * 1000), 1);
}

static void kernels_messages_are_read_without_waiting(void **state)
{
    const struct {
        struct nlmsghdr header;
        struct rtgenmsg message;
    } request = {.header = {.nlmsg_len = sizeof(request),
                            .nlmsg_type = RTM_GETLINK,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    _Alignas(struct nlmsghdr) char bytes[NFLOG_READ_BYTES];
    struct sockaddr_nl ours = {.nl_family = AF_NETLINK};
    CLEANUP(fd_close) int fd = open_netlink(NETLINK_ROUTE, &ours);
    struct nlmsghdr header = {.nlmsg_len = 0};
    size_t n = 0;

    (void)state;
    if (fd < 0)
        skip();
    (void)alarm(PATIENCE_S);
    assert_int_equal(nflog_read(fd, bytes, sizeof(bytes)), 0);
    (void)alarm(0);
    assert_int_equal(
        sendto(fd, &request, sizeof(request), 0, (const struct sockaddr *)&kernel, sizeof(kernel)),
        sizeof(request));
    wait_for_message(fd);
    n = nflog_read(fd, bytes, sizeof(bytes));
    assert_true(n >= sizeof(header));
    memcpy(&header, bytes, sizeof(header));
    assert_int_equal(header.nlmsg_type, RTM_NEWLINK);
    assert_true(header.nlmsg_len <= n);
}

static void other_processes_messages_are_dropped(void **state)
{
    static const struct nlmsghdr forged = {.nlmsg_len = sizeof(forged), .nlmsg_type = RTM_NEWLINK};
    _Alignas(struct nlmsghdr) char bytes[NFLOG_READ_BYTES];
    struct sockaddr_nl ours = {.nl_family = AF_NETLINK};
    struct sockaddr_nl theirs = {.nl_family = AF_NETLINK};
    CLEANUP(fd_close) int fd = open_netlink(NETLINK_USERSOCK, &ours);
    CLEANUP(fd_close) int other = open_netlink(NETLINK_USERSOCK, &theirs);
    struct pollfd asked = {.fd = fd, .events = POLLIN};

    (void)state;
    if (fd < 0 || other < 0)
        skip();
    assert_int_equal(
        sendto(other, &forged, sizeof(forged), 0, (const struct sockaddr *)&ours, sizeof(ours)),
        sizeof(forged));
    wait_for_message(fd);
    assert_int_equal(nflog_read(fd, bytes, sizeof(bytes)), 0);
    assert_int_equal(poll(&asked, 1, 0), 0);
}

int test_nflog(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_process_has_a_group_of_its_own),
        cmocka_unit_test(process_without_rights_gets_none),
        cmocka_unit_test(kernels_messages_are_read_without_waiting),
        cmocka_unit_test(other_processes_messages_are_dropped),
    };

    return cmocka_run_group_tests_name("runtime/nflog", tests, NULL, NULL);
}
