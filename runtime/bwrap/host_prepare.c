#include "runtime/bwrap/host_prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/backend/seccomp_filter.h"
#include "runtime/bwrap/bwrap_arguments.h"
#include "runtime/bwrap/bwrap_host.h"
#include "runtime/bwrap/bwrap_image.h"
#include "runtime/bwrap/home_folder.h"
#include "runtime/bwrap/process_spawn.h"

#define ACTION_MAX_BYTES (64UL * 1024 * 1024)
#define CA_MAX_BYTES (4UL * 1024 * 1024)
#define HASH_DIGITS 12
#define TRIAL_HOME "000000"

struct agent_file {
    const char *name;
    mode_t mode;
    struct strbuf bytes;
};

enum {
    AGENT_FILE_ACTION,
    AGENT_FILE_BUNDLE,
    AGENT_FILE_USERS,
    AGENT_FILE_GROUPS,
    AGENT_FILE_FILTER,
    N_FITTINGS
};

struct agent_files {
    struct agent_file items[N_FITTINGS];
};

static void agent_files_done(struct agent_files *agent_build)
{
    for (size_t i = 0; i < N_FITTINGS; i++)
        strbuf_done(&agent_build->items[i].bytes);
}

void agent_folder_append_path(const struct bwrap_host *host, const char *file, struct strbuf *path)
{
    strbuf_appendf(path, "%s/fittings/%s%s%s", host->settings.folder, host->agent_build,
                   file[0] != '\0' ? "/" : "", file);
}

static void list_users(struct agent_files *agent_build)
{
    strbuf_appendf(&agent_build->items[AGENT_FILE_USERS].bytes,
                   "root:x:0:0:root:/root:/bin/sh\n"
                   "deft:x:%d:%d::/home/deft:/bin/bash\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
                   SANDBOX_UID, SANDBOX_UID);
    strbuf_appendf(&agent_build->items[AGENT_FILE_GROUPS].bytes,
                   "root:x:0:\ndeft:x:%d:\nnogroup:x:65534:\n", SANDBOX_UID);
}

/* Compiles the seccomp profile in memory. */
static int compile(const struct bwrap_host *host, struct strbuf *program, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    if (host->settings.seccomp_profile[0] == '\0')
        return 0;
    fd = memfd_create("deft-seccomp", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memfd_create: %m");
    if (seccomp_filter_write(host->settings.seccomp_profile, fd, err) < 0)
        return error_wrap(err, "DEFT_SANDBOX_SECCOMP");
    strbuf_appendf(&path, "/proc/self/fd/%d", fd);
    return file_read(path.text, CA_MAX_BYTES, program, err);
}

static int read_agent_files(const struct bwrap_host *host, struct agent_files *agent_build,
                            struct error *err)
{
    struct error missing = ERROR_INIT;

    *agent_build = (struct agent_files){.items = {{ACTION_NAME, 0555, STRBUF_INIT},
                                                  {CA_NAME, 0444, STRBUF_INIT},
                                                  {"passwd", 0444, STRBUF_INIT},
                                                  {"group", 0444, STRBUF_INIT},
                                                  {"filter", 0444, STRBUF_INIT}}};
    list_users(agent_build);
    if (file_read(host->settings.action_binary, ACTION_MAX_BYTES,
                  &agent_build->items[AGENT_FILE_ACTION].bytes, err) < 0)
        return error_wrap(err, "DEFT_ACTION_BINARY");
    /* Sandboxes may start on a host without certificates. */
    if (host->settings.ca_bundle[0] != '\0' &&
        file_read(host->settings.ca_bundle, CA_MAX_BYTES,
                  &agent_build->items[AGENT_FILE_BUNDLE].bytes, &missing) < 0 &&
        missing.code != ERROR_NOT_FOUND) {
        *err = missing;
        return error_wrap(err, "DEFT_SANDBOX_CA_BUNDLE");
    }
    return compile(host, &agent_build->items[AGENT_FILE_FILTER].bytes, err);
}

static void name_agent_build(const struct agent_files *agent_build, char name[AGENT_BUILD_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf hashes = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    for (size_t i = 0; i < N_FITTINGS; i++) {
        crypto_sha256_hex(agent_build->items[i].bytes.text, agent_build->items[i].bytes.len, hash);
        strbuf_append(&hashes, hash);
    }
    crypto_sha256_hex(hashes.text, hashes.len, hash);
    (void)snprintf(name, AGENT_BUILD_BYTES, "%.*s", HASH_DIGITS, hash);
}

int host_name_agent_build(struct bwrap_host *host, struct error *err)
{
    CLEANUP(agent_files_done) struct agent_files agent_build = {.items = {{.name = NULL}}};

    if (read_agent_files(host, &agent_build, err) < 0)
        return -1;
    name_agent_build(&agent_build, host->agent_build);
    return 0;
}

/* --- on the disk --- */

static int make_folder(const char *path, mode_t mode, struct error *err)
{
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path);
    /* mkdir() applies the umask. */
    if (chmod(path, mode) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path);
    return 0;
}

static int make_folders(const struct bwrap_host *host, struct error *err)
{
    static const struct {
        const char *name;
        mode_t mode;
    } folders[] = {{"", 0711}, {"/boxes", 0700}, {"/homes", 0711}, {"/fittings", 0711}};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "%s%s", host->settings.folder, folders[i].name);
        if (make_folder(path.text, folders[i].mode, err) < 0)
            return -1;
    }
    return 0;
}

