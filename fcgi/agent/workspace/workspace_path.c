#include "fcgi/agent/workspace/workspace_path.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

/* Removes the last "/part". */
static void drop_last(struct strbuf *path)
{
    size_t len = path->len;

    while (len > 0 && path->text[len - 1] != '/')
        len--;
    strbuf_truncate(path, len > 0 ? len - 1 : 0);
}

/* Appends "/a/./b/../c//" as "/a/c"; "/" as "". */
static void append_plain(const char *path, struct strbuf *out)
{
    const char *at = path;

    while (*at != '\0') {
        size_t len = strcspn(at, "/");

        if (len == 2 && strncmp(at, "..", 2) == 0) {
            drop_last(out);
        } else if (len > 0 && !(len == 1 && at[0] == '.')) {
            strbuf_append_char(out, '/');
            strbuf_append_bytes(out, at, len);
        }
        at += len + (at[len] == '/');
    }
}

bool workspace_path_is_inside(const char *path, const char *directory)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;

    if (path[0] != '/')
        return false;
    append_plain(path, &plain);
    append_plain(directory, &root);
    return text_starts_with(plain.text, root.text) &&
           (plain.len == root.len || plain.text[root.len] == '/');
}
