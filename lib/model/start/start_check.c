#include "model/start/start_check.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/agent/hooks.h"
#include "model/schema/object_schema.h"
#include "model/schema/regex.h"
#include "model/schema/validation_error.h"

static const struct field plugin_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema plugin_schema = SCHEMA(plugin_fields);

static const struct field definition_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "description", .kind = FIELD_TEXT},
    {.name = "model", .kind = FIELD_TEXT},
    {.name = "color", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tools", .kind = FIELD_TEXTS},
    {.name = "skills", .kind = FIELD_TEXTS},
    {.name = "system_prompt", .kind = FIELD_TEXT},
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "level",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "project|user|builtin|plugin|programmatic"},
    {.name = "when_to_use_examples", .kind = FIELD_TEXTS},
    {.name = "hooks", .kind = FIELD_OBJECT, .rules = FIELD_NULLABLE, .items = &hook_config_schema},
    {.name = "permission_mode", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "max_iteration_per_run", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
    {.name = "max_budget_per_run", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "mcp_config", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "profile_store_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "condenser", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "metadata", .kind = FIELD_MAP},
};
static const struct object_schema definition_schema = SCHEMA(definition_fields);

static void check_items(json_t *list, const struct object_schema *schema,
                        const struct json_path *path, json_t *problems)
{
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        const struct json_path at = {path, NULL, (json_int_t)i};
        json_auto_t *checked = object_schema_read(schema, item, &at, problems);
    }
}

static void check_pattern(json_t *agent, const struct json_path *path, json_t *problems)
{
    const struct json_path at = {path, "filter_tools_regex", 0};
    const char *text = json_text_or(agent, "filter_tools_regex", NULL);
    CLEANUP(regex_freep) struct regex *pattern = NULL;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    struct error err = ERROR_INIT;

    if (text == NULL || regex_new(text, &pattern, &err) == 0)
        return;
    strbuf_appendf(&words, "Invalid regex pattern: %s", err.message);
    validation_error_add_value(problems, &at, words.text,
                               json_object_get(agent, "filter_tools_regex"));
}

void start_check_extras(json_t *values, const struct json_path *body, json_t *problems)
{
    const struct json_path plugins = {body, "plugins", 0};
    const struct json_path definitions = {body, "agent_definitions", 0};
    const struct json_path hooks = {body, "hook_config", 0};
    const struct json_path agent = {body, "agent", 0};
    json_t *config = json_object_get(values, "hook_config");

    check_items(json_object_get(values, "plugins"), &plugin_schema, &plugins, problems);
    check_items(json_object_get(values, "agent_definitions"), &definition_schema, &definitions,
                problems);
    check_pattern(json_object_get(values, "agent"), &agent, problems);
    if (json_is_object(config)) {
        json_auto_t *checked = hooks_check(config, &hooks, problems);

        if (checked != NULL)
            json_put(values, "hook_config", json_incref(checked));
    }
}
