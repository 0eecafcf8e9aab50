/*
 * Back end for sandboxes as processes of this host, each in its own namespaces, made by bubblewrap:
 * for machines without a container engine. Isolation is weaker: all share one kernel and one set of
 * files (the default image's or the host's), and have no network of their own that rules could
 * restrict.
 *
 * A sandbox's state is in files (boxes/), so that a restarted service finds it: sandboxes do not
 * end with the service.
 *
 * Ownership: release with the backend's free function; settings' texts live as long as the process.
 * Decision: docs/decisions/0029-processes.md
 */
#ifndef DEFT_RUNTIME_BWRAP_BWRAP_BACKEND_H
#define DEFT_RUNTIME_BWRAP_BWRAP_BACKEND_H

#include "base/attr.h"

struct backend;
struct error;
struct bwrap_settings;

/* ERROR_NOT_FOUND if deft-action is missing; ERROR_INVALID for inconsistent settings. */
int bwrap_backend_new(const struct bwrap_settings *settings, struct backend **backend_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
