/*
 * Checks a model's call to a tool, and turns its arguments into an action.
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/schema/client_arguments.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/schema/words.h"
#include "model/tools/client_tools.h"
#include "model/tools/tool_repair.h"
#include "model/tools/tool_table.h"
#include "model/tools/tools.h"

static const char RISK_UNKNOWN[] = "UNKNOWN";

/* A summary made from the arguments is truncated to this. */
enum { SUMMARY_MAX_CHARS = 400 };

void tool_call_check_done(struct tool_call_check *check)
{
    if (check == NULL)
        return;
    mem_free(check->arguments);
    mem_free(check->summary);
    mem_free(check->problem);
    json_decref(check->action);
    *check = (struct tool_call_check){0};
}

static void set_risk(struct tool_call_check *check, const char *risk)
{
    size_t len = strnlen(risk, sizeof(check->security_risk) - 1);

    memcpy(check->security_risk, risk, len);
    check->security_risk[len] = '\0';
}

/* Appends a name of the list 'a', 'b'. */
static void append_name(struct strbuf *out, const char *name, size_t i)
{
    strbuf_appendf(out, "%s'%s'", i > 0 ? ", " : "", name);
}

static char *unknown_tool_text(const struct conversation *conversation, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct tool **tools = tools_of(conversation);

    strbuf_appendf(&text, "Tool '%s' not found. Available: [", name);
    for (size_t i = 0; tools[i] != NULL; i++)
        append_name(&text, tools[i]->name, i);
    strbuf_append_char(&text, ']');
    mem_free(tools);
    return strbuf_take(&text);
}

static char *unparseable_text(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text,
                   "Error validating tool '%s': the arguments are not a JSON object."
                   " Arguments: unparseable JSON",
                   name);
    return strbuf_take(&text);
}

/* Lists the errors by member, without the values. */
static char *invalid_text(const char *tool_name, const char *action_kind, const json_t *problems,
                          json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t n = json_array_size(problems);
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;

    strbuf_appendf(&text, "Error validating tool '%s': %zu validation error%s for %s", tool_name, n,
                   n == 1 ? "" : "s", action_kind);
    json_array_foreach (problems, i, value) {
        strbuf_append_char(&text, '\n');
        validation_error_append_text(value, &text);
    }
    strbuf_append(&text, ". Parameters provided: [");
    i = 0;
    json_object_foreach (arguments, name, value)
        append_name(&text, name, i++);
    strbuf_append_char(&text, ']');
    return strbuf_take(&text);
}

/* Removes security_risk from the arguments; it is only used with an analyzer. */
static void take_risk(const struct conversation *conversation, struct tool_call_check *check,
                      json_t *arguments, json_t *problems)
{
    static const struct json_path path = {NULL, "security_risk", 0};
    json_auto_t *value = json_incref(json_object_get(arguments, "security_risk"));
    const char *risk = json_string_value(value);

    (void)json_object_del(arguments, "security_risk");
    if (value == NULL || check->tool->is_read_only || !conversation_has_analyzer(conversation))
        return;
    if (risk != NULL && words_contain(tool_risks, risk))
        set_risk(check, risk);
    else
        validation_error_add(
            problems, &path,
            &(struct validation_error){
                "literal_error", "Input should be 'UNKNOWN', 'LOW', 'MEDIUM' or 'HIGH'", NULL},
            value);
}

/* Removes summary from the arguments, or makes one from them. */
static char *take_summary(const char *tool_name, json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *value = json_incref(json_object_get(arguments, "summary"));

    (void)json_object_del(arguments, "summary");
    if (json_is_string(value) && !text_is_blank(json_string_value(value)))
        return mem_dup_text(json_string_value(value));
    strbuf_appendf(&text, "%s: ", tool_name);
    json_append_text(&text, arguments);
    strbuf_truncate(&text, utf8_offset(text.text, text.len, SUMMARY_MAX_CHARS));
    return strbuf_take(&text);
}

static void validate(const struct conversation *conversation, struct tool_call_check *check,
                     json_t *arguments)
{
    static const struct json_path body = {NULL, "body", 0};
    json_auto_t *problems = json_array();
    json_auto_t *action = NULL;
    CLEANUP(mem_freep) char *summary = NULL;

    take_risk(conversation, check, arguments, problems);
    summary = take_summary(check->tool->name, arguments);
    action = object_schema_read(check->tool->schema, arguments, &body, problems);
    if (json_array_size(problems) > 0) {
        check->problem =
            invalid_text(check->tool->name, check->tool->action_kind, problems, arguments);
        return;
    }
    json_drop_nulls(action);
    json_put_text(action, "kind", check->tool->action_kind);
    check->action = json_incref(action);
    check->summary = TAKE_PTR(summary);
}

/* Removes the members that deft reads and that the client tool does not declare. */
static void take_own_members(const struct conversation *conversation, struct tool_call_check *check,
                             const char *name, const json_t *parameters, json_t *arguments,
                             json_t *problems)
{
    if (!client_arguments_declare(parameters, "security_risk"))
        take_risk(conversation, check, arguments, problems);
    check->summary = client_arguments_declare(parameters, "summary")
                         ? mem_dup_text(name)
                         : take_summary(name, arguments);
}

static void validate_for_client(const struct conversation *conversation,
                                struct tool_call_check *check, const char *name, json_t *arguments)
{
    const json_t *tool = client_tool_find(conversation, name);
    const json_t *parameters = json_object_get(tool, "parameters");
    CLEANUP(mem_freep) char *kind = client_tool_action_kind(name);
    json_auto_t *problems = json_array();

    take_own_members(conversation, check, name, parameters, arguments, problems);
    client_arguments_check(parameters, arguments, problems);
    if (json_array_size(problems) > 0) {
        check->problem = invalid_text(name, kind, problems, arguments);
        mem_free(TAKE_PTR(check->summary));
        return;
    }
    check->action = json_deep_copy(arguments);
    json_put_text(check->action, "kind", kind);
}

/* The agent's own tool takes precedence. */
static bool is_for_client(const struct conversation *conversation, const char *name)
{
    return tools_find(conversation, name) == NULL && client_tool_find(conversation, name) != NULL;
}

void tool_call_check(const struct conversation *conversation, const char *name,
                     const char *arguments, struct tool_call_check *check_out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *parsed = tool_repair_parse(arguments, &text);
    json_auto_t *usable = parsed != NULL ? json_incref(parsed) : json_object();

    *check_out = (struct tool_call_check){0};
    set_risk(check_out, RISK_UNKNOWN);
    check_out->arguments = strbuf_take(&text);
    check_out->tool = is_for_client(conversation, name)
                          ? &client_tool
                          : tool_repair_name(conversation, name, usable);
    if (check_out->tool == NULL) {
        check_out->problem = unknown_tool_text(conversation, name);
    } else if (parsed == NULL) {
        check_out->problem =
            unparseable_text(check_out->tool == &client_tool ? name : check_out->tool->name);
    } else if (check_out->tool == &client_tool) {
        validate_for_client(conversation, check_out, name, usable);
    } else {
        tool_repair_arguments(check_out->tool, usable);
        validate(conversation, check_out, usable);
    }
}
