#include "model/tools/child_tools.h"

#include "base/attr.h"
#include "model/conversation/child_conversation.h"
#include "model/limits.h"

static const struct field start_fields[] = {
    {.name = "task",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .max_chars = CHILD_TASK_MAX_CHARS},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = TITLE_MAX_CHARS},
    {.name = "isolation",
     .kind = FIELD_TEXT,
     .fallback = "\"worktree\"",
     .words = "worktree|shared"},
};
const struct object_schema child_start_schema = CLOSED_SCHEMA(start_fields);

static const struct field task_fields[] = {
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "prompt",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .max_chars = CHILD_TASK_MAX_CHARS},
    {.name = "subagent_type", .kind = FIELD_TEXT, .fallback = "\"general-purpose\""},
    {.name = "resume", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
const struct object_schema child_task_schema = CLOSED_SCHEMA(task_fields);

static const struct field delegate_fields[] = {
    {.name = "command", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "spawn|delegate"},
    {.name = "ids", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "agent_types", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "tasks", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
};
const struct object_schema child_delegate_schema = CLOSED_SCHEMA(delegate_fields);
