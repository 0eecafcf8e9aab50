/*
 * git in a folder, asked and never told: its changes, texts and commits. Runs the image's git by
 * argv, without hooks, pagers, outside programs of its configuration, and locks.
 *
 * Blocks: only in jobs. Ownership: struct git owns its texts until git_done().
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
    const struct credentials *hidden; /* that its words must not tell; NULL: none. Borrowed */
};

/* clang-format off */
#define GIT_INIT {NULL, NULL, NULL, NULL}
/* clang-format on */

/* The words of a command. */
#define GIT_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Of a repository that has nothing yet. */
extern const char git_empty_tree[];

void git_done(struct git *git);
/* ERROR_INVALID when the image has no git. */
int git_open(struct git *git, const char *folder, struct error *err) NONNULL MUST_CHECK;
/* git runs with one more variable; one that the sandbox sets already stays as it is. */
void git_put_variable(struct git *git, const char *name, const char *value) NONNULL;
/* From now on git keeps its index in that file. */
void git_use_index(struct git *git, const char *path) NONNULL;
/* Runs a command of git's (args end with NULL) and appends what it prints. ERROR_INVALID with git's
 * own words when it fails, ERROR_TOO_LARGE. */
int git_run(const struct git *git, const char *const *args, struct strbuf *out,
            struct error *err) NONNULL MUST_CHECK;
/* The same with its output in a file. */
int git_run_to(const struct git *git, const char *const *args, int fd,
               struct error *err) NONNULL MUST_CHECK;
/* The first line of what it prints; false when it fails or says nothing. */
bool git_ask(const struct git *git, const char *const *args,
             struct strbuf *line_out) NONNULL MUST_CHECK;
/* True inside the files of a repository. */
bool git_has_repository(const struct git *git) NONNULL MUST_CHECK;
/* The commit of a name, into *commit_out; ERROR_INVALID when it names none. */
int git_find_commit(const struct git *git, const char *name, struct strbuf *commit_out,
                    struct error *err) NONNULL MUST_CHECK;
/* What a commit is compared with: its first parent, or nothing. Appends. */
void git_find_parent(const struct git *git, const char *commit, struct strbuf *parent_out) NONNULL;
/*
 * What the files are compared with: `ref`, or by default the first that there is of the branch's
 * upstream (unless all is there and no file differs), where it left the origin's default branch,
 * that branch, where it left a local main or master, HEAD, nothing at all.
 */
int git_find_base(const struct git *git, const char *ref, struct strbuf *base_out,
                  struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
