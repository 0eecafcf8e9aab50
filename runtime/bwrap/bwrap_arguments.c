#include "runtime/bwrap/bwrap_arguments.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"

#define NUMBER_BYTES 24
#define USER_HOME "/home/deft"

/* Entries of a tree that are created anew, or that a sandbox must not see. */
static const char *const own_entries[] = {"proc", "dev", "sys",   "tmp",       "run",       "home",
                                          "boot", "mnt", "media", "workspace", "lost+found"};

/* Without a tree: the host's programs and the configuration that they need. */
static const char *const host_entries[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
static const char *const host_settings[] = {
    "alternatives",  "bash.bashrc", "ca-certificates", "ca-certificates.conf",
    "fonts",         "inputrc",     "ld.so.cache",     "ld.so.conf",
    "ld.so.conf.d",  "localtime",   "mime.types",      "nanorc",
    "nsswitch.conf", "perl",        "profile",         "protocols",
    "python3",       "services",    "ssl/certs",       "ssl/openssl.cnf",
    "terminfo",      "vim",         "chromium",
};

void arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->n; i++)
        mem_free(arguments->items[i]);
    mem_free((void *)arguments->items);
    *arguments = (struct arguments){.items = NULL};
}

void arguments_add(struct arguments *arguments, const char *text)
{
    arguments->items = (char **)mem_resize((void *)arguments->items,
                                           (arguments->n + 2) * sizeof(arguments->items[0]));
    arguments->items[arguments->n++] = mem_dup_text(text);
    arguments->items[arguments->n] = NULL;
}

/* Adds up to three words; "" ends them. */
static void add(struct arguments *arguments, const char *first, const char *second,
                const char *third)
{
    arguments_add(arguments, first);
    if (second[0] != '\0')
        arguments_add(arguments, second);
    if (third[0] != '\0')
        arguments_add(arguments, third);
}

static void add_tmpfs(struct arguments *arguments, const char *path, int64_t size_bytes)
{
    char number[NUMBER_BYTES] = "";

    (void)snprintf(number, sizeof(number), "%lld", (long long)size_bytes);
    add(arguments, "--size", number, "");
    add(arguments, "--perms", "1777", "");
    add(arguments, "--tmpfs", path, "");
}

static bool is_own_entry(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(own_entries); i++) {
        if (text_equal(own_entries[i], name))
            return true;
    }
    return name[0] == '.';
}

/* Keeps symbolic links, so that "/bin" is "/usr/bin" in the sandbox too. */
static void add_entry(struct arguments *arguments, const char *root, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf from = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf to = STRBUF_INIT;
    char target[PATH_MAX] = "";
    struct stat facts = {.st_mode = 0};
    ssize_t len = 0;

    strbuf_appendf(&from, "%s/%s", root, name);
    strbuf_appendf(&to, "/%s", name);
    if (lstat(from.text, &facts) < 0)
        return;
    if (!S_ISLNK(facts.st_mode)) {
        add(arguments, "--ro-bind", from.text, to.text);
        return;
    }
    len = readlink(from.text, target, sizeof(target) - 1);
    if (len <= 0)
        return;
    target[len] = '\0';
    add(arguments, "--symlink", target, to.text);
}

static int add_tree(struct arguments *arguments, const char *root, struct error *err)
{
    struct dirent **entries = NULL;
    int n = scandir(root, &entries, NULL, alphasort);

    if (n < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", root);
    for (int i = 0; i < n; i++) {
        if (!is_own_entry(entries[i]->d_name))
            add_entry(arguments, root, entries[i]->d_name);
        free(entries[i]);
    }
    free((void *)entries);
    return 0;
}

/* The sandbox has its own short user and group lists instead of the host's. */
static void add_host(struct arguments *arguments, const struct bwrap_paths *places)
{
    static const char *const lists[] = {"passwd", "group"};

    for (size_t i = 0; i < ARRAY_SIZE(host_entries); i++)
        add_entry(arguments, "", host_entries[i]);
    for (size_t i = 0; i < ARRAY_SIZE(host_settings); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "/etc/%s", host_settings[i]);
        add(arguments, "--ro-bind-try", path.text, path.text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        CLEANUP(strbuf_done) struct strbuf from = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf to = STRBUF_INIT;

        strbuf_appendf(&from, "%s/%s", places->agent_build, lists[i]);
        strbuf_appendf(&to, "/etc/%s", lists[i]);
        add(arguments, "--ro-bind", from.text, to.text);
    }
}

static void add_namespaces(struct arguments *arguments, const struct bwrap_paths *places)
{
    static const char *const kinds[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
                                        "--unshare-uts", "--unshare-cgroup-try"};
    char uid[NUMBER_BYTES] = "";

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        add(arguments, kinds[i], "", "");
    /* The server is the first process: nothing inside can end or stop it, and all end with it. */
    add(arguments, "--as-pid-1", "", "");
    if (!places->has_host_network)
        add(arguments, "--unshare-net", "", "");
    (void)snprintf(uid, sizeof(uid), "%d", SANDBOX_UID);
    add(arguments, "--uid", uid, "");
    add(arguments, "--gid", uid, "");
    add(arguments, "--hostname", "sandbox", "");
    add(arguments, "--new-session", "", "");
}

static void add_descriptors(struct arguments *arguments, const struct bwrap_paths *places)
{
    char number[NUMBER_BYTES] = "";

    (void)snprintf(number, sizeof(number), "%d", BWRAP_STATUS_FD);
    add(arguments, "--json-status-fd", number, "");
    if (!places->has_seccomp)
        return;
    (void)snprintf(number, sizeof(number), "%d", BWRAP_SECCOMP_FD);
    add(arguments, "--seccomp", number, "");
}

/* Order matters: later mounts cover earlier ones. The root is in memory, read-only at the end. */
int bwrap_arguments_append(struct arguments *arguments, const struct bwrap_paths *places,
                           struct error *err)
{
    arguments_add(arguments, "bwrap");
    add_namespaces(arguments, places);
    add_descriptors(arguments, places);
    if (places->root[0] == '\0')
        add_host(arguments, places);
    else if (add_tree(arguments, places->root, err) < 0)
        return -1;
    if (places->has_host_network)
        add(arguments, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf");
    add(arguments, "--proc", "/proc", "");
    add(arguments, "--dev", "/dev", "");
    add_tmpfs(arguments, "/dev/shm", places->shm_bytes);
    add_tmpfs(arguments, "/tmp", places->tmp_bytes);
    add_tmpfs(arguments, "/var/tmp", places->tmp_bytes);
    add_tmpfs(arguments, "/run", places->shm_bytes);
    add(arguments, "--ro-bind", places->agent_build, ACTION_MOUNT);
    add(arguments, "--bind", places->journal, JOURNAL_MOUNT);
    add(arguments, "--bind", places->workspace, WORKSPACE_MOUNT);
    add(arguments, "--bind", places->user, USER_HOME);
    for (size_t i = 0; i < places->n_views; i++)
        add(arguments, "--ro-bind", places->views[i].from, places->views[i].to);
    add(arguments, "--remount-ro", "/", "");
    add(arguments, "--chdir", WORKSPACE_MOUNT, "");
    return 0;
}
