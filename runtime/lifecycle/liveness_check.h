/*
 * Liveness check of a sandbox whose container runs but whose server may not respond: it hangs, or
 * packets no longer reach it.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_LIVENESS_CHECK_H
#define DEFT_RUNTIME_LIFECYCLE_LIVENESS_CHECK_H

#include "base/attr.h"

struct error;
struct service;

/*
 * A caller got no response from the session's sandbox: checks it from here, and ends it if there is
 * none either. One that responds is left alone, since the failure may be on the caller's path to
 * it. Takes a few seconds at most. Errors of the store.
 */
int liveness_check_settle(struct service *service, const char *session_id,
                          struct error *err) NONNULL MUST_CHECK;

#endif
