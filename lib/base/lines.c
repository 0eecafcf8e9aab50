#include "base/lines.h"

#include <string.h>

void lines_done(struct lines *lines)
{
    if (lines == NULL)
        return;
    strbuf_done(&lines->bytes);
    lines->n_searched = 0;
}

void lines_add(struct lines *lines, const char *bytes, size_t len)
{
    strbuf_append_bytes(&lines->bytes, bytes, len);
}

bool lines_next(struct lines *lines, struct strbuf *line)
{
    struct strbuf *bytes = &lines->bytes;
    const char *end = memchr(bytes->text + lines->n_searched, '\n', bytes->len - lines->n_searched);
    size_t len = 0;

    lines->n_searched = end != NULL ? 0 : bytes->len;
    if (end == NULL)
        return false;
    len = (size_t)(end - bytes->text);
    strbuf_reset(line);
    strbuf_append_bytes(line, bytes->text, len);
    strbuf_remove_head(bytes, len + 1);
    return true;
}

size_t lines_pending(const struct lines *lines)
{
    return lines->bytes.len;
}
