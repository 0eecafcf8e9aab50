/*
 * The members of the wire's objects: default, accepted values, allowed words, greatest length. What
 * the tables give is compared with tests/data/members.txt line by line.
 */
#include "base/attr.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_settings.h"
#include "model/agent/hooks.h"
#include "model/openai/openai_request.h"
#include "model/plugins/repository.h"
#include "model/schema/object_schema.h"
#include "model/schema/start_fields.h"
#include "model/schema/validation_error.h"
#include "model/tools/tool_table.h"
#include "unit/model/model_test.h"

enum { LONG_TEXT_CHARS = 100000 };

static const struct json_path body = {NULL, "body", 0};

static const char *const probes[] = {
    "null", "true", "-1",      "0",   "1",    "1.5",           "\"\"",      "\"x\"",
    "[]",   "{}",   "[\"x\"]", "[1]", "[{}]", "{\"x\":\"y\"}", "{\"x\":1}",
};

/* A member's value as the only one of its object. Problems are appended. A new reference. */
static json_t *read_alone(const struct field *field, json_t *value, json_t *problems)
{
    const struct object_schema alone = {field, 1, false};
    json_auto_t *input = json_object();

    json_put(input, field->name, json_incref(value));
    return object_schema_read(&alone, input, &body, problems);
}

static void append_default(const struct field *field, struct strbuf *out)
{
    const struct object_schema alone = {field, 1, false};
    json_auto_t *input = json_object();
    json_auto_t *problems = json_array();
    json_auto_t *output = object_schema_read(&alone, input, &body, problems);
    const json_t *value = json_object_get(output, field->name);

    if (json_array_size(problems) > 0)
        strbuf_append(out, "required");
    else if (value == NULL)
        strbuf_append(out, "absent");
    else
        json_append_text(out, value);
}

/* The words that a text must be one of; its greatest length. */
static void append_limits(const struct field *field, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *value = NULL;
    json_auto_t *problems = json_array();
    json_auto_t *output = NULL;
    const char *type = NULL;

    for (size_t i = 0; i < LONG_TEXT_CHARS; i++)
        strbuf_append_char(&text, 'x');
    value = json_text_of(text.text);
    output = read_alone(field, value, problems);
    type = json_text_or(json_array_get(problems, 0), "type", "");
    if (text_equal(type, "literal_error") || text_equal(type, "string_too_long"))
        strbuf_appendf(out, "; %s", json_text_or(json_array_get(problems, 0), "msg", ""));
}

static void append_member(const struct field *field, const char *prefix, struct strbuf *out)
{
    strbuf_appendf(out, "%s%s: ", prefix, field->name);
    append_default(field, out);
    strbuf_append_char(out, ';');
    for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
        json_auto_t *value = json_of(probes[i]);
        json_auto_t *problems = json_array();
        json_auto_t *output = read_alone(field, value, problems);

        if (json_array_size(problems) == 0 && json_object_get(output, field->name) != NULL)
            strbuf_appendf(out, " %s", probes[i]);
    }
    append_limits(field, out);
    strbuf_append_char(out, '\n');
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as our tables */
static void append_object(const struct object_schema *schema, const char *prefix,
                          struct strbuf *out)
{
    if (schema->is_closed)
        strbuf_appendf(out, "%s has no other members\n", prefix);
    for (size_t i = 0; i < schema->n; i++) {
        const struct field *field = &schema->fields[i];
        CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;

        append_member(field, prefix, out);
        strbuf_appendf(&inner, "%s%s.", prefix, field->name);
        if (field->items != NULL)
            append_object(field->items, inner.text, out);
    }
}

static void append_all(struct strbuf *out)
{
    const struct {
        const struct object_schema *schema;
        const char *name;
    } objects[] = {
        {&start_schema, "start."},
        {&confirm_risky_schema, "confirm_risky."},
        {&secret_source_schema, "secret_source."},
        {&llm_schema, "llm."},
        {&agent_schema, "agent."},
        {&summarizing_condenser_schema, "condenser."},
        {&hook_config_schema, "hooks."},
        {&openhands_settings_schema, "settings."},
        {&acp_settings_schema, "acp_settings."},
        {&conversation_settings_schema, "conversation_settings."},
        {&mcp_server_schema, "mcp_server."},
        {&profile_verification_schema, "profile_verification."},
        {&openai_chat_schema, "openai_chat."},
        {&openai_response_schema, "openai_response."},
        {&repository_request_schema, "repository."},
        {&repository_credentials_request_schema, "repository_credentials."},
    };

    for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
        append_object(objects[i].schema, objects[i].name, out);
    for (size_t i = 0; i < tool_table_n; i++) {
        CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;

        strbuf_appendf(&prefix, "%s.", tool_table[i].name);
        append_object(tool_table[i].schema, prefix.text, out);
    }
}

static void members_are_those_of_the_list(void **state)
{
    CLEANUP(strbuf_done) struct strbuf ours = STRBUF_INIT;

    (void)state;
    append_all(&ours);
    assert_is_listed(ours.text, "members.txt");
}

int members_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_those_of_the_list),
    };

    return cmocka_run_group_tests_name("model/members", tests, NULL, NULL);
}
