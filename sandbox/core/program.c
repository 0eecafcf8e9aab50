#include "sandbox/core/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "sandbox/core/identity.h"

enum { READ_BYTES = 64 * 1024, MAX_COMPLAINT_BYTES = 1000, NOT_RUN = 127, BY_SIGNAL = 128 };

void program_result_done(struct program_result *result)
{
    strbuf_done(&result->out);
    strbuf_done(&result->complaint);
}

NORETURN static void become(const struct program *program, int out_fd, int complaint_fd)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* execve() does not modify the texts, but its prototype lacks const. */
    char *const *argv = (char *const *)(uintptr_t)program->argv;

    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
        dup2(complaint_fd, STDERR_FILENO) >= 0 && identity_become_commands() == 0)
        (void)execve(program->path, argv, program->envp);
    _exit(NOT_RUN);
}

static int read_output(int fd, size_t max_bytes, struct strbuf *out, struct error *err)
{
    ssize_t n = 0;

    do {
        strbuf_reserve(out, READ_BYTES);
        n = read(fd, out->text + out->len, READ_BYTES);
        if (n > 0) {
            out->len += (size_t)n;
            out->text[out->len] = '\0';
        }
        if (out->len > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes of output", max_bytes);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return 0;
}

static void read_complaint(int fd, struct strbuf *complaint)
{
    char text[MAX_COMPLAINT_BYTES];
    ssize_t n = pread(fd, text, sizeof(text), 0);

    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        n--;
    strbuf_append_bytes(complaint, text, n > 0 ? (size_t)n : 0);
}

static int exit_code_of(int status)
{
    return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return NOT_RUN;
    }
    return exit_code_of(status);
}

int program_run(const struct program *program, struct program_result *result, struct error *err)
{
    CLEANUP(fd_close) int complaint = memfd_create("complaint", MFD_CLOEXEC);
    CLEANUP(fd_close) int read_end = -1;
    CLEANUP(fd_close) int write_end = -1;
    int ends[2] = {-1, -1};
    int rc = 0;
    pid_t pid = 0;

    if (complaint < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "running %s: %m", program->path);
    read_end = ends[0];
    write_end = ends[1];
    pid = fork();
    if (pid < 0)
        return error_set(err, ERROR_UNAVAILABLE, "running %s: %m", program->path);
    if (pid == 0)
        become(program, program->out_fd >= 0 ? program->out_fd : write_end, complaint);
    fd_close(&write_end);
    rc = read_output(read_end, program->max_out_bytes, &result->out, err);
    if (rc < 0)
        (void)kill(pid, SIGKILL);
    result->exit_code = wait_for(pid);
    read_complaint(complaint, &result->complaint);
    return rc;
}
