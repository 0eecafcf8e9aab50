#include "model/tools/tool_table.h"

#include "base/attr.h"
#include "model/schema/object_schema.h"
#include "model/schema/words.h"
#include "model/tools/browser_tools.h"
#include "model/tools/child_tools.h"

const char tool_risks[] = "UNKNOWN|LOW|MEDIUM|HIGH";

static const struct field terminal_fields[] = {
    {.name = "command", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "is_input", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "timeout", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "reset", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema terminal_schema = CLOSED_SCHEMA(terminal_fields);

static const struct field file_editor_fields[] = {
    {.name = "command",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "view|create|str_replace|insert|undo_edit"},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "file_text", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "old_str", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "new_str", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "insert_line", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "view_range", .kind = FIELD_INTS, .rules = FIELD_NULLABLE},
};
static const struct object_schema file_editor_schema = CLOSED_SCHEMA(file_editor_fields);

static const struct field task_fields[] = {
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "notes", .kind = FIELD_TEXT, .fallback = "\"\""},
    {.name = "status",
     .kind = FIELD_TEXT,
     .fallback = "\"todo\"",
     .words = "todo|in_progress|done"},
};
static const struct object_schema task_schema = SCHEMA(task_fields);

static const struct field task_tracker_fields[] = {
    {.name = "command", .kind = FIELD_TEXT, .fallback = "\"view\"", .words = "view|plan"},
    {.name = "task_list", .kind = FIELD_OBJECTS, .fallback = "[]", .items = &task_schema},
};
static const struct object_schema task_tracker_schema = CLOSED_SCHEMA(task_tracker_fields);

