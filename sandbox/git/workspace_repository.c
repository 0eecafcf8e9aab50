#include "sandbox/git/workspace_repository.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/textfile.h"

/* The minimum that git accepts as a repository. HEAD comes last: without it there is none. */
static const struct part {
    const char *name;
    const char *text; /* NULL: a directory */
} parts[] = {
    {"", NULL},
    {"objects/", NULL},
    {"refs/", NULL},
    {"refs/heads/", NULL},
    {"config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
               "\tlogallrefupdates = true\n"},
    {"HEAD", "ref: refs/heads/main\n"},
};

/*
 * A work tree of another repository has a file instead of the directory. An empty HEAD was left by
 * a killed writer.
 */
static bool has_git(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&path, "%s/.git", folder);
    if (stat(path.text, &info) == 0 && S_ISREG(info.st_mode))
        return true;
    strbuf_append(&path, "/HEAD");
    return stat(path.text, &info) == 0 && info.st_size > 0;
}

/* True when the folder or one above it is a repository. */
static bool is_in_repository(const char *folder)
{
    CLEANUP(mem_freep) char *above = mem_dup_text(folder);
    char *slash = NULL;

    for (;;) {
        if (has_git(above))
            return true;
        slash = strrchr(above, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
}

static int write_part(const char *path, const char *text, struct error *err)
{
    /* O_NONBLOCK: a FIFO in its place would wait for a reader. */
    CLEANUP(fd_close) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "creating %s: %m", path);
    return fd_write_all(fd, text, strlen(text), err);
}

static int make_part(const char *folder, const struct part *part, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/.git/%s", folder, part->name);
    if (part->text != NULL)
        return write_part(path.text, part->text, err);
    if (mkdir(path.text, 0777) < 0 && errno != EEXIST)
        return error_set(err, ERROR_UNAVAILABLE, "creating %s: %m", path.text);
    return 0;
}

int workspace_repository_make_folder(const char *folder, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf inside = STRBUF_INIT;

    strbuf_appendf(&inside, "%s/", folder);
    return textfile_make_parents(inside.text, err);
}

int workspace_repository_init(const char *folder, struct error *err)
{
    if (is_in_repository(folder))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (make_part(folder, &parts[i], err) < 0)
            return -1;
    }
    return 0;
}
