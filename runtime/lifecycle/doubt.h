/*
 * A sandbox whose container runs, but whose server may answer nobody: it hangs, or no packet
 * reaches it any more.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_DOUBT_H
#define DEFT_RUNTIME_LIFECYCLE_DOUBT_H

#include "base/attr.h"

struct error;
struct service;

/*
 * The session's caller found its sandbox silent: asks it, too, and ends it when it is. One that
 * answers is left alone, since the caller's failure may be of the way between. Takes some seconds
 * at most. Errors of the store.
 */
int doubt_settle(struct service *service, const char *session_id,
                 struct error *err) NONNULL MUST_CHECK;

#endif
