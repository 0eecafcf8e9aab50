#include "runtime/bwrap/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"

#define FILE_MAX_BYTES (1024UL * 1024)
/*
 * Without a version 2 control group, the kernel reports a stopped process only to its parent, and
 * processes that are being forked have to be stopped too. So the tree is polled, at most for this
 * long; nothing else polls.
 */
#define STOP_MS 5000
#define STOP_BEFORE_END_MS 1000
#define LOOK_AGAIN_MS 1
/* In /proc/PID/stat: the state is field 3, the start time field 22. */
#define N_BETWEEN_STATE_AND_START 19

void process_tree_done(struct process_tree *tree)
{
    mem_free(tree->items);
    *tree = (struct process_tree){.items = NULL};
}

static void add(struct process_tree *tree, const struct process_entry *entry)
{
    if ((tree->n & (tree->n - 1)) == 0)
        tree->items = mem_resize(tree->items, (tree->n == 0 ? 1 : 2 * tree->n) * sizeof(*entry));
    tree->items[tree->n++] = *entry;
}

/* In fields separated by blanks. */
static unsigned long long read_start(const char *state)
{
    const char *at = state;

    for (int i = 0; i < N_BETWEEN_STATE_AND_START && at != NULL; i++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* The name, in parentheses, may contain anything: parsing starts after its end. */
bool process_entry_read(pid_t pid, struct process_entry *entry_out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error gone = ERROR_INIT;
    const char *at = NULL;
    char path[32] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (file_read(path, FILE_MAX_BYTES, &text, &gone) < 0)
        return false;
    at = strrchr(text.text, ')');
    if (at == NULL || strlen(at) < 5)
        return false;
    *entry_out = (struct process_entry){.pid = pid,
                                        .state = at[2],
                                        .parent = (pid_t)strtol(at + 4, NULL, 10),
                                        .started = read_start(at + 2)};
    return true;
}

static void read_all(struct process_tree *all)
{
    DIR *proc = opendir("/proc");
    const struct dirent *item = NULL;

    if (proc == NULL)
        return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's */
    for (item = readdir(proc); item != NULL; item = readdir(proc)) {
        struct process_entry entry = {.pid = 0};

        if (isdigit((unsigned char)item->d_name[0]) != 0 &&
            process_entry_read((pid_t)strtol(item->d_name, NULL, 10), &entry))
            add(all, &entry);
    }
    (void)closedir(proc);
}

int process_tree_read(pid_t top, struct process_tree *tree_out, struct error *err)
{
    CLEANUP(process_tree_done) struct process_tree all = {.items = NULL};
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};
    struct process_entry first = {.pid = 0};

    if (!process_entry_read(top, &first))
        return error_set(err, ERROR_NOT_FOUND, "the sandbox has ended");
    read_all(&all);
    add(&tree, &first);
    for (size_t i = 0; i < tree.n; i++) {
        for (size_t j = 0; j < all.n; j++) {
            if (all.items[j].parent == tree.items[i].pid)
                add(&tree, &all.items[j]);
        }
    }
    *tree_out = tree;
    tree = (struct process_tree){.items = NULL};
    return 0;
}

static bool is_held(const struct process_entry *entry)
{
    return strchr("TtZX", entry->state) != NULL;
}

static bool has_waiting_parent(const struct process_tree *tree, const struct process_entry *entry)
{
    for (size_t i = 0; i < tree->n; i++) {
        if (tree->items[i].pid == entry->parent)
            return tree->items[i].state == 'D';
    }
    return false;
}

/*
 * Returns the number of processes that were still running. After vfork(2), a parent cannot stop
 * before its child calls exec: such a child runs until then.
 */
static size_t stop_all(const struct process_tree *tree)
{
    size_t n_free = 0;

    for (size_t i = 0; i < tree->n; i++) {
        bool is_to_run = has_waiting_parent(tree, &tree->items[i]);

        if (is_held(&tree->items[i]) && !is_to_run)
            continue;
        n_free++;
        (void)kill(tree->items[i].pid, is_to_run ? SIGCONT : SIGSTOP);
    }
    return n_free;
}

static int stop_within(pid_t top, int64_t wait_ms, struct error *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + wait_ms;

    while (clock_monotonic_ms() < deadline_ms) {
        CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};

        if (process_tree_read(top, &tree, err) < 0)
            return -1;
        if (stop_all(&tree) == 0)
            return 0;
        (void)poll(NULL, 0, LOOK_AGAIN_MS);
    }
    return error_set(err, ERROR_TIMEOUT, "the sandbox's programs cannot be stopped");
}

int process_tree_stop(pid_t top, struct error *err)
{
    return stop_within(top, STOP_MS, err);
}

static int signal_all(pid_t top, int signal, struct error *err)
{
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};

    if (process_tree_read(top, &tree, err) < 0)
        return -1;
    for (size_t i = tree.n; i > 0; i--)
        (void)kill(tree.items[i - 1].pid, signal);
    return 0;
}

int process_tree_continue(pid_t top, struct error *err)
{
    return signal_all(top, SIGCONT, err);
}

int process_tree_end(pid_t top, struct error *err)
{
    struct error running = ERROR_INIT;

    error_ignore(stop_within(top, STOP_BEFORE_END_MS, &running), "they are killed anyway");
    return signal_all(top, SIGKILL, err);
}

bool process_tree_is_stopped(pid_t top)
{
    struct process_entry entry = {.pid = 0};

    return process_entry_read(top, &entry) && (entry.state == 'T' || entry.state == 't');
}

/* --- at rest --- */

static bool has_children(const struct process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->n; i++) {
        if (tree->items[i].parent == pid && tree->items[i].state != 'Z')
            return true;
    }
    return false;
}

/* A conversation's shell at its terminal: its last argument is "-i". */
static bool is_shell(pid_t pid)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error gone = ERROR_INIT;
    char path[32] = "";
    static const char ending[] = "\0-i";

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    if (file_read(path, FILE_MAX_BYTES, &text, &gone) < 0 || text.len < sizeof(ending))
        return false;
    return memcmp(text.text + text.len - sizeof(ending), ending, sizeof(ending)) == 0;
}

/* By its first argument, the path that was executed. */
static bool is_server(pid_t pid)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error gone = ERROR_INIT;
    char path[32] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    return file_read(path, FILE_MAX_BYTES, &text, &gone) == 0 &&
           text_ends_with(text.text, "/" ACTION_NAME);
}

static size_t find_server(const struct process_tree *tree)
{
    return tree->n > 0 && is_server(tree->items[0].pid) ? 0 : 1;
}

pid_t process_tree_server(const struct process_tree *tree)
{
    size_t i = find_server(tree);

    return i < tree->n ? tree->items[i].pid : 0;
}

bool process_tree_is_at_rest(const struct process_tree *tree)
{
    for (size_t i = find_server(tree) + 1; i < tree->n; i++) {
        const struct process_entry *entry = &tree->items[i];

        if (entry->state != 'Z' && !(is_shell(entry->pid) && !has_children(tree, entry->pid)))
            return false;
    }
    return tree->n > 0;
}
