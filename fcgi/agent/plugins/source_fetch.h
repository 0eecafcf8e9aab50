/*
 * Fetches repositories of skills and plugins into the caller's shared sandbox, with the git there:
 * a hostile repository can only attack the sandbox, and the fetch reaches only what the sandbox may
 * reach.
 *
 * Ownership: fetched_done().
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_SOURCE_FETCH_H
#define DEFT_FCGI_AGENT_PLUGINS_SOURCE_FETCH_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/plugins/plugin_folder.h"
#include "model/plugins/plugin_source.h"

struct error;
struct request;

enum { FETCH_DEFAULT_S = 60, FETCH_MAX_S = 600 };

/* The repository to fetch, as given by the user. */
struct source_fetch {
    const char *source;
    const char *ref;           /* NULL: as the source says */
    const char *repo_path;     /* NULL: as the source says */
    const json_t *secrets;     /* name -> text: values of "${NAME}" in the source; NULL: none */
    const json_t *credentials; /* {"username", "password"} stored earlier; NULL: none */
    int64_t timeout_s;
};

struct fetched {
    struct plugin_source source;
    json_t *answer; /* {"path", "resolved_ref", "files"} */
};

/* clang-format off */
#define FETCHED_INIT {PLUGIN_SOURCE_INIT, NULL}
/* clang-format on */

void fetched_done(struct fetched *fetched);
/*
 * ERROR_INVALID for a malformed source, ERROR_NOT_FOUND with git's message when it cannot be
 * fetched, ERROR_TIMEOUT, ERROR_UNAVAILABLE when there is no sandbox.
 */
int source_fetch_run(const struct request *request, const struct source_fetch *fetch,
                     struct fetched *fetched_out, struct error *err) NONNULL MUST_CHECK;
/* The fetched files, for reading. Borrows. */
struct plugin_folder fetched_folder(const struct fetched *fetched) NONNULL MUST_CHECK;
/* The commit, or null for a local folder that was read in place. A new reference. */
json_t *fetched_ref(const struct fetched *fetched) NONNULL MUST_CHECK;
/* The source as it may be shown and stored: the user's text without its credentials. Borrowed. */
const char *fetched_source(const struct fetched *fetched,
                           const struct source_fetch *fetch) NONNULL MUST_CHECK;

#endif
