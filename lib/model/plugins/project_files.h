/*
 * The request that reads the small files which projects and users keep for agents in a sandbox, and
 * its reply: POST /files/collect of deft-action. A sandbox's reply is untrusted: only entries of
 * the right types and within limits count.
 *
 * Threading: pure.
 * Source:    docs/api/action-server.md, section 8
 */
#ifndef DEFT_MODEL_PLUGINS_PROJECT_FILES_H
#define DEFT_MODEL_PLUGINS_PROJECT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

#define PROJECT_FILES_PATH "/files/collect"

/* Limits of a reply; the sandbox's server keeps them, too. */
enum {
    PROJECT_FILES_MAX = 500,
    PROJECT_FILE_MAX_BYTES = 512 * 1024,
    PROJECT_FILES_MAX_BYTES = 8 * 1024 * 1024,
    PROJECT_FILE_PATH_MAX_BYTES = 4096,
    PROJECT_FILES_SKIPPED_MAX = 50,
};

/* A location below a project's folder, or the user's home. */
struct file_place {
    const char *sub;          /* "" is the folder itself */
    const char *const *names; /* patterns of file names; ends with NULL */
    int depth;                /* 1: only files directly in it */
    int form;                 /* for the caller's use */
    bool is_beneath;          /* a project's: only files in its folders that are not hidden */
};

/* Files to read; the reply keeps the order of places. */
struct project_question {
    const struct file_place *places;
    size_t n_places;
    const char *project_dir; /* absolute; NULL: no project */
    bool with_user;
    bool with_clone;   /* a lone repository in a project that is none counts as its part */
    bool with_summary; /* asks for the project's branch and the like */
};

/* One file of the answer; borrows from it. */
struct project_file {
    const struct file_place *place;
    bool is_users;
    const char *path;
    const char *text;
};

/* False if a question asks for nothing. */
bool project_question_asks(const struct project_question *question) NONNULL MUST_CHECK;
/*
 * Returns the request's body: the user's places, then the project's, of which its repository's root
 * comes first. A new reference.
 */
json_t *project_files_request(const struct project_question *question) NONNULL MUST_CHECK;
/* Reads the i-th file of a reply's "files"; false past the end, and for a malformed entry. */
bool project_files_get(const struct project_question *question, const json_t *files, size_t i,
                       struct project_file *file_out) __attribute__((nonnull(1, 4))) MUST_CHECK;
/* True for an absolute path of printable characters. */
bool project_path_is_valid(const char *path) NONNULL MUST_CHECK;

#endif
