#include "model/masking/event_text.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/tools/client_tools.h"

/* Paths to the free text of a kind, separated by '|'; '*' matches all items of a list, '**' all
 * strings below. */
struct texts {
    const char *kind;
    const char *paths;
};

static const struct texts kinds[] = {
    {"ActionEvent", "thought/*/text|reasoning_content|summary"},
    {"AgentErrorEvent", "error"},
    {"Condensation", "summary"},
    {"ConversationErrorEvent", "detail"},
    {"HookExecutionEvent", "stdout|stderr|reason|additional_context|error|hook_input/**"},
    {"MessageEvent", "llm_message/content/*/text|llm_message/reasoning_content|"
                     "extended_content/*/text"},
    {"SecurityAnalysisEvent", "details/**"},
    {"UserRejectObservation", "rejection_reason"},
    {"ApplyPatchAction", "patch"},
    {"ApplyPatchObservation", "content/*/text|commit/changes/**"},
    {"BrowserNavigateAction", "url"},
    {"BrowserObservation", "content/*/text"},
    {"BrowserSetStorageAction", "storage_state/**"},
    {"BrowserTypeAction", "text"},
    {"ClientToolObservation", "content/*/text"},
    {"DelegateAction", "tasks/**"},
    {"DelegateObservation", "content/*/text"},
    {"EditAction", "old_string|new_string"},
    {"EditObservation", "content/*/text|old_content|new_content"},
    {"FileEditorAction", "file_text|old_str|new_str"},
    {"FileEditorObservation", "content/*/text|old_content|new_content"},
    {"FinishAction", "message"},
    {"FinishObservation", "content/*/text"},
    {"GlobAction", "pattern"},
    {"GlobObservation", "content/*/text|pattern|files/*"},
    {"GrepAction", "pattern"},
    {"GrepObservation", "content/*/text|pattern|matches/*"},
    {"InvokeSkillObservation", "content/*/text"},
    {"ListDirectoryObservation", "content/*/text|entries/*/name|entries/*/path"},
    {"MCPToolAction", "data/**"},
    {"MCPToolObservation", "content/*/text"},
    {"ReadFileObservation", "content/*/text|file_content"},
    {"StartChildConversationAction", "task|title"},
    {"StartChildConversationObservation", "content/*/text|title"},
    {"TaskAction", "description|prompt"},
    {"TaskObservation", "content/*/text"},
    {"TaskTrackerAction", "task_list/*/title|task_list/*/notes"},
    {"TaskTrackerObservation", "content/*/text|task_list/*/title|task_list/*/notes"},
    {"TerminalAction", "command"},
    {"TerminalObservation", "content/*/text|command|metadata/prefix|metadata/suffix"},
    {"ThinkAction", "thought"},
    {"ThinkObservation", "content/*/text"},
    {"WriteFileAction", "content"},
    {"WriteFileObservation", "content/*/text|old_content|new_content"},
};

static const char *paths_of(const char *kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (text_equal(kinds[i].kind, kind))
            return kinds[i].paths;
    }
    return "";
}

/* True if a client's JSON schema enumerates the values of a member. */
static bool is_enumerated(const json_t *schema)
{
    return json_object_get(schema, "enum") != NULL || json_object_get(schema, "const") != NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): json_parse() caps the depth */
static bool visit_all(json_t *value, const json_t *schema, const struct text_visitor *visitor)
{
    const json_t *members = json_object_get(schema, "properties");
    bool is_changed = false;
    void *at = NULL;

    if (is_enumerated(schema))
        return false;
    if (json_is_string(value))
        return visitor->visit(visitor->context, value);
    for (size_t i = 0; i < json_array_size(value); i++)
        is_changed |=
            visit_all(json_array_get(value, i), json_object_get(schema, "items"), visitor);
    for (at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at))
        is_changed |= visit_all(json_object_iter_value(at),
                                json_object_get(members, json_object_iter_key(at)), visitor);
    return is_changed;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a path of the table is long */
