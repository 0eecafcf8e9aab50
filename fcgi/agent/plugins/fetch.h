/*
 * Repositories of skills and plugins, fetched into the caller's shared sandbox by the git there:
 * whatever a stranger's repository does to git, it does it where strangers' programs run, and it
 * reaches what that sandbox may reach.
 *
 * Ownership: fetched_done().
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_FETCH_H
#define DEFT_FCGI_AGENT_PLUGINS_FETCH_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/plugins/package.h"
#include "model/plugins/source.h"

struct error;
struct request;

enum { FETCH_DEFAULT_S = 60, FETCH_MAX_S = 600 };

/* What to fetch, as its user said it. */
struct fetch_wish {
    const char *source;
    const char *ref;           /* NULL: as the source says */
    const char *repo_path;     /* NULL: as the source says */
    const json_t *secrets;     /* name -> text: what "${NAME}" in the source means; NULL: none */
    const json_t *credentials; /* {"username", "password"} kept from an earlier time; NULL: none */
    int64_t timeout_s;
};

struct fetched {
    struct source source;
    json_t *answer; /* {"path", "resolved_ref", "files"} */
};

/* clang-format off */
#define FETCHED_INIT {SOURCE_INIT, NULL}
/* clang-format on */

void fetched_done(struct fetched *fetched);
/*
 * ERROR_INVALID for a source that cannot be meant, ERROR_NOT_FOUND with git's words when it cannot
 * be fetched, ERROR_TIMEOUT, ERROR_UNAVAILABLE when there is no sandbox.
 */
int fetch_run(const struct request *request, const struct fetch_wish *wish,
              struct fetched *fetched_out, struct error *err) NONNULL MUST_CHECK;
/* What has come, to be read. Borrows. */
struct package_folder fetched_folder(const struct fetched *fetched) NONNULL MUST_CHECK;
/* The commit, or null for a folder that was read where it lies. A new reference. */
json_t *fetched_ref(const struct fetched *fetched) NONNULL MUST_CHECK;
/* The source as it may be shown and kept: the user's words, less the credentials in them. Borrowed.
 */
const char *fetched_source(const struct fetched *fetched,
                           const struct fetch_wish *wish) NONNULL MUST_CHECK;

#endif
