#include "runtime/backend/command_run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"

#define SAID_MAX_BYTES (64UL * 1024)
#define SAFE_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* A file in memory, so that no writer blocks on a full pipe. The caller always closes it. */
static int open_file(const char *text, int *fd, struct error *err)
{
    *fd = memfd_create("deft", MFD_CLOEXEC);
    if (*fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memfd_create: %m");
    if (fd_write_all(*fd, text, strlen(text), err) < 0)
        return -1;
    if (lseek(*fd, 0, SEEK_SET) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "lseek: %m");
    return 0;
}

static int start_command(const char *const *argv, int input, int output, pid_t *pid_out,
                         struct error *err)
{
    const char *const environment[] = {SAFE_PATH, "LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    int rc = 0;

    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    /* posix_spawnp() does not modify its arguments; its prototype predates const. */
    if (rc == 0)
        rc = posix_spawnp(pid_out, argv[0], &actions, NULL, (char **)(uintptr_t)argv,
                          (char **)(uintptr_t)environment);
    posix_spawn_file_actions_destroy(&actions);
    if (rc == 0)
        return 0;
    errno = rc;
    return error_set(err, ERROR_UNAVAILABLE, "%s: %m", argv[0]);
}

static int wait_for_exit(pid_t pid, int *status_out, struct error *err)
{
    pid_t done = -1;

    do {
        done = waitpid(pid, status_out, 0);
    } while (done < 0 && errno == EINTR);
    if (done < 0)
        return error_set(err, ERROR_UNAVAILABLE, "waitpid: %m");
    return 0;
}

static void read_output(int fd, struct strbuf *said_out)
{
    char bytes[4096];
    ssize_t n = 0;

    (void)lseek(fd, 0, SEEK_SET);
    do {
        n = read(fd, bytes, sizeof(bytes));
        if (n > 0)
            strbuf_append_bytes(said_out, bytes, (size_t)n);
    } while (n > 0 && said_out->len < SAID_MAX_BYTES);
}

int command_run(const char *const *argv, const char *input, struct strbuf *said_out,
                struct error *err)
{
    CLEANUP(fd_close) int in = -1;
    CLEANUP(fd_close) int out = -1;
    pid_t pid = -1;
    int status = 0;

    if (open_file(input, &in, err) < 0 || open_file("", &out, err) < 0)
        return -1;
    if (start_command(argv, in, out, &pid, err) < 0 || wait_for_exit(pid, &status, err) < 0)
        return -1;
    read_output(out, said_out);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s failed: %.150s", argv[0], said_out->text);
    return 0;
}
