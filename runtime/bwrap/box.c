#include "runtime/bwrap/box.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/bwrap/bwrap_host.h"
#include "runtime/bwrap/process_tree.h"

#define FILE_MAX_BYTES (64UL * 1024)
#define SAID_MAX_BYTES (8UL * 1024 * 1024)
#define TAIL_MAX_BYTES 160
#define EXIT_CODE_KILLED 137
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

void box_append_path(const struct bwrap_host *host, const char *box, const char *file,
                     struct strbuf *path)
{
    strbuf_appendf(path, "%s/boxes/%s%s%s", host->settings.folder, box, file[0] != '\0' ? "/" : "",
                   file);
}

static int read_text(const struct bwrap_host *host, const char *box, const char *file,
                     struct strbuf *text, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    box_append_path(host, box, file, &path);
    return file_read(path.text, SAID_MAX_BYTES, text, err);
}

/* --- order.json --- */

static int write_order(const struct bwrap_host *host, const char *box, const json_t *order,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    FILE *file = NULL;
    bool is_written = false;

    box_append_path(host, box, "order.json", &path);
    json_append_text(&text, order);
    file = fopen(path.text, "wxe");
    if (file == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    is_written = fputs(text.text, file) >= 0;
    if (fclose(file) != 0 || !is_written)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    return 0;
}

int box_make(const struct bwrap_host *host, const char *box, const struct sandbox_config *order,
             struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf boot = STRBUF_INIT;
    json_auto_t *facts = NULL;

    if (file_read(BOOT_ID, FILE_MAX_BYTES, &boot, err) < 0)
        return -1;
    facts = json_build(err, "{s:s, s:s, s:s, s:s, s:I}", "runtime_id", order->runtime_id, "home",
                       order->home, "fittings", host->agent_build, "boot_id", boot.text,
                       "created_at_s", (json_int_t)(clock_utc_us() / 1000000));
    if (facts == NULL)
        return -1;
    box_append_path(host, box, "", &path);
    if (mkdir(path.text, 0700) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    return write_order(host, box, facts, err);
}

static int read_order(const struct bwrap_host *host, const char *box, json_t **order_out,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (read_text(host, box, "order.json", &text, err) < 0)
        return -1;
    return json_parse(text.text, text.len, order_out, err);
}

/* --- status, as bubblewrap reports it --- */

/* The members of all lines, each of which is an object. Never NULL. */
static json_t *read_status(const struct bwrap_host *host, const char *box)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    json_t *status = json_object();
    const char *line = NULL;
    const char *end = NULL;

    error_ignore(read_text(host, box, "status", &text, &ignored), "it was not started yet");
    line = text.text;
    for (end = strchr(line, '\n'); end != NULL; end = strchr(line, '\n')) {
        json_auto_t *said = NULL;

        if (json_parse(line, (size_t)(end - line), &said, &ignored) == 0)
            json_object_update(status, said);
        line = end + 1;
    }
    return status;
}

static bool is_this_boot(const json_t *order)
{
    CLEANUP(strbuf_done) struct strbuf boot = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    return file_read(BOOT_ID, FILE_MAX_BYTES, &boot, &ignored) == 0 &&
           text_equal(json_text_or(order, "boot_id", ""), boot.text);
}

/* Process and namespace numbers are reused, also after a reboot: both, and the boot id, must be
 * those recorded at the start. */
static bool is_same(pid_t pid, const json_t *status, const json_t *order)
{
    struct stat facts = {.st_ino = 0};
    char path[40] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
    return stat(path, &facts) == 0 &&
           (json_int_t)facts.st_ino == json_int_or(status, "pid-namespace", -1) &&
           is_this_boot(order);
}

int box_open(const struct bwrap_host *host, const char *box, int *pidfd_out, pid_t *pid_out,
             struct error *err)
{
    CLEANUP(fd_close) int pidfd = -1;
    json_auto_t *status = read_status(host, box);
    json_auto_t *order = NULL;
    pid_t pid = (pid_t)json_int_or(status, "child-pid", 0);

    if (read_order(host, box, &order, err) < 0)
        return -1;
    pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    /* Descriptor before check: so the check is of the process that the descriptor refers to. A
     * process that has ended has no namespace. */
    if (pidfd < 0 || !is_same(pid, status, order))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox has ended");
    *pidfd_out = fd_take(&pidfd);
    *pid_out = pid;
    return 0;
}

/* --- its guardian --- */

int box_note_guardian(int status_fd, pid_t pid, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct process_entry entry = {.pid = 0};
    json_auto_t *facts = NULL;

    if (!process_entry_read(pid, &entry))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox's process has ended");
    facts = json_build(err, "{s:I, s:I}", "guardian", (json_int_t)pid, "guardian-started",
                       (json_int_t)entry.started);
    if (facts == NULL)
        return -1;
    json_append_text(&line, facts);
    strbuf_append(&line, "\n");
    return fd_write_all(status_fd, line.text, line.len, err);
}

static bool is_guardian(pid_t pid, const json_t *status, const json_t *order)
{
    struct process_entry entry = {.pid = 0};

    return is_this_boot(order) && process_entry_read(pid, &entry) && entry.state != 'Z' &&
           (json_int_t)entry.started == json_int_or(status, "guardian-started", -1);
}

int box_open_guardian(const struct bwrap_host *host, const char *box, int *pidfd_out,
                      pid_t *pid_out, struct error *err)
{
    CLEANUP(fd_close) int pidfd = -1;
    json_auto_t *status = read_status(host, box);
    json_auto_t *order = NULL;
    pid_t pid = (pid_t)json_int_or(status, "guardian", 0);

    if (read_order(host, box, &order, err) < 0)
        return -1;
    pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pidfd < 0 || !is_guardian(pid, status, order))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox's guardian has ended");
    *pidfd_out = fd_take(&pidfd);
    *pid_out = pid;
    return 0;
}

