#include "model/tools/tool_alias.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/encode.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/tools/agent_tool.h"
#include "model/tools/toolset.h"

struct alias {
    const char *name;
    const char *tool;
    const char *command;     /* implied by the name, or NULL */
    bool needs_no_arguments; /* only the command is meant */
};

static const struct alias aliases[] = {
    {"bash", "terminal", NULL, false},
    {"command", "terminal", NULL, false},
    {"execute", "terminal", NULL, false},
    {"execute_bash", "terminal", NULL, false},
    {"git", "terminal", "git", false},
    {"reset", "terminal", "reset", false},
    {"find", "terminal", "find", true},
    {"ls", "terminal", "ls", true},
    {"pwd", "terminal", "pwd", true},
    {"str_replace", "file_editor", NULL, false},
    {"str_replace_editor", "file_editor", NULL, false},
};

/* Converts grep{pattern, path, include} to a command line; false if there is no pattern. */
static bool grep_to_command(json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    const char *pattern = json_text_or(arguments, "pattern", NULL);
    const char *include = json_text_or(arguments, "include", NULL);

    if (pattern == NULL)
        return false;
    strbuf_append(&command, "grep -rnE");
    if (include != NULL) {
        strbuf_append(&command, " --include=");
        shell_word_append(&command, include);
    }
    strbuf_append(&command, " -e ");
    shell_word_append(&command, pattern);
    strbuf_append(&command, " -- ");
    shell_word_append(&command, json_text_or(arguments, "path", "."));
    (void)json_object_del(arguments, "pattern");
    (void)json_object_del(arguments, "path");
    (void)json_object_del(arguments, "include");
    json_put_text(arguments, "command", command.text);
    return true;
}

/* "status" for a tool named git means "git status". */
static void put_command_in_front(json_t *arguments, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    const char *given = json_text_or(arguments, "command", "");
    size_t len = strlen(word);

    if (text_starts_with(given, word) && (given[len] == ' ' || given[len] == '\0'))
        return;
    strbuf_append(&command, word);
    if (given[0] != '\0')
        strbuf_appendf(&command, " %s", given);
    json_put_text(arguments, "command", command.text);
}

/* Aliases are for deft's own tools. */
static const struct agent_tool *find_own(const struct toolset *tools, const char *name)
{
    const struct agent_tool *tool = toolset_find(tools, name);

    return tool != NULL && tool->own != NULL ? tool : NULL;
}

static const struct agent_tool *find_alias(const struct toolset *tools, const char *name,
                                           json_t *arguments)
{
    const struct agent_tool *tool = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
        const struct alias *alias = &aliases[i];

        if (!text_equal(alias->name, name))
            continue;
        tool = find_own(tools, alias->tool);
        if (tool == NULL || (alias->needs_no_arguments && json_object_size(arguments) > 0))
            return NULL;
        if (alias->command != NULL)
            put_command_in_front(arguments, alias->command);
        return tool;
    }
    tool = find_own(tools, "terminal");
    if (tool != NULL && text_equal(name, "grep") && grep_to_command(arguments))
        return tool;
    return NULL;
}

/* Exact names only: the aliases of agent specifications are not for models. */
static const struct agent_tool *find_exact(const struct toolset *tools, const char *name)
{
    const struct agent_tool *tool = toolset_find(tools, name);

    return tool != NULL && text_equal(tool->name, name) ? tool : NULL;
}

const struct agent_tool *tool_alias_find(const struct toolset *tools, const char *name,
                                         json_t *arguments)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    const struct agent_tool *tool = find_exact(tools, name);
    size_t len = 0;

    if (tool != NULL)
        return tool;
    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    strbuf_append_bytes(&head, name, len);
    tool = find_exact(tools, head.text);
    return tool != NULL ? tool : find_alias(tools, head.text, arguments);
}
