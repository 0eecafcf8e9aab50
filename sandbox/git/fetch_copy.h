/*
 * A copy of a repository's files at one commit, made by the sandbox's git.
 *
 * Blocks: only in jobs. Ownership: the copy is the file system's.
 */
#ifndef DEFT_SANDBOX_GIT_FETCH_COPY_H
#define DEFT_SANDBOX_GIT_FETCH_COPY_H

#include "base/attr.h"

struct error;
struct strbuf;

struct fetch_copy {
    const char *source;   /* a URL, or the absolute path of a repository */
    const char *ref;      /* NULL: what the repository has as its HEAD */
    const char *folder;   /* absolute: where the copy goes in the end */
    const char *username; /* for HTTP; NULL: none */
    const char *password;
};

/*
 * Makes the copy beside its folder, in *fresh_out, and appends its commit. ERROR_INVALID for a
 * source that cannot be meant, ERROR_NOT_FOUND with git's words when it cannot be fetched.
 */
int fetch_copy_make(const struct fetch_copy *copy, struct strbuf *fresh_out,
                    struct strbuf *commit_out, struct error *err) NONNULL MUST_CHECK;
/* Puts it into its place, or removes it when that fails. Of two at once the later one stays. */
int fetch_copy_place(const struct fetch_copy *copy, const char *fresh,
                     struct error *err) NONNULL MUST_CHECK;
/* Removes one that is not wanted. */
void fetch_copy_drop(const char *fresh) NONNULL;

#endif
