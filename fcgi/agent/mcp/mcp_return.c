#include "fcgi/agent/mcp/mcp_return.h"

#include <string.h>

#include "base/encode.h"
#include "base/mem.h"
#include "base/strbuf.h"

void mcp_return_done(struct mcp_return *back)
{
    mem_free(back->state);
    mem_free(back->code);
    mem_free(back->error);
    mem_free(back->issuer);
}

/* The next parameter, or NULL. */
static const char *next_parameter(const char *at)
{
    const char *end = strpbrk(at, "&#");

    return end != NULL && *end == '&' ? end + 1 : NULL;
}

/* The decoded value of a parameter; "" when it is missing. The caller frees it. */
static char *read_parameter(const char *query, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    size_t len = strlen(name);

    for (const char *at = query; at != NULL; at = next_parameter(at)) {
        size_t n = strcspn(at, "&#");

        if (n > len && strncmp(at, name, len) == 0 && at[len] == '=') {
            percent_decode(&value, at + len + 1, n - len - 1, ' ');
            break;
        }
    }
    return mem_dup_text(value.text);
}

void mcp_return_from_url(struct mcp_return *back, const char *url)
{
    const char *mark = strchr(url, '?');
    const char *query = mark != NULL ? mark + 1 : "";

    *back = (struct mcp_return){read_parameter(query, "state"), read_parameter(query, "code"),
                                read_parameter(query, "error"), read_parameter(query, "iss")};
}
