#include "llm/formats/gemini_name.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"

/* The first byte after any '_' is neither a letter nor the end. */
static bool begins_oddly(const char *name)
{
    const char *rest = name + strspn(name, "_");

    return *rest == '-' || (*rest >= '0' && *rest <= '9');
}

void gemini_name_append(struct strbuf *out, const char *name)
{
    if (begins_oddly(name))
        strbuf_append_char(out, '_');
    strbuf_append(out, name);
}

void gemini_name_append_original(struct strbuf *out, const char *name)
{
    strbuf_append(out, begins_oddly(name) && name[0] == '_' ? name + 1 : name);
}
