#include "model/tools/tool_check.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/schema/words.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_table.h"

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

void tool_check_clear_risk(struct tool_call_check *check)
{
    set_risk(check, "UNKNOWN");
}

void tool_check_take_risk(const struct agent_tool *tool, const struct conversation *conversation,
                          json_t *arguments, json_t *problems, struct tool_call_check *check)
{
    static const struct json_path path = {NULL, "security_risk", 0};
    json_auto_t *value = json_incref(json_object_get(arguments, "security_risk"));
    const char *risk = json_string_value(value);

    (void)json_object_del(arguments, "security_risk");
    if (value == NULL || tool->annotations.is_read_only || !conversation_has_analyzer(conversation))
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

char *tool_check_take_summary(const struct agent_tool *tool, json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *value = json_incref(json_object_get(arguments, "summary"));

    (void)json_object_del(arguments, "summary");
    if (json_is_string(value) && !text_is_blank(json_string_value(value)))
        return mem_dup_text(json_string_value(value));
    strbuf_appendf(&text, "%s: ", tool->name);
    json_append_text(&text, arguments);
    strbuf_truncate(&text, utf8_offset(text.text, text.len, SUMMARY_MAX_CHARS));
    return strbuf_take(&text);
}

void tool_check_refuse(const struct agent_tool *tool, const json_t *problems, json_t *arguments,
                       struct tool_call_check *check)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t n = json_array_size(problems);
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;

    strbuf_appendf(&text, "Error validating tool '%s': %zu validation error%s for %s", tool->name,
                   n, n == 1 ? "" : "s", tool->action_kind);
    json_array_foreach (problems, i, value) {
        strbuf_append_char(&text, '\n');
        validation_error_append_text(value, &text);
    }
    strbuf_append(&text, ". Parameters provided: [");
    i = 0;
    json_object_foreach (arguments, name, value)
        strbuf_appendf(&text, "%s'%s'", i++ > 0 ? ", " : "", name);
    strbuf_append_char(&text, ']');
    mem_free(check->problem);
    check->problem = strbuf_take(&text);
}
