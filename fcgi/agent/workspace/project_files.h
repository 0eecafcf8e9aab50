/*
 * Reads the small files that projects and users keep for agents in a sandbox, all in one request.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_PROJECT_FILES_H
#define DEFT_FCGI_AGENT_WORKSPACE_PROJECT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/* A location below a project's folder, or the user's home. */
struct file_place {
    const char *sub;          /* "" is the folder itself */
    const char *const *names; /* patterns of file names; ends with NULL */
    int depth;                /* 1: only files directly in it */
    int form;                 /* for the caller's use */
};

/* Files to read; the reply keeps the order of places. */
struct project_question {
    const struct file_place *places;
    size_t n_places;
    const char *project_dir; /* absolute; NULL: no project */
    bool with_user;
};

/* One file of the answer; borrows from it. */
struct project_file {
    const struct file_place *place;
    bool is_users;
    const char *path;
    const char *text;
};

/*
 * Reads the user's files, then the project's (its repository's root first), as a list for
 * project_files_get(). Starts the shared sandbox, unless nothing is asked for. A new reference.
 * Errors as sandbox_request_send().
 */
int project_files_read(const struct request *request, const struct project_question *question,
                       json_t **files_out, struct error *err) NONNULL MUST_CHECK;
/* Reads the i-th file; false past the end, and for a malformed entry. */
bool project_files_get(const struct project_question *question, const json_t *files, size_t i,
                       struct project_file *file_out) NONNULL MUST_CHECK;

#endif
