/*
 * Requests limited to one folder: deft-fcgi names it in X-Deft-Inside (percent-encoded), and a path
 * that leads out of it, including through a link, is refused before any handler sees it.
 *
 * A link created between check and use does not matter: any process that can create one runs in the
 * sandbox with our own rights. The rule keeps clients of one conversation out of another's files.
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
 * Appends the absolute path with every link followed and without "." and ".."; nonexistent parts
 * stay as written. ERROR_INVALID for a path that is not absolute or has too many links.
 */
int inside_resolve(const char *path, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;
/* True when both resolve to the same path or the folder contains the path. */
bool inside_holds(const char *folder, const char *path) NONNULL MUST_CHECK;
/*
 * Checks the query's `path` and replaces it by the resolved one. False: the request has been
 * answered with 422.
 */
bool inside_admit(struct request *request) NONNULL MUST_CHECK;
/* True when the request is not limited to a folder, or the path is inside that folder. */
bool inside_is_wanted(const struct request *request, const char *path) NONNULL MUST_CHECK;
/* As inside_admit() for a folder given in the body, which is not replaced. */
bool inside_admit_folder(struct request *request, const char *folder) NONNULL MUST_CHECK;

#endif
