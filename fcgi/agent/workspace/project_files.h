/*
 * The small files that projects and users keep for agents in a sandbox, read in one question.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_PROJECT_FILES_H
#define DEFT_FCGI_AGENT_WORKSPACE_PROJECT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/* A place below a project's folder, or the user's home. */
struct file_place {
    const char *sub;          /* "" is the folder itself */
    const char *const *names; /* patterns of file names; ends with NULL */
    int depth;                /* 1: only files right there */
    int form;                 /* the caller's */
};

/* What to read; later places come later in the answer. */
struct project_question {
    const struct file_place *places;
    size_t n_places;
    const char *project_dir; /* absolute; NULL: nobody's */
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
 * The user's files, then the project's (its repository's root first), as a list for
 * project_files_get(). The shared sandbox is started for it, unless nothing is asked for. A new
 * reference. Errors as sandbox_ask().
 */
int project_files_read(const struct request *request, const struct project_question *question,
                       json_t **files_out, struct error *err) NONNULL MUST_CHECK;
/* The i-th; false behind the end, and for an entry that makes no sense. */
bool project_files_get(const struct project_question *question, const json_t *files, size_t i,
                       struct project_file *file_out) NONNULL MUST_CHECK;

#endif