static bool visit_path(json_t *value, const char *path, size_t len,
                       const struct text_visitor *visitor)
{
    const char *slash = memchr(path, '/', len);
    size_t n = slash != NULL ? (size_t)(slash - path) : len;
    const char *rest = slash != NULL ? slash + 1 : path + len;
    size_t n_rest = slash != NULL ? len - n - 1 : 0;
    bool is_changed = false;

    /* A list may be given as a single string. */
    if (json_is_string(value))
        return visitor->visit(visitor->context, value);
    if (len == 0)
        return false;
    if (n == 2 && memcmp(path, "**", 2) == 0)
        return visit_all(value, NULL, visitor);
    if (path[0] != '*')
        return visit_path(json_object_getn(value, path, n), rest, n_rest, visitor);
    for (size_t i = 0; i < json_array_size(value); i++)
        is_changed |= visit_path(json_array_get(value, i), rest, n_rest, visitor);
    return is_changed;
}

static bool visit_paths(json_t *object, const char *paths, const struct text_visitor *visitor)
{
    bool is_changed = false;

    while (*paths != '\0') {
        size_t len = strcspn(paths, "|");

        is_changed |= visit_path(object, paths, len, visitor);
        paths += len + (paths[len] == '|');
    }
    return is_changed;
}

/* Returns the parameter schema of the client tool that the action is of, or NULL. */
static const json_t *schema_of(const char *kind, const struct conversation *conversation)
{
    const json_t *tool = NULL;

    if (!text_starts_with(kind, CLIENT_ACTION_PREFIX))
        return NULL;
    tool = client_tool_find(conversation, kind + strlen(CLIENT_ACTION_PREFIX));
    return json_object_get(tool, "parameters");
}

/* Visits all strings of a client tool's action except its kind and enumerated values. */
static bool visit_client_action(json_t *action, const json_t *schema,
                                const struct text_visitor *visitor)
{
    const json_t *members = json_object_get(schema, "properties");
    bool is_changed = false;
    void *at = NULL;

    for (at = json_object_iter(action); at != NULL; at = json_object_iter_next(action, at)) {
        const char *name = json_object_iter_key(at);

        if (!text_equal(name, "kind"))
            is_changed |=
                visit_all(json_object_iter_value(at), json_object_get(members, name), visitor);
    }
    return is_changed;
}

bool action_texts_visit(json_t *action, const struct conversation *conversation,
                        const struct text_visitor *visitor)
{
    const char *kind = json_text_or(action, "kind", "");

    if (text_starts_with(kind, CLIENT_ACTION_PREFIX))
        return visit_client_action(action, schema_of(kind, conversation), visitor);
    return visit_paths(action, paths_of(kind), visitor);
}

bool arguments_texts_visit(json_t *arguments, const json_t *action,
                           const struct conversation *conversation,
                           const struct text_visitor *visitor)
{
    const char *kind = json_text_or(action, "kind", "");
    bool is_changed = false;
    void *at = NULL;

    if (text_starts_with(kind, CLIENT_ACTION_PREFIX))
        return visit_client_action(arguments, schema_of(kind, conversation), visitor);
    for (at = json_object_iter(arguments); at != NULL; at = json_object_iter_next(arguments, at)) {
        const char *name = json_object_iter_key(at);

        if (!text_equal(name, "security_risk") && json_object_get(action, name) == NULL)
            is_changed |= visit_all(json_object_iter_value(at), NULL, visitor);
    }
    return visit_paths(arguments, paths_of(kind), visitor) || is_changed;
}

void event_texts_visit(json_t *event, const struct text_visitor *visitor)
{
    json_t *observation = json_object_get(event, "observation");
    json_t *found = json_object_get(json_object_get(event, "value"), "project_knowledge");

    (void)visit_all(found, NULL, visitor);
    (void)visit_paths(event, paths_of(json_text_or(event, "kind", "")), visitor);
    if (observation != NULL)
        (void)visit_paths(observation, paths_of(json_text_or(observation, "kind", "")), visitor);
}
