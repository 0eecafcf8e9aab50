#include "model/tools/resource_keys.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/normal_path.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/tools/agent_tool.h"

void resource_keys_done(struct resource_keys *keys)
{
    if (keys == NULL)
        return;
    for (size_t i = 0; i < keys->n; i++)
        mem_free(keys->items[i]);
    mem_free(keys->items);
    *keys = (struct resource_keys)RESOURCE_KEYS_INIT;
}

void resource_keys_add(struct resource_keys *keys, char *key)
{
    size_t at = 0;
    int order = 1;

    while (at < keys->n && order > 0) {
        order = strcmp(key, keys->items[at]);
        at += order > 0;
    }
    if (order == 0) {
        mem_free(key);
        return;
    }
    keys->items = mem_resize(keys->items, (keys->n + 1) * sizeof(*keys->items));
    for (size_t i = keys->n; i > at; i--)
        keys->items[i] = keys->items[i - 1];
    keys->items[at] = key;
    keys->n++;
}

/* A sub-agent that goes on is used by one call at a time; a new one by no other. */
static void append_sub_agent(const struct tool *own, const json_t *action, struct strbuf *key)
{
    const char *resumed = json_text_or(action, own->resource_member, "");

    if (!text_is_blank(resumed))
        strbuf_appendf(key, "%s%s", own->resource, resumed);
}

void resource_keys_add_call(struct resource_keys *keys, const struct agent_tool *tool,
                            const json_t *action)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    const struct tool *own = tool->own;

    if (own != NULL && own->place == TOOL_IN_SUB_AGENT) {
        append_sub_agent(own, action, &key);
    } else if (own != NULL && own->resource != NULL) {
        strbuf_append(&key, own->resource);
        if (own->resource_member != NULL)
            normal_path_append(&key, key.len, json_text_or(action, own->resource_member, ""));
    } else if (!tool->annotations.is_read_only) {
        strbuf_appendf(&key, "tool:%s", tool->name);
    }
    if (key.len > 0)
        resource_keys_add(keys, strbuf_take(&key));
}

bool resource_keys_overlap(const struct resource_keys *a, const struct resource_keys *b)
{
    size_t i = 0;
    size_t j = 0;

    while (i < a->n && j < b->n) {
        int order = strcmp(a->items[i], b->items[j]);

        if (order == 0)
            return true;
        i += order < 0;
        j += order > 0;
    }
    return false;
}
