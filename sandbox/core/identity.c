#include "sandbox/core/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "sandbox/core/account.h"
#include "sandbox/core/action_config.h"

/* More than any kernel has. */
enum { CAPABILITIES_END = 64 };

/* For a directory without subfolders. Takes ownership of the descriptor. */
static int give_entries(int folder, uid_t uid, gid_t gid)
{
    DIR *entries = fdopendir(folder);
    const struct dirent *entry = NULL;
    int rc = 0;

    if (entries == NULL) {
        fd_close(&folder);
        return -1;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's */
    for (entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (entry->d_name[0] != '.' &&
            fchownat(folder, entry->d_name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
            rc = -1;
    }
    (void)closedir(entries);
    return rc;
}

/* Commands could read a journal that was created while there was only one user. */
static void give_journal(const struct action_config *config)
{
    CLEANUP(fd_close) int folder =
        open(config->journal_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uid_t uid = (uid_t)config->server_uid;
    gid_t gid = (gid_t)config->gid;

    if (folder < 0 || fchown(folder, uid, gid) < 0 || give_entries(fd_take(&folder), uid, gid) < 0)
        log_warning("journal.chown_failed", LOG_STR("folder", config->journal_dir));
}

/* Root's capabilities go with the user change; the bounding set and inheritable ones need this. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};

    (void)syscall(SYS_capset, &header, none);
}

static void drop_bounding_set(void)
{
    for (unsigned long i = 0; i < CAPABILITIES_END; i++)
        (void)prctl(PR_CAPBSET_DROP, i, 0UL, 0UL, 0UL);
}

static int become_both(const struct action_config *config, struct error *err)
{
    gid_t gid = (gid_t)config->gid;
    uid_t server = (uid_t)config->server_uid;

    if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 ||
        setresuid(server, (uid_t)config->command_uid, server) < 0)
        return error_set(err, ERROR_UNAVAILABLE,
                         "the sandbox's users %lld and %lld, or its group %lld: %m; does the "
                         "engine's user namespace map them?",
                         (long long)config->command_uid, (long long)config->server_uid,
                         (long long)config->gid);
    return 0;
}

int identity_take(const struct action_config *config, struct error *err)
{
    if (config->server_uid == 0)
        return 0;
    if (geteuid() != 0) {
        log_warning("identity.not_root", LOG_INT("uid", geteuid()));
        return 0;
    }
    give_journal(config);
    if (config->account_uid > 0)
        account_give((uid_t)config->account_uid, (uid_t)config->command_uid);
    drop_bounding_set();
    if (become_both(config, err) < 0)
        return -1;
    drop_capabilities();
    return 0;
}

int identity_become_commands(void)
{
    uid_t uid = geteuid();

    return getuid() == uid ? 0 : setresuid(uid, uid, uid);
}

bool identity_has_access(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

/* Both users are the process's own: the kernel cannot refuse. */
static void swap(uid_t effective, uid_t saved)
{
    if (setresuid((uid_t)-1, effective, saved) < 0)
        abort();
}

void identity_open_as_server(void)
{
    if (geteuid() != getuid())
        swap(getuid(), geteuid());
}

void identity_open_as_commands(void)
{
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;

    if (getresuid(&real, &effective, &saved) == 0 && saved != real)
        swap(saved, real);
}
