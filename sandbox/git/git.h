/*
 * Read-only git commands in a folder: its changes, file contents and commits. Runs the image's git
 * by argv, without hooks, pagers, external programs from its configuration, and locks.
 *
 * Blocks: only in forks. Ownership: struct git owns its texts until git_done().
 */
#ifndef DEFT_SANDBOX_GIT_GIT_H
#define DEFT_SANDBOX_GIT_GIT_H

#include <stdbool.h>

#include "base/attr.h"

struct credentials;
struct error;
struct strbuf;

struct git {
    char *program;
    char *folder;
    char **environment;
    const struct credentials *hidden; /* masked in its messages; NULL: none. Borrowed */
};

/* clang-format off */
#define GIT_INIT {NULL, NULL, NULL, NULL}
/* clang-format on */

/* The arguments of a command. */
#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Base of a repository without commits. */
extern const char git_empty_tree[];

void git_done(struct git *git);
/* ERROR_INVALID when the image has no git. */
int git_open(struct git *git, const char *folder, struct error *err) NONNULL MUST_CHECK;
/* Sets a variable for git; one that the sandbox sets already stays unchanged. */
void git_put_variable(struct git *git, const char *name, const char *value) NONNULL;
/* Makes git use that index file. */
void git_use_index(struct git *git, const char *path) NONNULL;
/*
 * Runs a git command (args end with NULL) and appends its output. ERROR_INVALID with git's message
 * when it fails, ERROR_TOO_LARGE.
 */
int git_run(const struct git *git, const char *const *args, struct strbuf *out,
            struct error *err) NONNULL MUST_CHECK;
/* As above, with the output written to fd. */
int git_run_to(const struct git *git, const char *const *args, int fd,
               struct error *err) NONNULL MUST_CHECK;
/* The first line of its output; false when it fails or prints nothing. */
bool git_ask(const struct git *git, const char *const *args,
             struct strbuf *line_out) NONNULL MUST_CHECK;
/* True inside the work tree of a repository. */
bool git_has_repository(const struct git *git) NONNULL MUST_CHECK;
/* Resolves a name to a commit, into *commit_out; ERROR_INVALID when there is none. */
int git_find_commit(const struct git *git, const char *name, struct strbuf *commit_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Appends the base for comparing a commit: its first parent, or the empty tree. */
void git_find_parent(const struct git *git, const char *commit, struct strbuf *parent_out) NONNULL;
/*
 * The base for comparing the files: `ref`, or by default the first available of: the branch's
 * upstream (unless it equals HEAD and no file differs), the merge base with the origin's default
 * branch, that branch, the merge base with a local main or master, HEAD, the empty tree.
 */
int git_find_base(const struct git *git, const char *ref, struct strbuf *base_out,
                  struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