int box_exit_code(const struct bwrap_host *host, const char *box)
{
    json_auto_t *status = read_status(host, box);

    return (int)json_int_or(status, "exit-code", -1);
}

bool box_is_paused(const struct bwrap_host *host, const char *box, pid_t pid)
{
    if (cgroup_has_freezer(&host->cgroups, box))
        return cgroup_is_frozen(&host->cgroups, box);
    return process_tree_is_stopped(pid);
}

/* --- listing --- */

/* Also works without an order: a start is about to write it, or was interrupted before. */
static int64_t made_at_s(const struct bwrap_host *host, const char *box, const json_t *order)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat facts = {.st_mtime = 0};

    box_append_path(host, box, "", &path);
    (void)!stat(path.text, &facts);
    return json_int_or(order, "created_at_s", facts.st_mtime);
}

static void list_add(const struct bwrap_host *host, struct seen_list *list, const char *box)
{
    struct seen_sandbox *seen = seen_list_add(list);
    json_auto_t *order = NULL;
    CLEANUP(fd_close) int pidfd = -1;
    struct error ended = ERROR_INIT;
    pid_t pid = 0;

    error_ignore(read_order(host, box, &order, &ended), "it is listed as ended");
    (void)snprintf(seen->runtime_id, sizeof(seen->runtime_id), "%.*s", (int)strcspn(box, "-"), box);
    (void)snprintf(seen->container_id, sizeof(seen->container_id), "%.*s", BOX_ID_BYTES - 1, box);
    seen->created_at_s = made_at_s(host, box, order);
    seen->is_outdated = !text_equal(json_text_or(order, "fittings", ""), host->agent_build);
    /* After its server has ended, a sandbox counts as ended, even if programs remain. */
    if (box_exit_code(host, box) >= 0 || box_open(host, box, &pidfd, &pid, &ended) < 0)
        seen->state = SEEN_ENDED;
    else
        seen->state = box_is_paused(host, box, pid) ? SEEN_PAUSED : SEEN_RUNNING;
}

int box_list(const struct bwrap_host *host, struct seen_list *list_out, struct error *err)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    struct dirent **entries = NULL;
    int n = 0;

    strbuf_appendf(&folder, "%s/boxes", host->settings.folder);
    n = scandir(folder.text, &entries, NULL, alphasort);
    if (n < 0 && errno != ENOENT)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", folder.text);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            list_add(host, &list, entries[i]->d_name);
        free(entries[i]);
    }
    free((void *)entries);
    *list_out = list;
    list = (struct seen_list){.items = NULL};
    return 0;
}

/* --- why it ended --- */

/* The last line of its output. */
static void read_tail(const struct bwrap_host *host, const char *box, char tail[TAIL_MAX_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    const char *begin = NULL;

    error_ignore(read_text(host, box, "said", &text, &ignored),
                 "without output there is nothing to add");
    while (text.len > 0 && text.text[text.len - 1] == '\n')
        strbuf_truncate(&text, text.len - 1);
    begin = strrchr(text.text, '\n');
    (void)snprintf(tail, TAIL_MAX_BYTES, "%s", begin != NULL ? begin + 1 : text.text);
}

void box_explain(const struct bwrap_host *host, const char *box, struct error *why_out)
{
    char tail[TAIL_MAX_BYTES] = "";
    int code = box_exit_code(host, box);

    read_tail(host, box, tail);
    if (cgroup_ran_out_of_memory(&host->cgroups, box))
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ran out of memory and was ended");
    else if (code == EXIT_CODE_KILLED)
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox was killed (exit code 137)");
    else if (code < 0)
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ended%s%s", tail[0] != '\0' ? ": " : "",
                  tail);
    else
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ended with exit code %d%s%s", code,
                  tail[0] != '\0' ? ": " : "", tail);
}
