#include "fcgi/agent/worktree.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/request.h"
#include "fcgi/sandbox_ask.h"
#include "model/conversation.h"

enum { GIT_S = 120, NO_REPOSITORY = 3 };

#define ASK_MS ((int64_t)180 * 1000)

/*
 * The variables above it hold nothing that a shell could read otherwise: a quoted folder, an id,
 * and names that the start request's rules let through. A folder that is not there is no
 * repository.
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
    "dir=/tmp/conversation-worktrees/$id/$(basename \"$top\")\n"
    "mkdir -p \"${dir%/*}\" &&\n"
    "    git worktree add -q -b \"$prefix$id\" \"$dir\" \"$start\" >/dev/null &&\n"
    "    printf %s \"$dir${below:+/${below%/}}\"\n";

/* As one word for the shell, whatever it holds. */
static void append_quoted(struct strbuf *out, const char *word)
{
    strbuf_append_char(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            strbuf_append(out, "'\\'");
        strbuf_append_char(out, *word);
    }
    strbuf_append_char(out, '\'');
}

static void append_command(const struct conversation *conversation, const json_t *options,
                           struct strbuf *out)
{
    strbuf_append(out, "folder=");
    append_quoted(out, conversation_working_dir(conversation));
    strbuf_appendf(out, "\nid=%s\nbase=%s\nref='%s'\nprefix='%s'\n", conversation->id.text,
                   json_text_or(options, "base", "default_branch"),
                   json_text_or(options, "ref", ""),
                   json_text_or(options, "branch_prefix", "openhands/"));
    strbuf_append(out, SCRIPT);
}

static int read_answer(const json_t *answer, struct strbuf *path_out, struct error *err)
{
    const char *path = json_text_or(answer, "stdout", "");
    json_int_t status = json_int_or(answer, "exit_code", -1);

    if (status == NO_REPOSITORY)
        return error_set(err, ERROR_NOT_FOUND, "The workspace is no git repository with a commit");
    if (status != 0 || path[0] != '/')
        return error_set(err, ERROR_INVALID, "No worktree could be made: %s",
                         json_text_or(answer, "stderr", "git failed"));
    strbuf_append(path_out, path);
    return 0;
}

int worktree_add(const struct request *request, const struct conversation *conversation,
                 const json_t *options, struct strbuf *path_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    json_auto_t *body = json_object();
    json_auto_t *answer = NULL;
    const struct sandbox_question question = {.owner = {&request->principal, conversation},
                                              .path = "/api/bash/execute_bash_command",
                                              .body = body,
                                              .timeout_ms = ASK_MS};

    append_command(conversation, options, &command);
    json_put_text(body, "command", command.text);
    json_put(body, "timeout", json_integer(GIT_S));
    if (sandbox_ask(request->context, &question, &answer, err) < 0)
        return -1;
    return read_answer(answer, path_out, err);
}

void worktree_enter(struct conversation *conversation, const char *path)
{
    json_t *workspace = json_deep_copy(json_object_get(conversation->spec, "workspace"));

    json_put_text(workspace, "working_dir", path);
    json_put(conversation->spec, "workspace", workspace);
}