static const struct field finish_fields[] = {
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema finish_schema = CLOSED_SCHEMA(finish_fields);

static const struct field invoke_skill_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema invoke_skill_schema = CLOSED_SCHEMA(invoke_skill_fields);

static const struct field think_fields[] = {
    {.name = "thought", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema think_schema = CLOSED_SCHEMA(think_fields);

static const struct field glob_fields[] = {
    {.name = "pattern", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema glob_schema = CLOSED_SCHEMA(glob_fields);

static const struct field grep_fields[] = {
    {.name = "pattern", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "include", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema grep_schema = CLOSED_SCHEMA(grep_fields);

static const struct field read_file_fields[] = {
    {.name = "file_path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "offset", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_0},
};
static const struct object_schema read_file_schema = CLOSED_SCHEMA(read_file_fields);

static const struct field write_file_fields[] = {
    {.name = "file_path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "content", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema write_file_schema = CLOSED_SCHEMA(write_file_fields);

static const struct field edit_fields[] = {
    {.name = "file_path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "old_string", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "new_string", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "expected_replacements", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "1"},
};
static const struct object_schema edit_schema = CLOSED_SCHEMA(edit_fields);

static const struct field list_directory_fields[] = {
    {.name = "dir_path", .kind = FIELD_TEXT, .fallback = "\".\""},
    {.name = "recursive", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema list_directory_schema = CLOSED_SCHEMA(list_directory_fields);

static const struct field apply_patch_fields[] = {
    {.name = "patch", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema apply_patch_schema = CLOSED_SCHEMA(apply_patch_fields);

/* Members common to the tools of sandbox/actions/file_tool.c. */
#define FILE_TOOL(tool_name, class)                                                                \
    .name = (tool_name), .title = (tool_name), .kind = class "Tool",                               \
    .action_kind = class "Action", .observation_kind = class "Observation",                        \
    .place = TOOL_IN_SANDBOX, .spec_names = tool_name "|" class "Tool"

/* Members common to all browser tools. */
#define BROWSER_TOOL(tool_name, class)                                                             \
    .name = (tool_name), .title = (tool_name), .kind = class "Tool",                               \
    .action_kind = class "Action", .observation_kind = "BrowserObservation",                       \
    .place = TOOL_IN_SANDBOX, .spec_names = (tool_name), .set_names = BROWSER_SET_NAMES,           \
    .resource = "browser"

const struct tool tool_table[] = {
    {.name = "terminal",
     .title = "terminal",
     .kind = "TerminalTool",
     .action_kind = "TerminalAction",
     .observation_kind = "TerminalObservation",
     .place = TOOL_IN_SANDBOX,
     .schema = &terminal_schema,
     .text = TEXT_TOOL_TERMINAL,
     .hints = "dw",
     .resource = "terminal:session",
     .spec_names = "terminal|TerminalTool|BashTool|execute_bash"},
    {.name = "file_editor",
     .title = "file_editor",
     .kind = "FileEditorTool",
     .action_kind = "FileEditorAction",
     .observation_kind = "FileEditorObservation",
     .place = TOOL_IN_SANDBOX,
     .schema = &file_editor_schema,
     .text = TEXT_TOOL_FILE_EDITOR,
     .hints = "d",
     .resource = "file:",
     .resource_member = "path",
     .spec_names = "file_editor|FileEditorTool|str_replace_editor"},
    {.name = "task_tracker",
     .kind = "TaskTrackerTool",
     .action_kind = "TaskTrackerAction",
     .observation_kind = "TaskTrackerObservation",
     .place = TOOL_IN_WORKER,
     .schema = &task_tracker_schema,
     .text = TEXT_TOOL_TASK_TRACKER,
     .hints = "i",
     .spec_names = "task_tracker|TaskTrackerTool"},
    {FILE_TOOL("glob", "Glob"), .is_read_only = true, .schema = &glob_schema,
     .text = TEXT_TOOL_GLOB, .hints = "i"},
    {FILE_TOOL("grep", "Grep"), .is_read_only = true, .schema = &grep_schema,
     .text = TEXT_TOOL_GREP, .hints = "i"},
    {FILE_TOOL("read_file", "ReadFile"), .is_read_only = true, .schema = &read_file_schema,
     .text = TEXT_TOOL_READ_FILE, .hints = "i"},
    {FILE_TOOL("write_file", "WriteFile"), .schema = &write_file_schema,
     .text = TEXT_TOOL_WRITE_FILE, .hints = "d",
     .resource = "file:", .resource_member = "file_path"},
    {FILE_TOOL("edit", "Edit"), .schema = &edit_schema, .text = TEXT_TOOL_EDIT, .hints = "d",
     .resource = "file:", .resource_member = "file_path"},
    {FILE_TOOL("list_directory", "ListDirectory"), .is_read_only = true,
     .schema = &list_directory_schema, .text = TEXT_TOOL_LIST_DIRECTORY, .hints = "i"},
    {FILE_TOOL("apply_patch", "ApplyPatch"), .schema = &apply_patch_schema,
     .text = TEXT_TOOL_APPLY_PATCH, .hints = "d"},
    {.name = "invoke_skill",
     .kind = "InvokeSkillTool",
     .action_kind = "InvokeSkillAction",
     .observation_kind = "InvokeSkillObservation",
     .place = TOOL_IN_WORKER,
     .is_read_only = true,
     .schema = &invoke_skill_schema,
     .text = TEXT_TOOL_INVOKE_SKILL,
     .hints = "i",
     .spec_names = "invoke_skill|InvokeSkillTool"},
    {.name = "start_child_conversation",
     .kind = "StartChildConversationTool",
     .action_kind = "StartChildConversationAction",
     .observation_kind = "StartChildConversationObservation",
     .place = TOOL_IN_CHILD,
     .schema = &child_start_schema,
     .text = TEXT_TOOL_START_CHILD,
     .hints = "w",
     .spec_names = "start_child_conversation|StartChildConversationTool"},
    {.name = "task",
     .told_set = "task_tool_set",
     .kind = "TaskTool",
     .action_kind = "TaskAction",
     .observation_kind = "TaskObservation",
     .place = TOOL_IN_SUB_AGENT,
     .schema = &child_task_schema,
     .text = TEXT_TOOL_TASK,
     .hints = "dw",
     .resource = "task:",
     .resource_member = "resume",
     .spec_names = "task|TaskTool|task_tool_set|TaskToolSet"},
    {.name = "delegate",
     .kind = "DelegateTool",
     .action_kind = "DelegateAction",
     .observation_kind = "DelegateObservation",
     .place = TOOL_IN_DELEGATES,
     .schema = &child_delegate_schema,
     .text = TEXT_TOOL_DELEGATE,
     .hints = "dw",
     .spec_names = "delegate|DelegateTool"},
    {BROWSER_TOOL("browser_navigate", "BrowserNavigate"), .schema = &browser_navigate_schema,
     .text = TEXT_TOOL_BROWSER_NAVIGATE, .hints = "w"},
    {BROWSER_TOOL("browser_click", "BrowserClick"), .schema = &browser_click_schema,
     .text = TEXT_TOOL_BROWSER_CLICK, .hints = "dw"},
    {BROWSER_TOOL("browser_type", "BrowserType"), .schema = &browser_type_schema,
     .text = TEXT_TOOL_BROWSER_TYPE, .hints = "dw"},
    {BROWSER_TOOL("browser_get_state", "BrowserGetState"), .schema = &browser_get_state_schema,
     .text = TEXT_TOOL_BROWSER_GET_STATE, .hints = "iw", .is_read_only = true},
    {BROWSER_TOOL("browser_get_content", "BrowserGetContent"),
     .schema = &browser_get_content_schema, .text = TEXT_TOOL_BROWSER_GET_CONTENT, .hints = "iw",
     .is_read_only = true},
    {BROWSER_TOOL("browser_scroll", "BrowserScroll"), .schema = &browser_scroll_schema,
     .text = TEXT_TOOL_BROWSER_SCROLL, .hints = "w"},
    {BROWSER_TOOL("browser_go_back", "BrowserGoBack"), .schema = &browser_nothing_schema,
     .text = TEXT_TOOL_BROWSER_GO_BACK, .hints = "w"},
    {BROWSER_TOOL("browser_list_tabs", "BrowserListTabs"), .schema = &browser_nothing_schema,
     .text = TEXT_TOOL_BROWSER_LIST_TABS, .hints = "i", .is_read_only = true},
    {BROWSER_TOOL("browser_switch_tab", "BrowserSwitchTab"), .schema = &browser_tab_schema,
     .text = TEXT_TOOL_BROWSER_SWITCH_TAB, .hints = ""},
    {BROWSER_TOOL("browser_close_tab", "BrowserCloseTab"), .schema = &browser_tab_schema,
     .text = TEXT_TOOL_BROWSER_CLOSE_TAB, .hints = ""},
    {BROWSER_TOOL("browser_get_storage", "BrowserGetStorage"), .schema = &browser_nothing_schema,
     .text = TEXT_TOOL_BROWSER_GET_STORAGE, .hints = "i", .is_read_only = true},
    {BROWSER_TOOL("browser_set_storage", "BrowserSetStorage"),
     .schema = &browser_set_storage_schema, .text = TEXT_TOOL_BROWSER_SET_STORAGE, .hints = ""},
    {.name = "finish",
     .title = "finish",
     .kind = "FinishTool",
     .action_kind = "FinishAction",
     .observation_kind = "FinishObservation",
     .place = TOOL_ENDS_RUN,
     .is_read_only = true,
     .schema = &finish_schema,
     .text = TEXT_TOOL_FINISH,
     .hints = "i",
     .spec_names = "finish|FinishTool"},
    {.name = "think",
     .kind = "ThinkTool",
     .action_kind = "ThinkAction",
     .observation_kind = "ThinkObservation",
     .place = TOOL_IN_WORKER,
     .is_read_only = true,
     .schema = &think_schema,
     .text = TEXT_TOOL_THINK,
     .hints = "i",
     .spec_names = "think|ThinkTool"},
};
const size_t tool_table_n = ARRAY_SIZE(tool_table);

const char tool_names_elsewhere[] =
    "AskOracleTool|ClassifyAndSwitchLLMTool|PlanningFileEditorTool|SwitchLLMTool|"
    "TomConsultTool|VisionInspectTool|WorkflowTool|ask_oracle|consult_tom_agent|"
    "inspect_image_with_vision|planning_file_editor|route_task_to_model|switch_llm|"
    "vision_inspect|workflow";

static bool is_in_set(const struct tool *tool, const char *set_name)
{
    return tool->set_names != NULL && words_contain(tool->set_names, set_name);
}

bool tool_is_meant(const struct tool *tool, const char *spec_name)
{
    return words_contain(tool->spec_names, spec_name) || is_in_set(tool, spec_name);
}

bool tools_have(enum sandbox_browser browser, const char *name)
{
    for (size_t i = 0; i < tool_table_n; i++) {
        if (tool_is_meant(&tool_table[i], name))
            return tool_table[i].set_names == NULL || browser == SANDBOX_WITH_BROWSER;
    }
    return false;
}

bool tool_leaves_files(const struct tool *tool)
{
    return tool->is_read_only || tool->place == TOOL_IN_WORKER || tool->place == TOOL_ENDS_RUN;
}
