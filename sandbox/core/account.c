#include "sandbox/core/account.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

/* Fields of a line, counted from 0. */
enum { FIELD_NAME = 0, FIELD_UID = 2, FIELD_HOME = 5 };
/*
 * Limits of what is transferred in a home. The engine's file system copies each file of the image
 * that changes its owner, and starting must not wait for that.
 */
enum { GIVE_ENTRIES = 2000, GIVE_BYTES = 16 * 1024 * 1024, GIVE_DEPTH = 16 };
enum { PASSWD_MAX_BYTES = 1024 * 1024 };

static const char passwd_path[] = "/etc/passwd";

void account_done(struct account *account)
{
    strbuf_done(&account->name);
    strbuf_done(&account->home);
}

/* --- reading --- */

/* Start of the field; the end of the line when it has fewer. */
static const char *field(const char *line, int number)
{
    for (; number > 0; number--) {
        line += strcspn(line, ":\n");
        line += *line == ':';
    }
    return line;
}

static void read_field(const char *line, int number, struct strbuf *out)
{
    const char *begin = field(line, number);

    strbuf_reset(out);
    strbuf_append_bytes(out, begin, strcspn(begin, ":\n"));
}

void account_find(const char *passwd, uid_t wanted, struct account *account)
{
    CLEANUP(strbuf_done) struct strbuf uid = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf number = STRBUF_INIT;

    strbuf_appendf(&number, "%u", (unsigned)wanted);
    for (const char *line = passwd; *line != '\0'; line += *line == '\n') {
        read_field(line, FIELD_UID, &uid);
        read_field(line, FIELD_NAME, &account->name);
        if (account->name.len > 0 && text_equal(uid.text, number.text)) {
            read_field(line, FIELD_HOME, &account->home);
            account->uid_at = field(line, FIELD_UID) - passwd;
            return;
        }
        line += strcspn(line, "\n");
    }
    strbuf_reset(&account->name);
}

static void read_file(uid_t uid, struct account *account)
{
    CLEANUP(strbuf_done) struct strbuf passwd = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    error_ignore(file_read(passwd_path, PASSWD_MAX_BYTES, &passwd, &ignored),
                 "without an account nothing is changed");
    account_find(passwd.text, uid, account);
}

void account_read(uid_t uid, struct account *account)
{
    read_file(uid, account);
    if (account->name.len == 0)
        strbuf_appendf(&account->name, "%u", (unsigned)uid);
}

/* --- giving --- */

/* A home being transferred. */
struct transfer {
    uid_t from;
    uid_t to;
    dev_t device;
    int n_entries;
    off_t n_bytes;
};

static bool is_over(const struct transfer *transfer)
{
    return transfer->n_entries > GIVE_ENTRIES || transfer->n_bytes > GIVE_BYTES;
}

/* Files of other users and on other file systems stay unchanged. */
static bool is_to_give(struct transfer *transfer, const struct stat *info)
{
    transfer->n_entries++;
    if (info->st_uid != transfer->from || info->st_dev != transfer->device)
        return false;
    transfer->n_bytes += S_ISREG(info->st_mode) ? info->st_size : 0;
    return !is_over(transfer);
}

static void give_entry(struct transfer *transfer, int folder, const char *name, int depth);

/* NOLINTNEXTLINE(misc-no-recursion): at most GIVE_DEPTH */
static void give_folder(struct transfer *transfer, int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry = NULL;

    if (entries == NULL) {
        fd_close(&fd);
        return;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's */
    for (entry = readdir(entries); entry != NULL && !is_over(transfer); entry = readdir(entries)) {
        if (!text_equal(entry->d_name, ".") && !text_equal(entry->d_name, ".."))
            give_entry(transfer, fd, entry->d_name, depth + 1);
    }
    (void)closedir(entries);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most GIVE_DEPTH */
static void give_entry(struct transfer *transfer, int folder, const char *name, int depth)
{
    struct stat info = {0};

    if (depth > GIVE_DEPTH || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
        !is_to_give(transfer, &info) ||
        fchownat(folder, name, transfer->to, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISDIR(info.st_mode))
        give_folder(transfer, folder, name, depth);
}

static void give_home(const char *home, uid_t from, uid_t to)
{
    struct transfer transfer = {.from = from, .to = to};
    struct stat info = {0};

    if (home[0] != '/' || lstat(home, &info) < 0)
        return;
    transfer.device = info.st_dev;
    give_entry(&transfer, AT_FDCWD, home, 0);
    if (is_over(&transfer))
        log_warning("account.home_too_large", LOG_STR("home", home));
}

/* In place, and only when both uids have the same number of digits, so that nothing else moves. */
static bool write_uid(const struct account *account, uid_t from, uid_t to)
{
    CLEANUP(fd_close) int fd = open(passwd_path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(strbuf_done) struct strbuf was = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf now = STRBUF_INIT;

    strbuf_appendf(&was, "%u", (unsigned)from);
    strbuf_appendf(&now, "%u", (unsigned)to);
    return fd >= 0 && was.len == now.len &&
           pwrite(fd, now.text, now.len, account->uid_at) == (ssize_t)now.len;
}

void account_give(uid_t from, uid_t to)
{
    CLEANUP(account_done) struct account account = ACCOUNT_INIT;

    if (from == to)
        return;
    read_file(from, &account);
    if (account.name.len > 0 && write_uid(&account, from, to))
        give_home(account.home.text, from, to);
}
