/*
 * A separate git worktree for a conversation: a folder and a branch of its own in a repository that
 * other conversations use, too. Builds the shell command and reads its result; the caller runs it
 * in the sandbox.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_CONVERSATION_WORKTREE_H
#define DEFT_MODEL_CONVERSATION_WORKTREE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct strbuf;

/* Time limit of the command, in seconds. */
enum { WORKTREE_COMMAND_S = 120 };

/*
 * Appends the command that adds a worktree of the repository in the conversation's working
 * directory. options: worktree_options of a start request, or NULL.
 */
void worktree_append_command(const struct conversation *conversation, const json_t *options,
                             struct strbuf *out) __attribute__((nonnull(1, 3)));
/*
 * Appends the path that replaces the working directory. answer: {"exit_code", "stdout", "stderr"}
 * of the command. Errors: ERROR_NOT_FOUND if there is no repository with a commit; ERROR_INVALID
 * with git's message.
 */
int worktree_read_answer(const json_t *answer, struct strbuf *path_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Sets the conversation's working directory. */
void worktree_enter(struct conversation *conversation, const char *path) NONNULL;
/* True if the conversation's working directory is a worktree of its own. */
bool worktree_is_entered(const struct conversation *conversation) NONNULL MUST_CHECK;

/*
 * A conversation that was stored before its worktree was added is pending in agent_state; a job
 * adds the worktree and stores the first message, or the refusal.
 */
bool worktree_is_pending(const struct conversation *conversation) NONNULL MUST_CHECK;
void worktree_set_pending(struct conversation *conversation) NONNULL;
/*
 * Why the start failed: {"refused": git's words} or {"too_large": words}, which is also the result
 * of the job; NULL if it did not. Borrowed from the conversation.
 */
const json_t *worktree_refusal(const struct conversation *conversation) NONNULL MUST_CHECK;
void worktree_set_refused(struct conversation *conversation, const json_t *refusal) NONNULL;
void worktree_set_settled(struct conversation *conversation) NONNULL;

#endif
