#include "model/conversation/worktree.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"

enum { NO_REPOSITORY = 3 };

#define WORKTREES_DIR "/tmp/conversation-worktrees/"

/*
 * Exit code 3: no repository; also if the folder does not exist. The command may be repeated while
 * an earlier one still runs, whose caller died, or after it was killed: the lock waits for its end,
 * and git has marked a worktree that it did not finish. Without flock only the wait is missing.
 */
static const char SCRIPT[] =
    "cd \"$folder\" 2>/dev/null || exit 3\n"
    "top=$(git rev-parse --show-toplevel 2>/dev/null) || exit 3\n"
    "git rev-parse --verify -q HEAD >/dev/null || exit 3\n"
    "below=$(git rev-parse --show-prefix)\n"
    "case $base in\n"
    "head) start=HEAD ;;\n"
    "ref) start=$ref ;;\n"
    "*) start=$(git rev-parse --abbrev-ref -q --verify origin/HEAD 2>/dev/null ||\n"
    "    git rev-parse --abbrev-ref -q --verify main 2>/dev/null ||\n"
    "    git rev-parse --abbrev-ref -q --verify master 2>/dev/null || echo HEAD) ;;\n"
    "esac\n"
    "dir=" WORKTREES_DIR "$id/$(basename \"$top\")\n"
    "mkdir -p \"${dir%/*}\" || exit 1\n"
    "exec 9>\"${dir%/*}/.lock\"\n"
    "flock 9 2>/dev/null\n"
    "if [ -e \"$dir/.git\" ] &&\n"
    "    grep -qs initializing \"$(git -C \"$dir\" rev-parse --git-dir)/locked\"; then\n"
    "    git worktree remove -f -f \"$dir\" &&\n"
    "        git worktree add -q \"$dir\" \"$prefix$id\" >/dev/null || exit 1\n"
    "elif [ ! -e \"$dir/.git\" ]; then\n"
    "    git worktree add -q -b \"$prefix$id\" \"$dir\" \"$start\" >/dev/null || exit 1\n"
    "fi\n"
    "printf %s \"$dir${below:+/${below%/}}\"\n";

/* name='value' */
static void append_variable(struct strbuf *out, const char *name, const char *value)
{
    strbuf_appendf(out, "%s=", name);
    shell_word_append(out, value);
    strbuf_append_char(out, '\n');
}

void worktree_append_command(const struct conversation *conversation, const json_t *options,
                             struct strbuf *out)
{
    append_variable(out, "folder", conversation_working_dir(conversation));
    append_variable(out, "id", conversation->id.text);
    append_variable(out, "base", json_text_or(options, "base", "default_branch"));
    append_variable(out, "ref", json_text_or(options, "ref", ""));
    append_variable(out, "prefix", json_text_or(options, "branch_prefix", "openhands/"));
    strbuf_append(out, SCRIPT);
}

int worktree_read_answer(const json_t *answer, struct strbuf *path_out, struct error *err)
{
    const char *path = json_text_or(answer, "stdout", "");
    json_int_t status = json_int_or(answer, "exit_code", -1);

    if (status == NO_REPOSITORY)
        return error_set(err, ERROR_NOT_FOUND,
                         "The workspace is not a git repository with a commit");
    if (status != 0 || path[0] != '/')
        return error_set(err, ERROR_INVALID, "The worktree could not be created: %s",
                         json_text_or(answer, "stderr", "git failed"));
    strbuf_append(path_out, path);
    return 0;
}

void worktree_enter(struct conversation *conversation, const char *path)
{
    json_t *workspace = json_deep_copy(json_object_get(conversation->spec, "workspace"));

    json_put_text(workspace, "working_dir", path);
    json_put(conversation->spec, "workspace", workspace);
}

bool worktree_is_entered(const struct conversation *conversation)
{
    CLEANUP(strbuf_done) struct strbuf dir = STRBUF_INIT;

    strbuf_appendf(&dir, "%s%s/", WORKTREES_DIR, conversation->id.text);
    return text_starts_with(conversation_working_dir(conversation), dir.text);
}

bool worktree_is_pending(const struct conversation *conversation)
{
    return json_is_string(json_object_get(conversation->agent_state, AGENT_STATE_WORKTREE));
}

const json_t *worktree_refusal(const struct conversation *conversation)
{
    const json_t *refusal = json_object_get(conversation->agent_state, AGENT_STATE_WORKTREE);

    return json_is_object(refusal) ? refusal : NULL;
}

void worktree_set_pending(struct conversation *conversation)
{
    json_put_text(conversation->agent_state, AGENT_STATE_WORKTREE, "pending");
}

void worktree_set_refused(struct conversation *conversation, const json_t *refusal)
{
    json_put(conversation->agent_state, AGENT_STATE_WORKTREE, json_deep_copy(refusal));
}

void worktree_set_settled(struct conversation *conversation)
{
    (void)json_object_del(conversation->agent_state, AGENT_STATE_WORKTREE);
}
