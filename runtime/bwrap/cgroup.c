#include "runtime/bwrap/process_group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"

#define FILE_MAX_BYTES (64UL * 1024)
/* Both take as long as the longest kernel call in progress. */
#define FREEZE_MS 5000
#define END_MS 5000
/* The path where programs expect control groups. */
#define PLACE "/sys/fs/cgroup"
#define FOLDER_MODE 0755
#define PERIOD_US 100000
#define NANO_CPUS_PER_QUOTA_US (1000000000 / PERIOD_US)

struct group_names {
    const char *controller; /* "": needs none; not available in version 1 */
    const char *file;       /* version 2's */
    const char *words;
};

static const struct group_names names_of[GROUP_N_KINDS] = {
    [GROUP_MEMORY] = {"memory", "memory.max", "memory"},
    [GROUP_PIDS] = {"pids", "pids.max", "processes"},
    [GROUP_CPU] = {"cpu", "cpu.max", "processors"},
    [GROUP_LIFE] = {"", "cgroup.kill", "freezing"},
};

static void append_path(const struct groups *groups, enum group_kind kind, const char *name,
                        const char *file, struct strbuf *path)
{
    strbuf_appendf(path, "%s/%s%s%s", groups->roots[kind], name, file[0] != '\0' ? "/" : "", file);
}

static bool has_group(const struct groups *groups, enum group_kind kind, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (groups->roots[kind][0] == '\0')
        return false;
    append_path(groups, kind, name, "", &path);
    return access(path.text, F_OK) == 0;
}

static bool write_text(const char *path, const char *text)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
    struct error ignored = ERROR_INIT;

    return fd >= 0 && fd_write_all(fd, text, strlen(text), &ignored) == 0;
}

static bool write_file(const struct groups *groups, enum group_kind kind, const char *name,
                       const char *file, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    append_path(groups, kind, name, file, &path);
    return write_text(path.text, text);
}

static bool read_file(const struct groups *groups, enum group_kind kind, const char *name,
                      const char *file, struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    append_path(groups, kind, name, file, &path);
    return file_read(path.text, FILE_MAX_BYTES, text, &ignored) == 0;
}

/* --- finding groups --- */

/* World-readable whatever the umask is, since sandboxes see it. */
static bool make_folder(const char *path)
{
    if (mkdir(path, FOLDER_MODE) < 0)
        return access(path, W_OK) == 0;
    return chmod(path, FOLDER_MODE) == 0;
}

/* Enables a controller for subgroups; success if it is already enabled. */
static bool pass_on(const char *folder, const char *controller)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&path, "%s/cgroup.subtree_control", folder);
    strbuf_appendf(&text, "+%s", controller);
    return write_text(path.text, text.text);
}

static void take(struct groups *groups, size_t kind, const char *folder, bool is_unified)
{
    (void)snprintf(groups->roots[kind], sizeof(groups->roots[kind]), "%s", folder);
    groups->is_unified[kind] = is_unified;
}

/* A controller that cannot be enabled (version 1 has it, or no permission) is not usable. */
static void find_unified(struct groups *groups, const char *top, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

    strbuf_appendf(&folder, "%s/deft-%s", top, name);
    if (!make_folder(folder.text))
        return;
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        const struct group_names *names = &names_of[i];
        CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;

        strbuf_appendf(&file, "%s/%s", folder.text, names->file);
        if (names->controller[0] != '\0' &&
            (!pass_on(top, names->controller) || !pass_on(folder.text, names->controller)))
            continue;
        if (access(file.text, W_OK) == 0)
            take(groups, i, folder.text, true);
    }
}

static void find_separate(struct groups *groups, const char *top, const char *name)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

        if (groups->roots[i][0] != '\0' || names_of[i].controller[0] == '\0')
            continue;
        strbuf_appendf(&folder, "%s/%s/deft-%s", top, names_of[i].controller, name);
        if (make_folder(folder.text))
            take(groups, i, folder.text, false);
    }
}

static bool is_unified(const char *top)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/cgroup.controllers", top);
    return access(path.text, F_OK) == 0;
}

void groups_find(struct groups *groups, const char *top, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf beside = STRBUF_INIT;

    *groups = (struct groups){.is_unified = {false}};
    strbuf_appendf(&beside, "%s/unified", top);
    if (is_unified(top)) {
        find_unified(groups, top, name);
        return;
    }
    if (is_unified(beside.text))
        find_unified(groups, beside.text, name);
    find_separate(groups, top, name);
}

void groups_remove(const struct groups *groups)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        if (groups->roots[i][0] != '\0')
            (void)rmdir(groups->roots[i]);
    }
}

void groups_describe(const struct groups *groups, char text[64])
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        if (groups->roots[i][0] != '\0')
            strbuf_appendf(&words, "%s%s", words.len > 0 ? ", " : "", names_of[i].words);
    }
    (void)snprintf(text, 64, "%s", words.len > 0 ? words.text : "nothing");
}

/* --- a sandbox's --- */

static void write_number(const struct groups *groups, enum group_kind kind, const char *name,
                         const char *file, int64_t number)
{
    char text[24] = "";

    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    (void)write_file(groups, kind, name, file, text);
}

static void bound_memory(const struct groups *groups, const char *name, int64_t bytes)
{
    if (groups->is_unified[GROUP_MEMORY]) {
        write_number(groups, GROUP_MEMORY, name, "memory.max", bytes);
        write_number(groups, GROUP_MEMORY, name, "memory.swap.max", 0);
        return;
    }
    write_number(groups, GROUP_MEMORY, name, "memory.limit_in_bytes", bytes);
    write_number(groups, GROUP_MEMORY, name, "memory.memsw.limit_in_bytes", bytes);
}

