/*
 * The subrequest that nginx sends before each request to a preview.
 * Decision: docs/decisions/0020-previews.md
 */
#ifndef DEFT_FCGI_PREVIEW_PREVIEW_CHECK_H
#define DEFT_FCGI_PREVIEW_PREVIEW_CHECK_H

#include "base/attr.h"

struct error;
struct preview_origin;
struct reply;
struct request;

/* GET -> 204 with X-Deft-Address, X-Deft-Host, X-Deft-Sent-Origin, X-Deft-Cookie | 401 | 403 */
int preview_check(const struct request *request, struct reply *reply,
                  struct error *err) NONNULL MUST_CHECK;
/*
 * Starts the editor when its page is requested; if it cannot start, the page says that nothing
 * listens, as for any other port. The sandbox must be running.
 */
void preview_start_editor(const struct request *request,
                          const struct preview_origin *place) NONNULL;
/* Replies 403 with a keyword that selects a page. */
int preview_refuse(struct reply *reply, const char *why) NONNULL;

#endif
