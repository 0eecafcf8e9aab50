#include "model/secret_places.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

const char secret_marker[] = "**********";

/* A '*' stands for every member of a map or element of a list. */
struct secret_place {
    const char *path;
    bool is_blanked; /* null in REST replies */
};

static const struct secret_place places[] = {
    {"agent/llm/api_key", true},
    {"agent/llm/aws_access_key_id", true},
    {"agent/llm/aws_secret_access_key", true},
    {"agent/llm/aws_session_token", true},
    {"agent/llm/extra_headers/*", false},
    {"agent/condenser/llm/api_key", true},
    {"agent/condenser/llm/aws_access_key_id", true},
    {"agent/condenser/llm/aws_secret_access_key", true},
    {"agent/condenser/llm/aws_session_token", true},
    {"agent/condenser/llm/extra_headers/*", false},
    {"agent/condenser/condensers/*/llm/api_key", true},
    {"agent/condenser/condensers/*/llm/aws_access_key_id", true},
    {"agent/condenser/condensers/*/llm/aws_secret_access_key", true},
    {"agent/condenser/condensers/*/llm/aws_session_token", true},
    {"agent/condenser/condensers/*/llm/extra_headers/*", false},
    {"agent/critic/api_key", true},
    {"agent/critic/llm/api_key", true},
    {"agent/mcp_config/*/env/*", false},
    {"agent/mcp_config/*/headers/*", false},
    {"agent/mcp_config/*/auth/value", false},
    {"agent/mcp_config/*/auth/password", false},
    {"agent/mcp_config/*/auth/headers/*", false},
    {"agent/mcp_config/*/auth/authentication/*", false},
    {"agent/mcp_config/*/auth/state/*", false},
    {"agent/agent_context/secrets/*", false},
    {"agent/agent_context/secrets/*/value", true},
    {"agent/agent_context/secrets/*/headers/*", false},
    {"security_analyzer/api_key", true},
    {"secret_registry/secret_sources/*/value", true},
    {"secret_registry/secret_sources/*/headers/*", false},
};

enum walk_kind { WALK_TAKE, WALK_RESTORE, WALK_BLANK };

struct walk {
    enum walk_kind kind;
    bool is_blanked;
    json_t *members;     /* WALK_TAKE: written; WALK_RESTORE: read */
    struct strbuf where; /* the path so far */
};

/* The value that a secret's place gets, or NULL to leave it. */
static json_t *replacement(struct walk *walk, const json_t *value)
{
    const char *text = json_string_value(value);

    if (text == NULL)
        return NULL;
    switch (walk->kind) {
    case WALK_TAKE:
        if (!text_equal(text, secret_marker))
            json_put(walk->members, walk->where.text, json_string(text));
        return json_string(secret_marker);
    case WALK_RESTORE:
        return json_deep_copy(json_object_get(walk->members, walk->where.text));
    case WALK_BLANK:
        return walk->is_blanked ? json_null() : NULL;
    }
    return NULL;
}

static void walk_path(struct walk *walk, json_t *node, const char *path);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the paths above */
static void walk_member(struct walk *walk, json_t *parent, const char *name, const char *rest)
{
    json_t *value = json_object_get(parent, name);
    size_t len = walk->where.len;
    json_t *instead = NULL;

    if (len > 0)
        strbuf_append_char(&walk->where, '/');
    strbuf_append(&walk->where, name);
    if (rest != NULL)
        walk_path(walk, value, rest);
    else
        instead = replacement(walk, value);
    if (instead != NULL)
        json_put(parent, name, instead);
    strbuf_truncate(&walk->where, len);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the paths above */
static void walk_all(struct walk *walk, json_t *node, const char *rest)
{
    const char *name = NULL;
    void *next = NULL;
    json_t *member = NULL;
    size_t len = walk->where.len;
    size_t i = 0;

    json_object_foreach_safe (node, next, name, member)
        walk_member(walk, node, name, rest);
    json_array_foreach (node, i, member) {
        strbuf_appendf(&walk->where, "/%zu", i);
        if (rest != NULL)
            walk_path(walk, member, rest);
        strbuf_truncate(&walk->where, len);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the paths above */
static void walk_path(struct walk *walk, json_t *node, const char *path)
{
    const char *slash = strchr(path, '/');
    const char *rest = slash != NULL ? slash + 1 : NULL;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_append_bytes(&name, path, slash != NULL ? (size_t)(slash - path) : strlen(path));
    if (text_equal(name.text, "*"))
        walk_all(walk, node, rest);
    else if (json_is_object(node) && json_object_get(node, name.text) != NULL)
        walk_member(walk, node, name.text, rest);
}

static void walk_places(json_t *spec, enum walk_kind kind, json_t *members)
{
    struct walk walk = {kind, false, members, STRBUF_INIT};

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        walk.is_blanked = places[i].is_blanked;
        walk_path(&walk, spec, places[i].path);
    }
    strbuf_done(&walk.where);
}

void secret_places_take(json_t *spec, json_t *members)
{
    walk_places(spec, WALK_TAKE, members);
}

void secret_places_restore(json_t *spec, const json_t *members)
{
    json_auto_t *readable = json_deep_copy(members);

    walk_places(spec, WALK_RESTORE, readable);
}

void secret_places_blank(json_t *spec)
{
    walk_places(spec, WALK_BLANK, NULL);
}
