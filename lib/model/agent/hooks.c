#include "model/agent/hooks.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/hook_match.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"

static const struct field definition_fields[] = {
    {.name = "type",
     .kind = FIELD_TEXT,
     .fallback = "\"command\"",
     .words = "command|prompt|agent"},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "command", .kind = FIELD_TEXT, .fallback = "\"\""},
    {.name = "prompt", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "system_prompt", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tools", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "timeout", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "60"},
    {.name = "max_iterations", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "3"},
    {.name = "async", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema definition_schema = SCHEMA(definition_fields);

static const struct field matcher_fields[] = {
    {.name = "matcher", .kind = FIELD_TEXT, .fallback = "\"*\""},
    {.name = "hooks", .kind = FIELD_OBJECTS, .fallback = "[]", .items = &definition_schema},
};
static const struct object_schema matcher_schema = SCHEMA(matcher_fields);

#define X(constant, event, member)                                                                 \
    {.name = (member), .kind = FIELD_OBJECTS, .fallback = "[]", .items = &matcher_schema},
static const struct field config_fields[] = {HOOK_EVENTS(X)};
#undef X
const struct object_schema hook_config_schema = CLOSED_SCHEMA(config_fields);

static const char *known_name(const char *written)
{
    for (int event = 0; event < HOOK_N_EVENTS; event++) {
        if (text_equal(hook_event_name((enum hook_event)event), written))
            return hook_event_member((enum hook_event)event);
    }
    return written;
}

json_t *hooks_with_known_names(json_t *config)
{
    json_t *inner = json_object_get(config, "hooks");
    json_t *written = json_is_object(inner) ? inner : config;
    json_t *renamed = json_object();
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (written, name, value)
        json_put(renamed, known_name(name), json_incref(value));
    return renamed;
}

json_t *hooks_check(json_t *config, const struct json_path *path, json_t *problems)
{
    json_t *checked = object_schema_read(&hook_config_schema, config, path, problems);

    for (int event = 0; event < HOOK_N_EVENTS; event++) {
        const char *member = hook_event_member((enum hook_event)event);
        const struct json_path at = {path, member, 0};
        json_auto_t *hooks = hooks_find(checked, (enum hook_event)event, NULL);
        CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

        if (json_array_size(hooks) <= HOOKS_MAX)
            continue;
        strbuf_appendf(&words, "there are %zu hooks; an event may have %d", json_array_size(hooks),
                       HOOKS_MAX);
        validation_error_add_value(problems, &at, words.text, json_object_get(config, member));
    }
    return checked;
}

int hooks_read(const char *text, json_t **config_out, struct error *err)
{
    const struct json_path path = {NULL, "hooks", 0};
    json_auto_t *file = NULL;
    json_auto_t *renamed = NULL;
    json_auto_t *config = NULL;
    json_auto_t *problems = json_array();
    const json_t *inner = NULL;

    if (json_parse(text, strlen(text), &file, err) < 0)
        return -1;
    inner = json_object_get(file, "hooks");
    if (!json_is_object(file) || (inner != NULL && !json_is_object(inner)))
        return error_set(err, ERROR_INVALID, "hooks must be an object");
    renamed = hooks_with_known_names(file);
    config = hooks_check(renamed, &path, problems);
    if (json_array_size(problems) > 0) {
        CLEANUP(strbuf_done) struct strbuf where = STRBUF_INIT;

        json_append_text(&where, json_object_get(json_array_get(problems, 0), "loc"));
        return error_set(err, ERROR_INVALID, "%s: %s", where.text,
                         json_text_or(json_array_get(problems, 0), "msg", "wrong"));
    }
    *config_out = json_incref(config);
    return 0;
}
