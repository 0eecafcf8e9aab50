#include "runtime/bwrap/cgroup.h"

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

struct cgroup_names {
    const char *controller; /* "": needs none; not available in version 1 */
    const char *file;       /* version 2's */
    const char *words;
};

static const struct cgroup_names names_of[CGROUP_N_KINDS] = {
    [CGROUP_MEMORY] = {"memory", "memory.max", "memory"},
    [CGROUP_PIDS] = {"pids", "pids.max", "processes"},
    [CGROUP_CPU] = {"cpu", "cpu.max", "processors"},
    [CGROUP_FREEZER] = {"", "cgroup.kill", "freezing"},
};

static void append_path(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name,
                        const char *file, struct strbuf *path)
{
    strbuf_appendf(path, "%s/%s%s%s", cgroups->roots[kind], name, file[0] != '\0' ? "/" : "", file);
}

static bool has_group(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (cgroups->roots[kind][0] == '\0')
        return false;
    append_path(cgroups, kind, name, "", &path);
    return access(path.text, F_OK) == 0;
}

static bool write_text(const char *path, const char *text)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
    struct error ignored = ERROR_INIT;

    return fd >= 0 && fd_write_all(fd, text, strlen(text), &ignored) == 0;
}

static bool write_file(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name,
                       const char *file, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    append_path(cgroups, kind, name, file, &path);
    return write_text(path.text, text);
}

static bool read_file(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name,
                      const char *file, struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    append_path(cgroups, kind, name, file, &path);
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

static void set_root(struct cgroups *cgroups, size_t kind, const char *folder, bool is_unified)
{
    (void)snprintf(cgroups->roots[kind], sizeof(cgroups->roots[kind]), "%s", folder);
    cgroups->is_unified[kind] = is_unified;
}

/* A controller that cannot be enabled (version 1 has it, or no permission) is not usable. */
static void find_unified(struct cgroups *cgroups, const char *top, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

    strbuf_appendf(&folder, "%s/deft-%s", top, name);
    if (!make_folder(folder.text))
        return;
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        const struct cgroup_names *names = &names_of[i];
        CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;

        strbuf_appendf(&file, "%s/%s", folder.text, names->file);
        if (names->controller[0] != '\0' &&
            (!pass_on(top, names->controller) || !pass_on(folder.text, names->controller)))
            continue;
        if (access(file.text, W_OK) == 0)
            set_root(cgroups, i, folder.text, true);
    }
}

static void find_separate(struct cgroups *cgroups, const char *top, const char *name)
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

        if (cgroups->roots[i][0] != '\0' || names_of[i].controller[0] == '\0')
            continue;
        strbuf_appendf(&folder, "%s/%s/deft-%s", top, names_of[i].controller, name);
        if (make_folder(folder.text))
            set_root(cgroups, i, folder.text, false);
    }
}

static bool is_unified(const char *top)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/cgroup.controllers", top);
    return access(path.text, F_OK) == 0;
}

void cgroups_find(struct cgroups *cgroups, const char *top, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf beside = STRBUF_INIT;

    *cgroups = (struct cgroups){.is_unified = {false}};
    strbuf_appendf(&beside, "%s/unified", top);
    if (is_unified(top)) {
        find_unified(cgroups, top, name);
        return;
    }
    if (is_unified(beside.text))
        find_unified(cgroups, beside.text, name);
    find_separate(cgroups, top, name);
}

void cgroups_remove(const struct cgroups *cgroups)
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        if (cgroups->roots[i][0] != '\0')
            (void)rmdir(cgroups->roots[i]);
    }
}

void cgroups_describe(const struct cgroups *cgroups, char text[64])
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        if (cgroups->roots[i][0] != '\0')
            strbuf_appendf(&words, "%s%s", words.len > 0 ? ", " : "", names_of[i].words);
    }
    (void)snprintf(text, 64, "%s", words.len > 0 ? words.text : "nothing");
}

/* --- a sandbox's --- */

static void write_number(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name,
                         const char *file, int64_t number)
{
    char text[24] = "";

    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    (void)write_file(cgroups, kind, name, file, text);
}

static void bound_memory(const struct cgroups *cgroups, const char *name, int64_t bytes)
{
    if (cgroups->is_unified[CGROUP_MEMORY]) {
        write_number(cgroups, CGROUP_MEMORY, name, "memory.max", bytes);
        write_number(cgroups, CGROUP_MEMORY, name, "memory.swap.max", 0);
        return;
    }
    write_number(cgroups, CGROUP_MEMORY, name, "memory.limit_in_bytes", bytes);
    write_number(cgroups, CGROUP_MEMORY, name, "memory.memsw.limit_in_bytes", bytes);
}

static void bound_cpu(const struct cgroups *cgroups, const char *name, int64_t nano_cpus)
{
    int64_t quota_us = nano_cpus / NANO_CPUS_PER_QUOTA_US;
    char both[48] = "";

    if (cgroups->is_unified[CGROUP_CPU]) {
        (void)snprintf(both, sizeof(both), "%lld %d", (long long)quota_us, PERIOD_US);
        (void)write_file(cgroups, CGROUP_CPU, name, "cpu.max", both);
        return;
    }
    write_number(cgroups, CGROUP_CPU, name, "cpu.cfs_period_us", PERIOD_US);
    write_number(cgroups, CGROUP_CPU, name, "cpu.cfs_quota_us", quota_us);
}

