/*
 * deft-relay COMMAND [ARGUMENT...]: passes the lines of its input to the input of a command, and
 * never blocks the writers.
 *
 * A logger that cannot write waits for disk space. The pipe to it then fills up, and every process
 * that logs blocks, PostgreSQL in the middle of its statements. The relay waits for PATIENCE_MS and
 * then goes on reading: whole lines that do not fit into its buffer are dropped and counted.
 * Decision: docs/decisions/0019-logs-through-a-relay.md
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"

enum { PENDING_BYTES = 65536, CHUNK_BYTES = 16384, NOTE_BYTES = 128 };
enum { PATIENCE_MS = 1000 };
enum { INPUT = 0, OUTPUT = 1 };

struct relay {
    int out_fd; /* to the command; non-blocking */
    char pending[PENDING_BYTES];
    size_t len;
    size_t whole;     /* length of the complete lines; a partial one may follow */
    bool is_stalled;  /* the command accepted nothing for PATIENCE_MS */
    bool is_dropping; /* the rest of this line is discarded */
    size_t n_dropped; /* lines, since the last note */
};

/* --- lines in --- */

static bool fits(const struct relay *relay, size_t len)
{
    /* Room for the note about dropped lines is always reserved. */
    return relay->len + len + NOTE_BYTES <= sizeof(relay->pending);
}

static void add(struct relay *relay, const char *bytes, size_t len)
{
    memcpy(relay->pending + relay->len, bytes, len);
    relay->len += len;
}

/* Takes a line, or a part of one. If the line does not fit, its kept part is dropped, too. */
static void take_part(struct relay *relay, const char *part, size_t len)
{
    bool is_end = part[len - 1] == '\n';

    if (!relay->is_dropping && !fits(relay, len)) {
        relay->len = relay->whole;
        relay->is_dropping = true;
        relay->n_dropped++;
    }
    if (!relay->is_dropping)
        add(relay, part, len);
    if (!is_end)
        return;
    relay->is_dropping = false;
    relay->whole = relay->len;
}

static void take_bytes(struct relay *relay, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) + 1 : len;

        take_part(relay, bytes, part);
        bytes += part;
        len -= part;
    }
}

/* --- lines out --- */

static void add_note(struct relay *relay)
{
    char note[NOTE_BYTES];
    int len =
        snprintf(note, sizeof(note), "deft-relay: %zu lines dropped, the log could not take them\n",
                 relay->n_dropped);

    if (len < 0 || relay->is_dropping || relay->whole != relay->len || !fits(relay, 0))
        return;
    relay->n_dropped = 0;
    add(relay, note, (size_t)len);
    relay->whole = relay->len;
}

/*
 * Writes complete lines only: a line that was begun is not dropped any more. False when the command
 * is gone.
 */
static bool write_pending(struct relay *relay)
{
    ssize_t n = write(relay->out_fd, relay->pending, relay->whole);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    relay->is_stalled = false;
    relay->len -= (size_t)n;
    relay->whole -= (size_t)n;
    memmove(relay->pending, relay->pending + n, relay->len);
    if (relay->n_dropped > 0)
        add_note(relay);
    return true;
}

/* --- both --- */

/* True when the next input can be kept, or may be dropped: the input is read. */
static bool may_read(const struct relay *relay)
{
    return relay->is_stalled || relay->whole == 0 || fits(relay, CHUNK_BYTES);
}

/* Waits for input or output. False when the wait failed. */
static bool poll_once(struct relay *relay, struct pollfd fds[2])
{
    bool is_reading = may_read(relay);
    int n = 0;

    fds[INPUT] = (struct pollfd){.fd = is_reading ? STDIN_FILENO : -1, .events = POLLIN};
    fds[OUTPUT] = (struct pollfd){.fd = relay->out_fd, .events = relay->whole > 0 ? POLLOUT : 0};
    n = poll(fds, 2, is_reading ? -1 : PATIENCE_MS);
    if (n == 0)
        relay->is_stalled = true;
    return n >= 0 || errno == EINTR;
}

/* Runs until the input ends or the command is gone. */
static void pump(struct relay *relay)
{
    char chunk[CHUNK_BYTES];
    struct pollfd fds[2];

    while (poll_once(relay, fds)) {
        ssize_t n = 0;

        if ((fds[OUTPUT].revents & POLLERR) != 0)
            return;
        if ((fds[OUTPUT].revents & POLLOUT) != 0 && !write_pending(relay))
            return;
        if (fds[INPUT].revents == 0)
            continue;
        n = read(STDIN_FILENO, chunk, sizeof(chunk));
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return;
        if (n > 0)
            take_bytes(relay, chunk, (size_t)n);
    }
}

/* --- the command --- */

/* The child's end of the pipe becomes its input; returns in the parent only. */
static pid_t start(char *const *command, int *out_fd)
{
    int ends[2] = {-1, -1};
    pid_t pid = -1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        (void)dup2(ends[0], STDIN_FILENO);
        (void)execvp(command[0], command);
        perror(command[0]);
        _exit(EX_UNAVAILABLE);
    }
    fd_close(&ends[0]);
    *out_fd = fd_take(&ends[1]);
    return pid;
}

/* The last lines may block as long as the command does: no writer is left that waits. */
static void finish(struct relay *relay, pid_t pid)
{
    int flags = fcntl(relay->out_fd, F_GETFL);

    (void)fcntl(relay->out_fd, F_SETFL, flags & ~O_NONBLOCK);
    relay->whole = relay->len;
    while (relay->whole > 0 && write_pending(relay)) {
    }
    fd_close(&relay->out_fd);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

int main(int argc, char **argv)
{
    struct relay relay = {.out_fd = -1};
    pid_t pid = -1;

    if (argc < 2) {
        (void)fputs("Usage: deft-relay COMMAND [ARGUMENT...]\n", stderr);
        return EX_USAGE;
    }
    pid = start(argv + 1, &relay.out_fd);
    if (pid < 0 || fcntl(relay.out_fd, F_SETFL, O_NONBLOCK) < 0) {
        perror("deft-relay");
        return EX_OSERR;
    }
    pump(&relay);
    finish(&relay, pid);
    return 0;
}
