#include "model/tools/tool_table.h"

#include "base/attr.h"
#include "model/schema/object_schema.h"
#include "model/schema/words.h"
#include "model/tools/browser_tools.h"
#include "model/tools/child_tools.h"
#include "model/tools/tool_text.h"

const char tool_risks[] = "UNKNOWN|LOW|MEDIUM|HIGH";
const char tool_risk_help[] =
    "How much harm this call could do, by the levels of the SECURITY_RISK_ASSESSMENT section: LOW,"
    " MEDIUM, HIGH, or UNKNOWN when you cannot tell.";
const char tool_summary_help[] = "What this call does, for the user, in about ten words.";

static const struct field terminal_fields[] = {
    {.name = "command",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "The command. With is_input: text or a key for the running program; empty to get"
             " further output."},
    {.name = "is_input",
     .kind = FIELD_BOOL,
     .fallback = "false",
     .help = "True: command is input for the program that is running. False (the default): a new"
             " command."},
    {.name = "timeout",
     .kind = FIELD_NUMBER,
     .rules = FIELD_NULLABLE | FIELD_FROM_0,
     .help = "Seconds to wait for the command at most. Without it the call comes back when the"
             " command ends or has been silent for a while."},
    {.name = "reset",
     .kind = FIELD_BOOL,
     .fallback = "false",
     .help = "True: start a new shell first; everything in the old one is lost."},
};
static const struct object_schema terminal_schema = CLOSED_SCHEMA(terminal_fields);

static const struct field file_editor_fields[] = {
    {.name = "command",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "view|create|str_replace|insert|undo_edit",
     .help = "What to do."},
    {.name = "path",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "Absolute path of the file or directory."},
    {.name = "file_text",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .help = "For create (required): the content of the new file."},
    {.name = "old_str",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .help = "For str_replace (required): the text in the file that is replaced; it has to occur"
             " exactly once."},
    {.name = "new_str",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .help = "For str_replace: the new text; without it, the old one is deleted. For insert"
             " (required): the text to insert."},
    {.name = "insert_line",
     .kind = FIELD_INT,
     .rules = FIELD_NULLABLE | FIELD_FROM_0,
     .help = "For insert (required): the line after which new_str is put; 0 is the top."},
    {.name = "view_range",
     .kind = FIELD_INTS,
     .rules = FIELD_NULLABLE,
     .help = "For view of a file: first and last line, from 1; -1 as last means the end, such as"
             " [40, -1]."},
};
static const struct object_schema file_editor_schema = CLOSED_SCHEMA(file_editor_fields);

static const struct field task_fields[] = {
    {.name = "title",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "The step, in a few words."},
    {.name = "notes",
     .kind = FIELD_TEXT,
     .fallback = "\"\"",
     .help = "Details, findings, what is left."},
    {.name = "status",
     .kind = FIELD_TEXT,
     .fallback = "\"todo\"",
     .words = "todo|in_progress|done",
     .help = "Where the step stands."},
};
static const struct object_schema task_schema = SCHEMA(task_fields);

static const struct field task_tracker_fields[] = {
    {.name = "command",
     .kind = FIELD_TEXT,
     .fallback = "\"view\"",
     .words = "view|plan",
     .help = "view shows the list; plan replaces it with task_list."},
    {.name = "task_list",
     .kind = FIELD_OBJECTS,
     .fallback = "[]",
     .items = &task_schema,
     .help = "For plan (required): all tasks, in order."},
};
static const struct object_schema task_tracker_schema = CLOSED_SCHEMA(task_tracker_fields);

static const struct field finish_fields[] = {
    {.name = "message",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "The last message to the user."},
};
static const struct object_schema finish_schema = CLOSED_SCHEMA(finish_fields);

