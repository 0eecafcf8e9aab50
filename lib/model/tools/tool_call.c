#include "model/tools/tool_call.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_alias.h"
#include "model/tools/tool_check.h"
#include "model/tools/tool_repair.h"
#include "model/tools/toolset.h"

static char *unknown_tool_text(const struct toolset *tools, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "Tool '%s' not found. Available: [", name);
    for (size_t i = 0; i < toolset_size(tools); i++)
        strbuf_appendf(&text, "%s'%s'", i > 0 ? ", " : "", toolset_at(tools, i)->name);
    strbuf_append_char(&text, ']');
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

void tool_call_check(const struct toolset *tools, const char *name, const char *arguments,
                     struct tool_call_check *check_out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *parsed = tool_repair_parse(arguments, &text);
    json_auto_t *usable = parsed != NULL ? json_incref(parsed) : json_object();

    *check_out = (struct tool_call_check){0};
    tool_check_clear_risk(check_out);
    check_out->arguments = strbuf_take(&text);
    check_out->tool = tool_alias_find(tools, name, usable);
    if (check_out->tool == NULL)
        check_out->problem = unknown_tool_text(tools, name);
    else if (parsed == NULL)
        check_out->problem = unparseable_text(check_out->tool->name);
    else
        check_out->tool->source->check(check_out->tool, toolset_conversation(tools), usable,
                                       check_out);
}
