/*
 * A copy of a repository's files at one commit, made by the sandbox's git.
 *
 * Blocks: only in forks. Ownership: the copy is the file system's.
 */
#ifndef DEFT_SANDBOX_GIT_FETCH_COPY_H
#define DEFT_SANDBOX_GIT_FETCH_COPY_H

#include "base/attr.h"

struct error;
struct strbuf;

struct fetch_copy {
    const char *source;   /* a URL, or the absolute path of a repository */
    const char *ref;      /* NULL: the repository's HEAD */
    const char *folder;   /* absolute: final path of the copy */
    const char *username; /* for HTTP; NULL: none */
    const char *password;
};

/*
 * Makes the copy next to its folder, in *fresh_out, and appends its commit. ERROR_INVALID for an
 * unusable source, ERROR_NOT_FOUND with git's message when it cannot be fetched.
 */
int fetch_copy_make(const struct fetch_copy *copy, struct strbuf *fresh_out,
                    struct strbuf *commit_out, struct error *err) NONNULL MUST_CHECK;
/* Moves it into place, or removes it on failure. Of two concurrent copies the later one stays. */
int fetch_copy_place(const struct fetch_copy *copy, const char *fresh,
                     struct error *err) NONNULL MUST_CHECK;
/* Removes an unused copy. */
void fetch_copy_drop(const char *fresh) NONNULL;

#endif
