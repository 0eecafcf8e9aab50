#include "client/auth_challenge.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"

/* The end of the quoted string that begins there. */
static const char *quoted_end(const char *at)
{
    at++;
    while (*at != '\0' && *at != '"')
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == '"' ? at + 1 : at;
}

static void append_value(struct strbuf *out, const char *value)
{
    if (*value == '"')
        strbuf_append_bytes(out, value + 1, strcspn(value + 1, "\"\\"));
    else
        strbuf_append_bytes(out, value, strcspn(value, " ,\t"));
}

void auth_challenge_append(struct strbuf *out, const char *header, const char *name)
{
    size_t len = strlen(name);
    bool begins = true;

    for (const char *at = header; *at != '\0';) {
        if (begins && strncasecmp(at, name, len) == 0 && at[len] == '=') {
            append_value(out, at + len + 1);
            return;
        }
        begins = strchr(" ,\t", *at) != NULL;
        at = *at == '"' ? quoted_end(at) : at + 1;
    }
}