static const struct field think_fields[] = {
    {.name = "thought", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .help = "The thought."},
};
static const struct object_schema think_schema = CLOSED_SCHEMA(think_fields);

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
     .description = tool_text_terminal,
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
     .description = tool_text_file_editor,
     .hints = "d",
     .resource = "file:",
     .resource_member = "path",
     .spec_names = "file_editor|FileEditorTool|str_replace_editor",
     .shows_working_dir = true},
    {.name = "task_tracker",
     .kind = "TaskTrackerTool",
     .action_kind = "TaskTrackerAction",
     .observation_kind = "TaskTrackerObservation",
     .place = TOOL_IN_WORKER,
     .schema = &task_tracker_schema,
     .description = tool_text_task_tracker,
     .hints = "i",
     .spec_names = "task_tracker|TaskTrackerTool"},
    {.name = "start_child_conversation",
     .kind = "StartChildConversationTool",
     .action_kind = "StartChildConversationAction",
     .observation_kind = "StartChildConversationObservation",
     .place = TOOL_IN_CHILD,
     .schema = &child_start_schema,
     .description = child_start_text,
     .hints = "w",
     .spec_names = "start_child_conversation|StartChildConversationTool"},
    {.name = "task",
     .told_set = "task_tool_set",
     .kind = "TaskTool",
     .action_kind = "TaskAction",
     .observation_kind = "TaskObservation",
     .place = TOOL_IN_SUB_AGENT,
     .schema = &child_task_schema,
     .description = child_task_text,
     .hints = "dw",
     .spec_names = "task|TaskTool|task_tool_set|TaskToolSet",
     .lists_sub_agents = true},
    {BROWSER_TOOL("browser_navigate", "BrowserNavigate"), .schema = &browser_navigate_schema,
     .description = browser_navigate_text, .hints = "w"},
    {BROWSER_TOOL("browser_click", "BrowserClick"), .schema = &browser_click_schema,
     .description = browser_click_text, .hints = "dw"},
    {BROWSER_TOOL("browser_type", "BrowserType"), .schema = &browser_type_schema,
     .description = browser_type_text, .hints = "dw"},
    {BROWSER_TOOL("browser_get_state", "BrowserGetState"), .schema = &browser_get_state_schema,
     .description = browser_get_state_text, .hints = "iw", .is_read_only = true},
    {BROWSER_TOOL("browser_get_content", "BrowserGetContent"),
     .schema = &browser_get_content_schema, .description = browser_get_content_text, .hints = "iw",
     .is_read_only = true},
    {BROWSER_TOOL("browser_scroll", "BrowserScroll"), .schema = &browser_scroll_schema,
     .description = browser_scroll_text, .hints = "w"},
    {BROWSER_TOOL("browser_go_back", "BrowserGoBack"), .schema = &browser_nothing_schema,
     .description = browser_go_back_text, .hints = "w"},
    {BROWSER_TOOL("browser_list_tabs", "BrowserListTabs"), .schema = &browser_nothing_schema,
     .description = browser_list_tabs_text, .hints = "i", .is_read_only = true},
    {BROWSER_TOOL("browser_switch_tab", "BrowserSwitchTab"), .schema = &browser_tab_schema,
     .description = browser_switch_tab_text, .hints = ""},
    {BROWSER_TOOL("browser_close_tab", "BrowserCloseTab"), .schema = &browser_tab_schema,
     .description = browser_close_tab_text, .hints = ""},
    {BROWSER_TOOL("browser_get_storage", "BrowserGetStorage"), .schema = &browser_nothing_schema,
     .description = browser_get_storage_text, .hints = "i", .is_read_only = true},
    {BROWSER_TOOL("browser_set_storage", "BrowserSetStorage"),
     .schema = &browser_set_storage_schema, .description = browser_set_storage_text, .hints = ""},
    {.name = "finish",
     .title = "finish",
     .kind = "FinishTool",
     .action_kind = "FinishAction",
     .observation_kind = "FinishObservation",
     .place = TOOL_ENDS_RUN,
     .is_read_only = true,
     .schema = &finish_schema,
     .description = tool_text_finish,
     .hints = "i",
     .spec_names = "finish|FinishTool"},
    {.name = "think",
     .kind = "ThinkTool",
     .action_kind = "ThinkAction",
     .observation_kind = "ThinkObservation",
     .place = TOOL_IN_WORKER,
     .is_read_only = true,
     .schema = &think_schema,
     .description = tool_text_think,
     .hints = "i",
     .spec_names = "think|ThinkTool"},
};
const size_t tool_table_n = ARRAY_SIZE(tool_table);

const char tool_names_elsewhere[] =
    "AskOracleTool|ApplyPatchTool|ClassifyAndSwitchLLMTool|DelegateTool|EditTool|"
    "GlobTool|GrepTool|InvokeSkillTool|ListDirectoryTool|PlanningFileEditorTool|ReadFileTool|"
    "SwitchLLMTool|TomConsultTool|"
    "VisionInspectTool|"
    "WorkflowTool|WriteFileTool|apply_patch|ask_oracle|"
    "consult_tom_agent|delegate|edit|glob|grep|inspect_image_with_vision|invoke_skill|"
    "list_directory|planning_file_editor|read_file|route_task_to_model|"
    "switch_llm|vision_inspect|workflow|write_file";

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
