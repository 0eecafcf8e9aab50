/*
 * Paths of requests, and the patterns of routes: "/api/conversations/{conversation_id}", where a
 * {name} takes one segment and a {name*} at the end takes the rest.
 *
 * Ownership: the caller frees the segments; all else is borrowed.
 */
#ifndef DEFT_WEB_URL_PATH_H
#define DEFT_WEB_URL_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;

enum { PATH_MAX_SEGMENTS = 24, PATH_MAX_PARAMS = 4 };

/* The segments of a path, decoded; "" at the end is a trailing slash. */
struct url_path {
    char *segments[PATH_MAX_SEGMENTS + 1]; /* the last one is for url_path_other_slash() */
    size_t n_segments;
    char empty[1]; /* the segment that url_path_other_slash() adds */
};

/* A {name} of a pattern and its value in the path. Borrowed from both. */
struct path_param {
    const char *name; /* not terminated */
    size_t name_len;
    char *value;
};

struct path_params {
    struct path_param items[PATH_MAX_PARAMS];
    size_t n;
    char *tail; /* value of a {name*}; owned */
};

void url_path_done(struct url_path *path);
void path_params_done(struct path_params *params);

/*
 * Splits a path that begins with a slash, up to a '?', and decodes its segments. ERROR_INVALID when
 * it has too many, or one is not UTF-8 text.
 */
int url_path_read(struct url_path *path, const char *target, struct error *err) NONNULL MUST_CHECK;
/* True when the whole path has the pattern's form; "." and ".." match nothing. */
bool url_path_matches(const struct url_path *path, const char *pattern) NONNULL MUST_CHECK;
/* The same path with its trailing slash added or removed. Borrows the segments. */
void url_path_other_slash(const struct url_path *path, struct url_path *other_out) NONNULL;
/* Number of literal bytes in a pattern: more means a better match. */
size_t url_pattern_literal_bytes(const char *pattern) NONNULL MUST_CHECK;
/* The parameters of a path that matches the pattern. */
void url_path_take_params(const struct url_path *path, const char *pattern,
                          struct path_params *params_out) NONNULL;
/* The value of a parameter, "" when there is none of that name. Borrowed. */
const char *path_params_text(const struct path_params *params, const char *name) NONNULL MUST_CHECK;

#endif
