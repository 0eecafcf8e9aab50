/*
 * Requests that are for one folder only: deft-fcgi names it in X-Deft-Inside (percent-encoded), and
 * a path that leads out of it, also by a link, is refused before any handler sees it.
 *
 * A link that is made between look and use is no matter: who can make one runs in the sandbox with
 * our own rights. The rule keeps clients of one conversation out of another's files.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_INSIDE_H
#define DEFT_SANDBOX_HTTP_INSIDE_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct request;
struct strbuf;

/*
 * Appends the absolute path with every link followed and without "." and ".."; what does not exist
 * stays as written. ERROR_INVALID for a path that is not absolute or has too many links.
 */
int inside_resolve(const char *path, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;
/* True when both, resolved, are the same or the folder holds the path. */
bool inside_holds(const char *folder, const char *path) NONNULL MUST_CHECK;
/*
 * Checks the query's `path` and puts the resolved one in its place. False: the request has been
 * answered with 422.
 */
bool inside_admit(struct request *request) NONNULL MUST_CHECK;
/* True when the request is for any folder, or the path lies in its own. */
bool inside_is_wanted(const struct request *request, const char *path) NONNULL MUST_CHECK;
/* The same as inside_admit() for a folder that a body names; it stays as it is. */
bool inside_admit_folder(struct request *request, const char *folder) NONNULL MUST_CHECK;

#endif
