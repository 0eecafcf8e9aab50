/*
 * Requests limited to one folder: deft-fcgi names it in X-Deft-Inside (percent-encoded), and a path
 * that leads out of it, including through a link, is refused before any handler sees it.
 *
 * A link created between check and use does not matter: any process that can create one runs in the
 * sandbox with our own rights. The rule keeps clients of one conversation out of another's files.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_PATH_SCOPE_H
#define DEFT_SANDBOX_HTTP_PATH_SCOPE_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct server_request;
struct strbuf;

/*
 * Appends the absolute path with every link followed and without "." and ".."; nonexistent parts
 * stay as written. ERROR_INVALID for a path that is not absolute or has too many links.
 */
int path_scope_resolve(const char *path, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;
/* True when both resolve to the same path or the folder contains the path. */
bool path_scope_contains(const char *folder, const char *path) NONNULL MUST_CHECK;
/*
 * Checks the query's `path` and replaces it by the resolved one. False: the request has been
 * answered with 422.
 */
bool path_scope_check(struct server_request *request) NONNULL MUST_CHECK;
/* True when the request is not limited to a folder, or the path is inside that folder. */
bool path_scope_allows(const struct server_request *request, const char *path) NONNULL MUST_CHECK;
/* As path_scope_check() for a folder given in the body, which is not replaced. */
bool path_scope_check_folder(struct server_request *request, const char *folder) NONNULL MUST_CHECK;

#endif