void cgroup_make(const struct cgroups *cgroups, const char *name,
                 const struct cgroup_limits *limits)
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        if (cgroups->roots[i][0] == '\0')
            continue;
        append_path(cgroups, (enum cgroup_kind)i, name, "", &path);
        (void)make_folder(cgroups->roots[i]);
        (void)make_folder(path.text);
    }
    write_number(cgroups, CGROUP_PIDS, name, "pids.max", limits->n_pids);
    bound_memory(cgroups, name, limits->memory_bytes);
    if (limits->nano_cpus > 0)
        bound_cpu(cgroups, name, limits->nano_cpus);
}

static bool is_bounded_by(const struct cgroups *cgroups, enum cgroup_kind kind, bool is_unified)
{
    return kind != CGROUP_FREEZER && cgroups->roots[kind][0] != '\0' &&
           cgroups->is_unified[kind] == is_unified;
}

/* The first kind with a limit in that version; CGROUP_N_KINDS: none. */
static enum cgroup_kind first_bounded_by(const struct cgroups *cgroups, bool is_unified)
{
    enum cgroup_kind kind = CGROUP_MEMORY;

    while (kind < CGROUP_N_KINDS && !is_bounded_by(cgroups, kind, is_unified))
        kind++;
    return kind;
}

/* Programs expect either one version 2 folder or a folder for each controller. */
bool cgroup_append_mount(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name,
                         struct strbuf *from, struct strbuf *to)
{
    bool is_whole = first_bounded_by(cgroups, false) == CGROUP_N_KINDS;

    if (!has_group(cgroups, kind, name) || !is_bounded_by(cgroups, kind, is_whole) ||
        (is_whole && kind != first_bounded_by(cgroups, true)))
        return false;
    append_path(cgroups, kind, name, "", from);
    strbuf_append(to, PLACE);
    if (!is_whole)
        strbuf_appendf(to, "/%s", names_of[kind].controller);
    return true;
}

void cgroup_open(const struct cgroups *cgroups, const char *name, int fds[CGROUP_N_KINDS])
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        fds[i] = -1;
        if (!has_group(cgroups, (enum cgroup_kind)i, name))
            continue;
        append_path(cgroups, (enum cgroup_kind)i, name, "cgroup.procs", &path);
        fds[i] = open(path.text, O_WRONLY | O_CLOEXEC);
    }
}

int cgroup_remove(const struct cgroups *cgroups, const char *name, struct error *err)
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        if (cgroups->roots[i][0] == '\0')
            continue;
        append_path(cgroups, (enum cgroup_kind)i, name, "", &path);
        if (rmdir(path.text) < 0 && errno != ENOENT)
            return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    }
    return 0;
}

/* --- freezing and ending --- */

bool cgroup_has_freezer(const struct cgroups *cgroups, const char *name)
{
    return has_group(cgroups, CGROUP_FREEZER, name);
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
            return error_set(err, ERROR_TIMEOUT, "the sandbox's programs did not become '%s'",
                             line);
        (void)poll(&polled, 1, (int)left_ms);
    }
    return 0;
}

static int bring_to(const struct cgroups *cgroups, const char *name, const char *wanted,
                    const char *line, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    append_path(cgroups, CGROUP_FREEZER, name, "cgroup.events", &path);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !write_file(cgroups, CGROUP_FREEZER, name, "cgroup.freeze", wanted))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox has ended");
    return wait_until_it_says(fd, line, FREEZE_MS, err);
}

int cgroup_freeze(const struct cgroups *cgroups, const char *name, struct error *err)
{
    return bring_to(cgroups, name, "1", "frozen 1", err);
}

int cgroup_thaw(const struct cgroups *cgroups, const char *name, struct error *err)
{
    return bring_to(cgroups, name, "0", "frozen 0", err);
}

bool cgroup_is_frozen(const struct cgroups *cgroups, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    return read_file(cgroups, CGROUP_FREEZER, name, "cgroup.events", &text) &&
           strstr(text.text, "frozen 1") != NULL;
}

int cgroup_end(const struct cgroups *cgroups, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    append_path(cgroups, CGROUP_FREEZER, name, "cgroup.events", &path);
    fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !write_file(cgroups, CGROUP_FREEZER, name, "cgroup.kill", "1"))
        return 0;
    return wait_until_it_says(fd, "populated 0", END_MS, err);
}

bool cgroup_ran_out_of_memory(const struct cgroups *cgroups, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *count = NULL;

    if (!read_file(cgroups, CGROUP_MEMORY, name,
                   cgroups->is_unified[CGROUP_MEMORY] ? "memory.events" : "memory.oom_control",
                   &text))
        return false;
    count = strstr(text.text, "oom_kill ");
    return count != NULL && strtol(count + strlen("oom_kill "), NULL, 10) > 0;
}
