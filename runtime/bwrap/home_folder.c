#include "runtime/bwrap/home_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/bwrap/box_end.h"
#include "runtime/bwrap/bwrap_host.h"

/* A range that distributions, engines and systemd leave free; each home has one uid of it. */
#define FIRST_UID 1900000000U
#define HOME_BYTES 5
#define UID_DIGITS 6

uid_t home_uid(const char *home)
{
    char digits[UID_DIGITS + 1] = "";

    if (geteuid() != 0)
        return geteuid();
    (void)snprintf(digits, sizeof(digits), "%s", home);
    return (uid_t)(FIRST_UID + strtoul(digits, NULL, 16));
}

void home_append_path(const struct bwrap_host *host, const char *home, const char *part,
                      struct strbuf *path)
{
    strbuf_appendf(path, "%s/homes/%s%s%s", host->settings.folder, home, part[0] != '\0' ? "/" : "",
                   part);
}

/* Follows no link, since a sandbox may have put it there. Sets the mode whatever the umask is. */
static int give_to(const char *path, uid_t uid, struct error *err)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || (uid != geteuid() && fchown(fd, uid, uid) < 0) || fchmod(fd, 0700) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path);
    return 0;
}

static int make_part(const struct bwrap_host *host, const char *home, const char *part,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    home_append_path(host, home, part, &path);
    if (mkdir(path.text, 0700) < 0)
        return errno == EEXIST ? 0 : error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    return give_to(path.text, home_uid(home), err);
}

int home_make(const struct bwrap_host *host, const char *home, struct error *err)
{
    static const char *const parts[] = {"", "workspace", "workspace/project", "journal", "user"};

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (make_part(host, home, parts[i], err) < 0)
            return error_wrap(err, "creating a workspace");
    }
    return 0;
}

int home_make_new(struct bwrap_host *host, char home_out[BACKEND_NAME_BYTES], struct error *err)
{
    unsigned char bytes[HOME_BYTES];
    char home[2 * HOME_BYTES + 1] = "";

    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), home);
    /* Registered before it exists, so that a concurrent sweep does not remove it. */
    prealloc_add_used(host->prealloc, PREALLOC_HOME, home);
    if (home_make(host, home, err) < 0) {
        prealloc_forget(host->prealloc, PREALLOC_HOME, home);
        return -1;
    }
    (void)snprintf(home_out, BACKEND_NAME_BYTES, "%s", home);
    return 0;
}

int home_remove(struct bwrap_host *host, const char *home, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (strspn(home, "0123456789abcdef") != strlen(home) || home[0] == '\0')
        return error_set(err, ERROR_INVALID, "'%.40s' is not a workspace name", home);
    home_append_path(host, home, "", &path);
    if (bwrap_folder_remove(path.text, err) < 0)
        return error_wrap(err, "removing a workspace");
    prealloc_forget(host->prealloc, PREALLOC_HOME, home);
    return 0;
}

static bool is_kept(const struct kept_names *kept, const char *home)
{
    for (size_t i = 0; i < kept->n_homes; i++) {
        if (text_equal(kept->homes[i], home))
            return true;
    }
    return false;
}

static void sweep(struct bwrap_host *host, const char *home)
{
    struct error err = ERROR_INIT;

    if (home_remove(host, home, &err) == 0)
        log_info("home.removed", LOG_STR("home", home));
    else
        log_warning("home.remove_failed", LOG_STR("home", home), LOG_ERROR(&err));
}

/* Order matters: first existing homes, then those handed out, then those in rows. A home only moves
 * from handed out to rows, so one in neither is a leftover. */
int homes_tidy(struct bwrap_host *host, const struct kept_source *source, struct error *err)
{
    CLEANUP(kept_names_done) struct kept_names kept = {.networks = NULL};
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    struct dirent **entries = NULL;
    bool *is_known = NULL;
    int rc = 0;
    int n = 0;

    strbuf_appendf(&folder, "%s/homes", host->settings.folder);
    n = scandir(folder.text, &entries, NULL, alphasort);
    if (n < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", folder.text);
    is_known = mem_alloc_array((size_t)n + 1, sizeof(*is_known));
    for (int i = 0; i < n; i++)
        is_known[i] = entries[i]->d_name[0] == '.' ||
                      prealloc_has(host->prealloc, PREALLOC_HOME, entries[i]->d_name);
    rc = source->load(source->context, &kept, err);
    for (int i = 0; i < n; i++) {
        if (rc == 0 && !is_known[i] && !is_kept(&kept, entries[i]->d_name))
            sweep(host, entries[i]->d_name);
        free(entries[i]);
    }
    mem_free(is_known);
    free((void *)entries);
    return rc;
}
