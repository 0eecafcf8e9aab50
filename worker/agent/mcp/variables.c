#include "worker/agent/mcp/variables.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/secrets/secret_reference.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/core/secret_lookup.h"

/* The secret of that name; NULL if there is none. Borrowed. */
static const char *find_secret(const struct secret_list *secrets,
                               const struct secret_reference *reference)
{
    for (size_t i = 0; i < secrets->n; i++) {
        const char *name = secrets->items[i].name;

        if (strlen(name) == reference->name_len &&
            memcmp(name, reference->name, reference->name_len) == 0)
            return secret_reveal(&secrets->items[i].value);
    }
    return NULL;
}

static void append_reference(const struct secret_list *secrets,
                             const struct secret_reference *reference, const char *at,
                             struct strbuf *out)
{
    const char *value = find_secret(secrets, reference);

    if (value != NULL)
        strbuf_append(out, value);
    else if (reference->fallback != NULL)
        strbuf_append_bytes(out, reference->fallback, reference->fallback_len);
    else
        strbuf_append_bytes(out, at, reference->len);
}

static json_t *expand_text(struct agent *agent, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct secret_reference reference = {.len = 0};
    const char *at = text;

    if (strchr(text, '$') == NULL)
        return json_text_of(text);
    secret_lookup_named(agent, text);
    while (*at != '\0') {
        size_t plain = strcspn(at, "$");

        strbuf_append_bytes(&out, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        if (secret_reference_read(at, &reference)) {
            append_reference(&agent->secrets, &reference, at, &out);
            at += reference.len;
        } else {
            strbuf_append_char(&out, *at++);
        }
    }
    return json_text(out.text, out.len);
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
json_t *variables_expand(struct agent *agent, const json_t *value)
{
    json_t *copy = NULL;
    const char *name = NULL;
    json_t *member = NULL;
    size_t i = 0;

    if (json_is_string(value))
        return expand_text(agent, json_string_value(value));
    if (!json_is_object(value) && !json_is_array(value))
        return json_deep_copy(value);
    copy = json_is_object(value) ? json_object() : json_array();
    json_object_foreach ((json_t *)(uintptr_t)value, name, member)
        json_put(copy, name, variables_expand(agent, member));
    json_array_foreach (value, i, member)
        json_push(copy, variables_expand(agent, member));
    return copy;
}
