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
#include "base/text.h"
#include "runtime/process_parts.h"
#include "runtime/process_tree.h"
#include "runtime/spawn.h"

#define END_MS 10000
#define KILL_MS 5000

/* By rm, which knows paths longer than the kernel takes, and leaves other file systems alone. */
int process_remove_folder(const char *path, struct error *err)
{
    const char *const argv[] = {"rm", "-rf", "--one-file-system", "--", path, NULL};
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    return spawn_run(argv, "", &said, err);
}

static bool has_ended(int pidfd, int64_t wait_ms)
{
    struct pollfd polled = {.fd = pidfd, .events = POLLIN};
    int64_t deadline_ms = clock_monotonic_ms() + wait_ms;
    int rc = -1;

    do {
        int64_t left_ms = deadline_ms - clock_monotonic_ms();

        rc = poll(&polled, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

/* What is held hears nothing. */
static void let_go_on(struct process_host *host, const char *box, pid_t pid)
{
    struct error gone = ERROR_INIT;

    if (group_has_freezer(&host->groups, box))
        error_ignore(group_thaw(&host->groups, box, &gone), "it is ended anyway");
    else
        error_ignore(process_tree_continue(pid, &gone), "it is ended anyway");
}

/* The server, not its guardian: with the server's end all others end. */
static void ask_to_end(pid_t pid)
{
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};
    struct error gone = ERROR_INIT;

    if (process_tree_read(pid, &tree, &gone) == 0 && tree.n > 1)
        (void)kill(tree.items[1].pid, SIGTERM);
}

static int end_processes(struct process_host *host, const char *box, struct error *err)
{
    CLEANUP(fd_close) int pidfd = -1;
    struct error ended = ERROR_INIT;
    pid_t pid = 0;

    if (box_open(host, box, &pidfd, &pid, &ended) < 0)
        return 0;
    let_go_on(host, box, pid);
    ask_to_end(pid);
    if (has_ended(pidfd, END_MS))
        return 0;
    (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    if (has_ended(pidfd, KILL_MS))
        return 0;
    return error_set(err, ERROR_TIMEOUT, "the sandbox's processes do not end");
}

int box_end(struct process_host *host, const char *box, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (end_processes(host, box, err) < 0)
        return -1;
    group_remove(&host->groups, box);
    box_append_path(host, box, "", &path);
    return process_remove_folder(path.text, err);
}

static bool is_of(const char *box, const char *runtime_id)
{
    size_t len = strlen(runtime_id);

    return text_starts_with(box, runtime_id) && box[len] == '-';
}

int boxes_end(struct process_host *host, const char *runtime_id, struct error *err)
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
