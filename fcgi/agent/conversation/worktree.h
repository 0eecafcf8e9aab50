/*
 * Creates a git worktree for a conversation (model/conversation/worktree.h) in its sandbox.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_WORKTREE_H
#define DEFT_FCGI_AGENT_CONVERSATION_WORKTREE_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct request;
struct strbuf;

/*
 * Adds a worktree of the repository in the conversation's working directory, in its sandbox, which
 * is started if needed. options: worktree_options of a start request, or NULL. Appends the path
 * that replaces the working directory. Errors: ERROR_NOT_FOUND when there is no repository with a
 * commit; ERROR_INVALID with git's message; as sandbox_ask().
 */
int worktree_add(const struct request *request, const struct conversation *conversation,
                 const json_t *options, struct strbuf *path_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
