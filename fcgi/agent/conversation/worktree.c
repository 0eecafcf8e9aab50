#include "fcgi/agent/conversation/worktree.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/request.h"
#include "fcgi/sandbox_ask.h"
#include "model/conversation/worktree.h"

/* Includes a cold start of the sandbox before the command. */
#define ASK_MS ((int64_t)(WORKTREE_COMMAND_S + 60) * 1000)

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

    worktree_append_command(conversation, options, &command);
    json_put_text(body, "command", command.text);
    json_put(body, "timeout", json_integer(WORKTREE_COMMAND_S));
    if (sandbox_ask(request->context, &question, &answer, err) < 0)
        return -1;
    return worktree_read_answer(answer, path_out, err);
}
