#include "sandbox/files/project_roots.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sandbox_variables.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"

enum { HEAD_MAX_BYTES = 4096, SYSTEM_MAX_BYTES = 16384, ENTRIES_MAX = 1000 };

#define BRANCH_PREFIX "ref: refs/heads/"
#define FOLDER_PREFIX "gitdir: "
#define SYSTEM_FILE "/etc/os-release"
#define SYSTEM_NAME "PRETTY_NAME="

static bool has_git(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf mark = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&mark, "%s/.git", folder);
    return lstat(mark.text, &info) == 0;
}

void project_root_find(const char *folder, struct strbuf *root)
{
    strbuf_append(root, folder);
    while (root->len > 0 && !has_git(root->text)) {
        while (root->len > 0 && root->text[root->len - 1] != '/')
            strbuf_truncate(root, root->len - 1);
        strbuf_truncate(root, root->len > 0 ? root->len - 1 : 0);
    }
}

void project_clone_find(const char *folder, struct strbuf *clone)
{
    DIR *entries = has_git(folder) ? NULL : opendir(folder);
    size_t n_found = 0;

    if (entries == NULL)
        return;
    for (int i = 0; i < ENTRIES_MAX && n_found < 2; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, a stream of its own */
        const struct dirent *entry = readdir(entries);

        if (entry == NULL)
            break;
        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        strbuf_appendf(&path, "%s/%s", folder, entry->d_name);
        if (!has_git(path.text))
            continue;
        n_found++;
        strbuf_reset(clone);
        strbuf_append(clone, path.text);
    }
    (void)closedir(entries);
    if (n_found != 1)
        strbuf_reset(clone);
}

/* Appends a regular file's text; nothing if it cannot be read. */
static void read_regular(const char *path, size_t max_bytes, struct strbuf *text)
{
    struct stat info;
    struct error ignored = ERROR_INIT;

    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        error_ignore(file_read(path, max_bytes, text, &ignored), "then it is unknown");
}

static void cut_line(struct strbuf *text)
{
    strbuf_truncate(text, strcspn(text->text, "\r\n"));
}

/* Appends the path of a repository's folder of git: a worktree has a file that names it. */
static void find_git_folder(const char *root, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf mark = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *named = "";

    strbuf_appendf(&mark, "%s/.git", root);
    read_regular(mark.text, HEAD_MAX_BYTES, &text);
    cut_line(&text);
    if (text_starts_with(text.text, FOLDER_PREFIX))
        named = text.text + strlen(FOLDER_PREFIX);
    if (named[0] == '\0')
        strbuf_append(out, mark.text);
    else if (named[0] == '/')
        strbuf_append(out, named);
    else
        strbuf_appendf(out, "%s/%s", root, named);
}

static void put_head(json_t *summary, const char *root)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;

    find_git_folder(root, &path);
    strbuf_append(&path, "/HEAD");
    read_regular(path.text, HEAD_MAX_BYTES, &head);
    cut_line(&head);
    if (text_starts_with(head.text, BRANCH_PREFIX))
        json_put_text(summary, "branch", head.text + strlen(BRANCH_PREFIX));
    else if (head.len > 0)
        json_put_text(summary, "commit", head.text);
}

static void put_system(json_t *summary)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *line = NULL;
    size_t len = 0;

    read_regular(SYSTEM_FILE, SYSTEM_MAX_BYTES, &text);
    line =
        text_starts_with(text.text, SYSTEM_NAME) ? text.text : strstr(text.text, "\n" SYSTEM_NAME);
    if (line == NULL)
        return;
    line = strchr(line, '=') + 1;
    line += strspn(line, "\"'");
    len = strcspn(line, "\"'\r\n");
    json_put(summary, "system", json_text(line, len));
}

static void put_variable(json_t *summary, const char *member, const char *name)
{
    const char *value = child_process_variable(name);

    if (value[0] != '\0')
        json_put_text(summary, member, value);
}

static void put_ports(json_t *summary)
{
    static const char *const names[] = {"WORKER_1", "WORKER_2"};
    CLEANUP(strbuf_done) struct strbuf ports = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *port = child_process_variable(names[i]);

        if (port[0] != '\0')
            strbuf_appendf(&ports, "%s%s", ports.len > 0 ? ", " : "", port);
    }
    if (ports.len > 0)
        json_put(summary, "ports", json_text(ports.text, ports.len));
}

json_t *project_summary(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;
    json_t *summary = json_object();

    project_clone_find(folder, &root);
    if (root.len == 0)
        project_root_find(folder, &root);
    if (root.len > 0) {
        json_put_text(summary, "repository", root.text);
        put_head(summary, root.text);
    }
    put_system(summary);
    put_variable(summary, "image", SANDBOX_IMAGE_VARIABLE);
    put_variable(summary, "egress", SANDBOX_EGRESS_VARIABLE);
    put_ports(summary);
    return summary;
}
