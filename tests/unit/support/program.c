#include "support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"

enum { READ_BYTES = 65536, MOST_S = 60 };

static void make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
}

struct program program_start(char *const *arguments)
{
    struct program program = {.pid = -1};
    int in[2];
    int out[2];
    int err[2];

    make_pipe(in);
    make_pipe(out);
    make_pipe(err);
    program.pid = fork();
    if (program.pid < 0)
        abort();
    if (program.pid == 0) {
        if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 ||
            dup2(err[1], STDERR_FILENO) < 0)
            _exit(126);
        (void)alarm(MOST_S); /* a program that hangs fails its test */
        (void)execv(arguments[0], arguments);
        _exit(127);
    }
    fd_close(&in[0]);
    fd_close(&out[1]);
    fd_close(&err[1]);
    program.in_fd = in[1];
    program.out_fd = out[0];
    program.err_fd = err[0];
    return program;
}

void program_end_input(struct program *program)
{
    fd_close(&program->in_fd);
}

/* Appends what there is; closes the descriptor at its end. */
static void take(int *fd, short events, struct strbuf *text)
{
    char bytes[READ_BYTES];
    ssize_t n = 0;

    if (events == 0)
        return;
    n = read(*fd, bytes, sizeof(bytes));
    if (n > 0)
        strbuf_append_bytes(text, bytes, (size_t)n);
    else
        fd_close(fd);
}

/* Waits for output; false at its end. */
static bool take_some(struct program *program, struct strbuf *out, struct strbuf *err)
{
    struct pollfd polled[2] = {{.fd = program->out_fd, .events = POLLIN},
                               {.fd = program->err_fd, .events = POLLIN}};

    if (program->out_fd < 0 && program->err_fd < 0)
        return false;
    if (poll(polled, 2, -1) > 0) {
        take(&program->out_fd, polled[0].revents, out);
        take(&program->err_fd, polled[1].revents, err);
    }
    return true;
}

bool program_await(struct program *program, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;

    while (strstr(out.text, text) == NULL && strstr(err.text, text) == NULL) {
        if (!take_some(program, &out, &err))
            return false;
    }
    return true;
}

int program_wait(struct program *program, struct strbuf *out, struct strbuf *err)
{
    int status = -1;

    program_end_input(program);
    while (take_some(program, out, err))
        ;
    if (waitpid(program->pid, &status, 0) < 0 || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int program_run(char *const *arguments, struct strbuf *out, struct strbuf *err)
{
    struct program program = program_start(arguments);

    return program_wait(&program, out, err);
}
