#include "model/tools/mcp_listing.h"

#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/conversation/conversation.h"

enum {
    NAME_MAX_BYTES = 64, /* that models accept in a function's name */
    DESCRIPTION_MAX_CHARS = 4000,
    TOOL_MAX_BYTES = 32 * 1024,
    TOOLS_MAX_BYTES = 256 * 1024, /* of a listing */
    TOOLS_MAX = 256,
    SKIPPED_MAX = 50,
    SHOWN_MAX_BYTES = 200,
};

#define PROJECT "project"

json_t *mcp_listing_new(void)
{
    json_t *listing = json_object();

    json_put(listing, "tools", json_array());
    json_put(listing, "failed", json_object());
    json_put(listing, "skipped", json_array());
    return listing;
}

/* The beginning of a text from outside. */
static json_t *shown(const char *text, size_t max_chars)
{
    return json_text(text, utf8_offset(text, strlen(text), max_chars));
}

static void skip(json_t *listing, const char *server, const char *tool, const char *reason)
{
    json_t *skipped = json_object_get(listing, "skipped");
    json_t *entry = NULL;

    if (json_array_size(skipped) >= SKIPPED_MAX)
        return;
    entry = json_object();
    json_put_text(entry, "server", server);
    json_put(entry, "tool", shown(tool, SHOWN_MAX_BYTES));
    json_put_text(entry, "reason", reason);
    json_push(skipped, entry);
}

/* Models accept letters, digits, '_' and '-' in the name of a function. */
static void append_name(struct strbuf *name, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '_' || *c == '-';

        strbuf_append_bytes(name, is_plain ? c : "_", 1);
    }
}

static bool has_name(const json_t *tools, const char *name)
{
    const json_t *listed = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, listed) {
        if (text_equal(json_text_or(listed, "name", ""), name))
            return true;
    }
    return false;
}

/* The arguments' schema: models want an object with properties, and refuse the name of a dialect.
 */
static json_t *schema_of(const json_t *tool)
{
    json_t *given = json_object_get(tool, "inputSchema");
    json_t *schema = json_is_object(given) ? json_deep_copy(given) : json_object();

    (void)json_object_del(schema, "$schema");
    json_put_text(schema, "type", "object");
    (void)json_need_object(schema, "properties");
    return schema;
}

/* What it is for, as far as the server says: some models refuse a tool without any words. */
static const char *purpose_of(const json_t *tool)
{
    const char *name = json_text_or(tool, "name", "");
    const char *title = json_text_or(tool, "title", name);
    const char *text = json_text_or(tool, "description", "");

    if (!text_is_blank(text))
        return text;
    return text_is_blank(title) ? name : title;
}

/* The members of a tool that deft and its clients use. */
static json_t *description_of(const json_t *tool)
{
    json_t *annotations = json_object_get(tool, "annotations");
    json_t *kept = json_object();

    json_put_text(kept, "name", json_text_or(tool, "name", ""));
    json_put_text(kept, "title", json_text_or(tool, "title", NULL));
    json_put(kept, "description", shown(purpose_of(tool), DESCRIPTION_MAX_CHARS));
    json_put(kept, "inputSchema", schema_of(tool));
    if (json_is_object(annotations))
        json_put(kept, "annotations", json_deep_copy(annotations));
    return kept;
}

static size_t size_of(const json_t *json)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, json);
    return text.len;
}

/* Why a tool is not taken; NULL: it can be. */
static const char *objection(const json_t *tools, size_t n_bytes, const char *name,
                             const json_t *kept)
{
    size_t size = size_of(kept);

    if (name[0] == '\0' || strlen(name) > NAME_MAX_BYTES)
        return "its name is empty, or longer than models allow";
    if (has_name(tools, name))
        return "another tool has its name";
    if (size > TOOL_MAX_BYTES)
        return "its description is too large";
    if (n_bytes + size > TOOLS_MAX_BYTES || json_array_size(tools) >= TOOLS_MAX)
        return "there are too many tools before it";
    return NULL;
}

void mcp_listing_add(json_t *listing, const char *server, const json_t *tools, bool has_prefix)
{
    json_t *listed = json_object_get(listing, "tools");
    size_t n_bytes = size_of(listed);
    const json_t *tool = NULL;
    size_t i = 0;

    json_array_foreach (tools, i, tool) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        json_auto_t *kept = description_of(tool);
        const char *reason = NULL;
        json_t *entry = NULL;

        if (has_prefix) {
            append_name(&name, server);
            strbuf_append_char(&name, '_');
        }
        append_name(&name, json_text_or(kept, "name", ""));
        reason = objection(listed, n_bytes, name.text, kept);
        if (reason != NULL) {
            skip(listing, server, json_text_or(kept, "name", ""), reason);
            continue;
        }
        n_bytes += size_of(kept);
        entry = json_object();
        json_put_text(entry, "server", server);
        json_put_text(entry, "name", name.text);
        json_put(entry, "tool", json_incref(kept));
        json_push(listed, entry);
    }
}

void mcp_listing_fail(json_t *listing, const char *server, const char *reason)
{
    json_put(json_object_get(listing, "failed"), server, shown(reason, SHOWN_MAX_BYTES));
}

void mcp_listing_set_project(json_t *listing, json_t *digests)
{
    if (json_object_size(digests) > 0)
        json_put(listing, PROJECT, json_incref(digests));
}

bool mcp_listing_has_project(const json_t *listing, const json_t *digests)
{
    const json_t *listed = json_object_get(listing, PROJECT);

    return listed == NULL ? json_object_size(digests) == 0 : json_equal(listed, digests);
}

const char *mcp_listing_digest(const json_t *listing, const char *server)
{
    return json_text_or(json_object_get(listing, PROJECT), server, "");
}

json_t *mcp_listing_failed(const json_t *listing)
{
    return json_object_get(listing, "failed");
}

/* The entry of a server; made at its first tool. Borrowed. */
static json_t *names_of(json_t *servers, const char *server)
{
    json_t *entry = json_need_object(servers, server);

    if (json_object_get(entry, "tools") == NULL)
        json_put(entry, "tools", json_array());
    return json_object_get(entry, "tools");
}

json_t *mcp_listing_event_value(const json_t *listing)
{
    json_t *failed = json_object_get(listing, "failed");
    json_t *value = json_object();
    json_t *servers = json_object();
    const json_t *listed = NULL;
    const char *server = NULL;
    json_t *reason = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(listing, "tools"), i, listed)
        json_push(names_of(servers, json_text_or(listed, "server", "")),
                  json_incref(json_object_get(listed, "name")));
    json_object_foreach (failed, server, reason)
        json_put(json_need_object(servers, server), "error", json_incref(reason));
    json_put(value, "mcp_servers", servers);
    json_put(value, "skipped", json_incref(json_object_get(listing, "skipped")));
    return value;
}

json_t *mcp_listing_tools_of(const json_t *listing, const char *server)
{
    json_t *tools = json_array();
    const json_t *listed = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(listing, "tools"), i, listed) {
        if (text_equal(json_text_or(listed, "server", ""), server))
            json_push(tools, json_incref(json_object_get(listed, "tool")));
    }
    return tools;
}

const json_t *mcp_tools_of(const struct conversation *conversation)
{
    return json_object_get(json_object_get(conversation->spec, MCP_LISTING), "tools");
}
