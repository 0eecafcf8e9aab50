#include "runtime/bwrap/box_end.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/command_run.h"
#include "runtime/bwrap/box.h"
#include "runtime/bwrap/bwrap_host.h"
#include "runtime/bwrap/process_tree.h"

#define END_MS 10000
#define KILL_MS 5000

/* Uses rm, which handles paths longer than the kernel accepts and skips other file systems. */
int bwrap_folder_remove(const char *path, struct error *err)
{
    const char *const argv[] = {"rm", "-rf", "--one-file-system", "--", path, NULL};
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    return command_run(argv, "", &said, err);
}

/* Processes of a box that still exist; -1: gone. */
struct box_processes {
    int first; /* the sandbox's first process: all others end with it */
    int guardian;
    pid_t first_pid;
    pid_t guardian_pid;
};

static void box_processes_done(struct box_processes *processes)
{
    fd_close(&processes->first);
    fd_close(&processes->guardian);
}

static void open_processes(const struct bwrap_host *host, const char *box,
                           struct box_processes *processes)
{
    struct error ended = ERROR_INIT;

    error_ignore(box_open(host, box, &processes->first, &processes->first_pid, &ended),
                 "a process that has ended needs no signal");
    error_ignore(
        box_open_guardian(host, box, &processes->guardian, &processes->guardian_pid, &ended),
        "a process that has ended needs no signal");
}

/* Waits until one of the two has ended; -1 is ignored. */
static bool has_ended(int one, int other, int64_t wait_ms)
{
    struct pollfd polled[2] = {{.fd = one, .events = POLLIN}, {.fd = other, .events = POLLIN}};
    int64_t deadline_ms = clock_monotonic_ms() + wait_ms;
    int rc = -1;

    do {
        int64_t left_ms = deadline_ms - clock_monotonic_ms();

        rc = poll(polled, 2, left_ms > 0 ? (int)left_ms : 0);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

/* A frozen process does not handle signals. */
static void let_go_on(struct bwrap_host *host, const char *box, pid_t pid)
{
    struct error gone = ERROR_INIT;

    if (cgroup_has_freezer(&host->cgroups, box))
        error_ignore(cgroup_thaw(&host->cgroups, box, &gone), "it is killed anyway");
    else
        error_ignore(process_tree_continue(pid, &gone), "it is killed anyway");
}

/* Signals the server only: it ends its programs. */
static void ask_to_end(pid_t pid)
{
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};
    struct error gone = ERROR_INIT;

    pid_t server = process_tree_read(pid, &tree, &gone) == 0 ? process_tree_server(&tree) : 0;

    if (server > 0)
        (void)kill(server, SIGTERM);
}

/* Waits for either: the guardian ends with the server, even if programs keep the first process. */
static void let_end(struct bwrap_host *host, const char *box, const struct box_processes *processes)
{
    let_go_on(host, box, processes->first_pid);
    if (box_exit_code(host, box) >= 0)
        return;
    ask_to_end(processes->first_pid);
    (void)has_ended(processes->first, processes->guardian, END_MS);
}

/* If the start was interrupted, the guardian is known but not the first process. */
static int end_by_force(struct bwrap_host *host, const char *box,
                        const struct box_processes *processes, struct error *err)
{
    struct error gone = ERROR_INIT;

    if (processes->first >= 0)
        (void)pidfd_send_signal(processes->first, SIGKILL, NULL, 0);
    else if (processes->guardian >= 0)
        error_ignore(process_tree_end(processes->guardian_pid, &gone),
                     "the wait below reports a failure");
    if (cgroup_end(&host->cgroups, box, err) < 0)
        return -1;
    if ((processes->first >= 0 && !has_ended(processes->first, -1, KILL_MS)) ||
        (processes->guardian >= 0 && !has_ended(processes->guardian, -1, KILL_MS)))
        return error_set(err, ERROR_TIMEOUT, "the sandbox's processes did not end");
    return 0;
}

static int end_processes(struct bwrap_host *host, const char *box, struct error *err)
{
    CLEANUP(box_processes_done) struct box_processes processes = {.first = -1, .guardian = -1};

    open_processes(host, box, &processes);
    if (processes.first >= 0)
        let_end(host, box, &processes);
    return end_by_force(host, box, &processes, err);
}

int box_end(struct bwrap_host *host, const char *box, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (end_processes(host, box, err) < 0 || cgroup_remove(&host->cgroups, box, err) < 0)
        return -1;
    box_append_path(host, box, "", &path);
    return bwrap_folder_remove(path.text, err);
}

static bool is_of(const char *box, const char *runtime_id)
{
    size_t len = strlen(runtime_id);

    return text_starts_with(box, runtime_id) && box[len] == '-';
}

int boxes_end(struct bwrap_host *host, const char *runtime_id, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    struct dirent **entries = NULL;
    int rc = 0;
    int n = 0;

    strbuf_appendf(&folder, "%s/boxes", host->settings.folder);
    n = scandir(folder.text, &entries, NULL, alphasort);
    if (n < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", folder.text);
    for (int i = 0; i < n; i++) {
        if (rc == 0 && is_of(entries[i]->d_name, runtime_id))
            rc = box_end(host, entries[i]->d_name, err);
        free(entries[i]);
    }
    free((void *)entries);
    return rc;
}
