#include "base/normal_path.h"

#include <string.h>

#include "base/strbuf.h"

static void drop_last_part(struct strbuf *path, size_t root)
{
    size_t len = path->len;

    while (len > root && path->text[len - 1] != '/')
        len--;
    strbuf_truncate(path, len > root ? len - 1 : root);
}

void normal_path_append(struct strbuf *out, size_t root, const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");

        if (len == 2 && memcmp(path, "..", 2) == 0) {
            drop_last_part(out, root);
        } else if (len > 1 || (len == 1 && *path != '.')) {
            strbuf_append_char(out, '/');
            strbuf_append_bytes(out, path, len);
        }
        path += len + (path[len] == '/');
    }
}

void normal_path_append_absolute(struct strbuf *out, const char *folder, const char *path)
{
    size_t root = out->len;

    if (path[0] != '/')
        normal_path_append(out, root, folder);
    normal_path_append(out, root, path);
    if (out->len == root)
        strbuf_append_char(out, '/');
}