/* Written under another name first: an existing file is complete. */
static int write_agent_file(const struct agent_file *fitting, const char *folder, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf part = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    strbuf_appendf(&path, "%s/%s", folder, fitting->name);
    strbuf_appendf(&part, "%s.new", path.text);
    if (fitting->bytes.len == 0 || access(path.text, F_OK) == 0)
        return 0;
    fd = open(part.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", part.text);
    if (fd_write_all(fd, fitting->bytes.text, fitting->bytes.len, err) < 0)
        return error_wrap(err, "%s", part.text);
    if (fchmod(fd, fitting->mode) < 0 || rename(part.text, path.text) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    return 0;
}

static int lay_out(const struct bwrap_host *host, struct error *err)
{
    CLEANUP(agent_files_done) struct agent_files agent_build = {.items = {{.name = NULL}}};
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    char name[AGENT_BUILD_BYTES] = "";

    if (read_agent_files(host, &agent_build, err) < 0)
        return -1;
    name_agent_build(&agent_build, name);
    if (!text_equal(name, host->agent_build))
        return error_set(err, ERROR_CONFLICT,
                         "%s, or the CA bundle, was changed after the start; restart this service",
                         host->settings.action_binary);
    agent_folder_append_path(host, "", &folder);
    if (make_folder(folder.text, 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < N_FITTINGS; i++) {
        if (write_agent_file(&agent_build.items[i], folder.text, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the trial --- */

static void read_said(int fd, char said[160])
{
    ssize_t n = pread(fd, said, 159, 0);

    said[n > 0 ? n : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
}

/* As a start does: a kernel setting or distribution policy that forbids that forbids this. */
static int try_bubblewrap(struct error *err)
{
    static const char *const argv[] = {
        "bwrap",  "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/",
        "--proc", "/proc",          "--dev",         "/dev",          "true",      NULL};
    static const char *const environment[] = {"LC_ALL=C", NULL};
    CLEANUP(fd_close) int said = memfd_create("deft", MFD_CLOEXEC);
    struct spawn_options plan = {.argv = argv,
                                 .environment = environment,
                                 .uid = home_uid(TRIAL_HOME),
                                 .fds = {-1, said, said},
                                 .n_fds = 3};
    char text[160] = "";
    pid_t pid = -1;
    int status = 0;

    if (said < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memfd_create: %m");
    if (spawn_start(&plan, &pid, err) < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return error_set(err, ERROR_UNAVAILABLE, "waitpid: %m");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    read_said(said, text);
    return error_set(err, ERROR_UNAVAILABLE,
                     "bubblewrap cannot create a sandbox (is it installed, and are user namespaces "
                     "allowed?): %s",
                     text);
}

int host_prepare(struct bwrap_host *host, struct error *err)
{
    char bounds[64] = "";

    if (make_folders(host, err) < 0 || lay_out(host, err) < 0 || try_bubblewrap(err) < 0)
        return -1;
    cgroups_describe(&host->cgroups, bounds);
    log_warning("isolation.reduced",
                LOG_STR("meaning", "sandboxes run as processes of this host: they share its "
                                   "kernel, and no packet filter restricts them"),
                LOG_STR("network", host->settings.network), LOG_STR("control_groups", bounds),
                LOG_STR("files", bwrap_image_id(host)));
    return 0;
}
