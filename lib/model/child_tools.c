#include "model/child_tools.h"

#include "base/attr.h"
#include "model/child.h"
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
const struct shape child_start_shape = CLOSED_SHAPE(start_fields);

const char child_start_text[] =
    "Starts another conversation, with the same agent, for a task of its own. It begins at once,"
    " works beside this one, and is the user's to look at: this conversation neither waits for it"
    " nor hears of its result.\n"
    "- Use it for work that stands by itself, such as a second fix that the user should review"
    " apart from this one. Do not use it for what you need the result of.\n"
    "- With a worktree it does not see changes that are not committed to the default branch.\n"
    "- Conversations start others three deep at most.";
