#include "model/tools/child_tools.h"

#include "base/attr.h"
#include "model/conversation/child_conversation.h"
#include "model/limits.h"

static const struct field start_fields[] = {
    {.name = "task",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .max_chars = CHILD_TASK_MAX_CHARS,
     .help = "What the new conversation is to do. It knows nothing of this one: say all that it"
             " has to know, and what the result should be."},
    {.name = "title",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = TITLE_MAX_CHARS,
     .help = "A title for it, in a few words."},
    {.name = "isolation",
     .kind = FIELD_TEXT,
     .fallback = "\"worktree\"",
     .words = "worktree|shared",
     .help = "worktree (the default): a git worktree and branch of its own, from the repository's"
             " default branch. shared: the folder of this conversation."},
};
const struct object_schema child_start_schema = CLOSED_SCHEMA(start_fields);

const char child_start_text[] =
    "Starts another conversation, with the same agent, for a task of its own. It begins at once,"
    " works beside this one, and is the user's to look at: this conversation neither waits for it"
    " nor hears of its result.\n"
    "- Use it for work that stands by itself, such as a second fix that the user should review"
    " apart from this one. Do not use it for what you need the result of.\n"
    "- With a worktree it does not see changes that are not committed to the default branch.\n"
    "- Conversations start others three deep at most.";

static const struct field task_fields[] = {
    {.name = "description",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .help = "The task in three to five words."},
    {.name = "prompt",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .max_chars = CHILD_TASK_MAX_CHARS,
     .help = "What the sub-agent is to do. It knows nothing of this conversation: say all that it"
             " has to know, and what its result should be."},
    {.name = "subagent_type",
     .kind = FIELD_TEXT,
     .fallback = "\"general-purpose\"",
     .help = "Which kind of sub-agent, of the list above."},
    {.name = "resume",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .help =
         "The id of an earlier task, such as task_00000001: its sub-agent goes on, with all that"
         " it knows, and prompt is what it is told next."},
};
const struct object_schema child_task_schema = CLOSED_SCHEMA(task_fields);

const char child_task_text[] =
    "Gives a task to a sub-agent: another agent that works in the same sandbox and folder, with"
    " shells of its own, and comes back with one result. You wait for it meanwhile.\n"
    "- Use it for work whose steps you need not see, such as finding something in a large code "
    "base,"
    " or a change that is clearly bounded. Do small things yourself.\n"
    "- The result names the task; with `resume` its sub-agent can be given more to do.\n"
    "- The result is what the sub-agent says. Check what matters before you rely on it.\n"
    "- Sub-agents may call others, three deep at most.";
