#include "runtime/process_group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"

#define TOP "/sys/fs/cgroup"
#define FILE_MAX_BYTES (64UL * 1024)
/* Freezing takes as long as the slowest call into the kernel that is under way. */
#define FREEZE_MS 5000
#define EMPTY_MS 2000
#define LOOK_AGAIN_NS 1000000L

/* A hierarchy's folder and files, in version 1 and in version 2. */
struct group_names {
    const char *controller;
    const char *words;
};

static const struct group_names names_of[GROUP_N_KINDS] = {
    [GROUP_MEMORY] = {"memory", "memory"},
    [GROUP_PIDS] = {"pids", "processes"},
    [GROUP_FREEZER] = {"freezer", "freezing"},
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

/* --- what there is --- */

static bool make_folder(const char *path)
{
    return mkdir(path, 0755) == 0 || access(path, W_OK) == 0;
}

/* All in one tree: what the top does not pass on cannot be bounded below it. */
static void find_unified(struct groups *groups, const char *name)
{
    static const char *const files[GROUP_N_KINDS] = {[GROUP_MEMORY] = "memory.max",
                                                     [GROUP_PIDS] = "pids.max",
                                                     [GROUP_FREEZER] = "cgroup.freeze"};
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf control = STRBUF_INIT;

    groups->is_unified = true;
    strbuf_appendf(&folder, TOP "/deft-%s", name);
    if (!make_folder(folder.text))
        return;
    (void)write_text(TOP "/cgroup.subtree_control", "+memory +pids");
    strbuf_appendf(&control, "%s/cgroup.subtree_control", folder.text);
    (void)write_text(control.text, "+memory");
    (void)write_text(control.text, "+pids");
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;

        strbuf_appendf(&file, "%s/%s", folder.text, files[i]);
        if (access(file.text, W_OK) == 0)
            (void)snprintf(groups->roots[i], sizeof(groups->roots[i]), "%s", folder.text);
    }
}

static void find_separate(struct groups *groups, const char *name)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

        strbuf_appendf(&folder, TOP "/%s/deft-%s", names_of[i].controller, name);
        if (make_folder(folder.text))
            (void)snprintf(groups->roots[i], sizeof(groups->roots[i]), "%s", folder.text);
    }
}

void groups_find(struct groups *groups, const char *name)
{
    *groups = (struct groups){.is_unified = false};
    if (access(TOP "/cgroup.controllers", F_OK) == 0)
        find_unified(groups, name);
    else
        find_separate(groups, name);
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

static void bound(const struct groups *groups, const char *name, const struct group_limits *limits)
{
    char memory[24] = "";
    char pids[24] = "";

    (void)snprintf(memory, sizeof(memory), "%lld", (long long)limits->memory_bytes);
    (void)snprintf(pids, sizeof(pids), "%lld", (long long)limits->n_pids);
    (void)write_file(groups, GROUP_PIDS, name, "pids.max", pids);
    if (groups->is_unified) {
        (void)write_file(groups, GROUP_MEMORY, name, "memory.max", memory);
        (void)write_file(groups, GROUP_MEMORY, name, "memory.swap.max", "0");
        return;
    }
    (void)write_file(groups, GROUP_MEMORY, name, "memory.limit_in_bytes", memory);
    (void)write_file(groups, GROUP_MEMORY, name, "memory.memsw.limit_in_bytes", memory);
}

void group_make(const struct groups *groups, const char *name, const struct group_limits *limits)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        if (groups->roots[i][0] == '\0')
            continue;
        append_path(groups, (enum group_kind)i, name, "", &path);
        (void)mkdir(groups->roots[i], 0755);
        (void)mkdir(path.text, 0755);
    }
    bound(groups, name, limits);
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

/* Bubblewrap itself is in it, too, and ends a moment after its sandbox. */
static void remove_when_empty(const char *path)
{
    const struct timespec moment = {.tv_nsec = LOOK_AGAIN_NS};
    int64_t deadline_ms = clock_monotonic_ms() + EMPTY_MS;

    while (rmdir(path) < 0 && errno == EBUSY && clock_monotonic_ms() < deadline_ms)
        (void)nanosleep(&moment, NULL);
}

void group_remove(const struct groups *groups, const char *name)
{
    for (size_t i = 0; i < GROUP_N_KINDS; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        if (groups->roots[i][0] == '\0')
            continue;
        append_path(groups, (enum group_kind)i, name, "", &path);
        remove_when_empty(path.text);
    }
}

/* --- holding it still --- */

bool group_has_freezer(const struct groups *groups, const char *name)
{
    return has_group(groups, GROUP_FREEZER, name);
}

bool group_is_frozen(const struct groups *groups, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (groups->is_unified)
        return read_file(groups, GROUP_FREEZER, name, "cgroup.events", &text) &&
               strstr(text.text, "frozen 1") != NULL;
    return read_file(groups, GROUP_FREEZER, name, "freezer.state", &text) &&
           text_starts_with(text.text, "FROZEN");
}

/* Version 1 tells nobody when it is done. */
static int bring_to(const struct groups *groups, const char *name, bool is_frozen,
                    struct error *err)
{
    const struct timespec moment = {.tv_nsec = LOOK_AGAIN_NS};
    int64_t deadline_ms = clock_monotonic_ms() + FREEZE_MS;
    const char *file = groups->is_unified ? "cgroup.freeze" : "freezer.state";
    const char *text = is_frozen ? "FROZEN" : "THAWED";

    if (groups->is_unified)
        text = is_frozen ? "1" : "0";
    if (!write_file(groups, GROUP_FREEZER, name, file, text))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox has ended");
    while (group_is_frozen(groups, name) != is_frozen) {
        if (clock_monotonic_ms() > deadline_ms)
            return error_set(err, ERROR_TIMEOUT, "the sandbox's programs do not stand still");
        (void)nanosleep(&moment, NULL);
    }
    return 0;
}

int group_freeze(const struct groups *groups, const char *name, struct error *err)
{
    return bring_to(groups, name, true, err);
}

int group_thaw(const struct groups *groups, const char *name, struct error *err)
{
    return bring_to(groups, name, false, err);
}

bool group_ran_out_of_memory(const struct groups *groups, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *count = NULL;

    if (!read_file(groups, GROUP_MEMORY, name,
                   groups->is_unified ? "memory.events" : "memory.oom_control", &text))
        return false;
    count = strstr(text.text, "oom_kill ");
    return count != NULL && strtol(count + strlen("oom_kill "), NULL, 10) > 0;
}