static void bound_cpu(const struct groups *groups, const char *name, int64_t nano_cpus)
{
    int64_t quota_us = nano_cpus / NANO_CPUS_PER_QUOTA_US;
    char both[48] = "";

    if (groups->is_unified[GROUP_CPU]) {
        (void)snprintf(both, sizeof(both), "%lld %d", (long long)quota_us, PERIOD_US);
        (void)write_file(groups, GROUP_CPU, name, "cpu.max", both);
        return;
    }
    write_number(groups, GROUP_CPU, name, "cpu.cfs_period_us", PERIOD_US);
    write_number(groups, GROUP_CPU, name, "cpu.cfs_quota_us", quota_us);
}

void group_make(const struct groups *groups, const char *name, const struct group_limits *limits)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        if (groups->roots[i][0] == '\0')
            continue;
        append_path(groups, (enum group_kind)i, name, "", &path);
        (void)make_folder(groups->roots[i]);
        (void)make_folder(path.text);
    }
    write_number(groups, GROUP_PIDS, name, "pids.max", limits->n_pids);
    bound_memory(groups, name, limits->memory_bytes);
    if (limits->nano_cpus > 0)
        bound_cpu(groups, name, limits->nano_cpus);
}

static bool is_bounded_by(const struct groups *groups, enum group_kind kind, bool is_unified)
{
    return kind != GROUP_LIFE && groups->roots[kind][0] != '\0' &&
           groups->is_unified[kind] == is_unified;
}

/* The first kind with a limit in that version; GROUP_N_KINDS: none. */
static enum group_kind first_bounded_by(const struct groups *groups, bool is_unified)
{
    enum group_kind kind = GROUP_MEMORY;

    while (kind < GROUP_N_KINDS && !is_bounded_by(groups, kind, is_unified))
        kind++;
    return kind;
}

/* Programs expect either one version 2 folder or a folder for each controller. */
bool group_append_view(const struct groups *groups, enum group_kind kind, const char *name,
                       struct strbuf *from, struct strbuf *to)
{
    bool is_whole = first_bounded_by(groups, false) == GROUP_N_KINDS;

    if (!has_group(groups, kind, name) || !is_bounded_by(groups, kind, is_whole) ||
        (is_whole && kind != first_bounded_by(groups, true)))
        return false;
    append_path(groups, kind, name, "", from);
    strbuf_append(to, PLACE);
    if (!is_whole)
        strbuf_appendf(to, "/%s", names_of[kind].controller);
    return true;
}

void group_open(const struct groups *groups, const char *name, int fds[GROUP_N_KINDS])
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        fds[i] = -1;
        if (!has_group(groups, (enum group_kind)i, name))
            continue;
        append_path(groups, (enum group_kind)i, name, "cgroup.procs", &path);
        fds[i] = open(path.text, O_WRONLY | O_CLOEXEC);
    }
}

int group_remove(const struct groups *groups, const char *name, struct error *err)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        if (groups->roots[i][0] == '\0')
            continue;
        append_path(groups, (enum group_kind)i, name, "", &path);
        if (rmdir(path.text) < 0 && errno != ENOENT)
            return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    }
    return 0;
}

/* --- freezing and ending --- */

bool group_has_life(const struct groups *groups, const char *name)
{
    return has_group(groups, GROUP_LIFE, name);
}

/* line: one of cgroup.events, such as "populated 0" or "frozen 1". */
static bool says(int fd, const char *line)
{
    char text[256] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

    /* The group is gone, and so are its processes. */
    return n < 0 || strstr(text, line) != NULL;
}

/* The kernel signals POLLPRI when the file has changed since it was last read. */
static int wait_until_it_says(int fd, const char *line, int64_t wait_ms, struct error *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + wait_ms;
    struct pollfd polled = {.fd = fd, .events = POLLPRI};

    while (!says(fd, line)) {
        int64_t left_ms = deadline_ms - clock_monotonic_ms();

        if (left_ms <= 0)
            return error_set(err, ERROR_TIMEOUT, "the sandbox's programs do not come to '%s'",
                             line);
        (void)poll(&polled, 1, (int)left_ms);
    }
    return 0;
}

static int bring_to(const struct groups *groups, const char *name, const char *wish,
                    const char *line, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    append_path(groups, GROUP_LIFE, name, "cgroup.events", &path);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !write_file(groups, GROUP_LIFE, name, "cgroup.freeze", wish))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox has ended");
    return wait_until_it_says(fd, line, FREEZE_MS, err);
}

int group_freeze(const struct groups *groups, const char *name, struct error *err)
{
    return bring_to(groups, name, "1", "frozen 1", err);
}

int group_thaw(const struct groups *groups, const char *name, struct error *err)
{
    return bring_to(groups, name, "0", "frozen 0", err);
}

bool group_is_frozen(const struct groups *groups, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    return read_file(groups, GROUP_LIFE, name, "cgroup.events", &text) &&
           strstr(text.text, "frozen 1") != NULL;
}

int group_end(const struct groups *groups, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    append_path(groups, GROUP_LIFE, name, "cgroup.events", &path);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !write_file(groups, GROUP_LIFE, name, "cgroup.kill", "1"))
        return 0;
    return wait_until_it_says(fd, "populated 0", END_MS, err);
}

bool group_ran_out_of_memory(const struct groups *groups, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *count = NULL;

    if (!read_file(groups, GROUP_MEMORY, name,
                   groups->is_unified[GROUP_MEMORY] ? "memory.events" : "memory.oom_control",
                   &text))
        return false;
    count = strstr(text.text, "oom_kill ");
    return count != NULL && strtol(count + strlen("oom_kill "), NULL, 10) > 0;
}
