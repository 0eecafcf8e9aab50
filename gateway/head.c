#include "gateway/head.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/encode.h"
#include "base/strbuf.h"
#include "base/text.h"

static const char method[] = "GET ";

/* The request target, or NULL. */
static const char *target(const char *head)
{
    const char *at = head + strlen(method);

    return text_starts_with(head, method) && *at == '/' ? at : NULL;
}

bool head_path(const char *head, struct strbuf *out)
{
    const char *path = target(head);

    if (path == NULL)
        return false;
    percent_decode(out, path, strcspn(path, "? \r\n"), '+');
    return true;
}

bool head_query(const char *head, const char *name, struct strbuf *out)
{
    const char *at = target(head);
    size_t name_len = strlen(name);

    if (at == NULL)
        return false;
    at += strcspn(at, "? \r\n");
    while (*at == '?' || *at == '&') {
        const char *pair = at + 1;
        size_t len = strcspn(pair, "& \r\n");

        if (len > name_len && pair[name_len] == '=' && strncmp(pair, name, name_len) == 0) {
            percent_decode(out, pair + name_len + 1, len - name_len - 1, ' ');
            return true;
        }
        at = pair + len;
    }
    return false;
}

/* Appends value without surrounding white space. */
static void append_trimmed(struct strbuf *out, const char *value)
{
    size_t len = 0;

    value += strspn(value, " \t");
    len = strcspn(value, "\r\n");
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    strbuf_append_bytes(out, value, len);
}

bool head_header(const char *head, const char *name, struct strbuf *out)
{
    size_t len = strlen(name);

    for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, len) != 0 || line[1 + len] != ':')
            continue;
        append_trimmed(out, line + 1 + len + 1);
        return true;
    }
    return false;
}

size_t head_count(const char *head, const char *name)
{
    size_t len = strlen(name);
    size_t n = 0;

    for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n'))
        n += strncasecmp(line + 1, name, len) == 0 && line[1 + len] == ':';
    return n;
}
