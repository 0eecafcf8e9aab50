/*
 * Sandboxes as processes of this host, each in namespaces of its own that bubblewrap makes: for a
 * machine without a container engine. They isolate less: one kernel and one set of files, those of
 * the default image or of the host, for all; no network of their own that rules could bound.
 *
 * What is known of a sandbox lies in files (boxes/), so that a service that is started again finds
 * it: nothing ends with the service.
 *
 * Ownership: the backend's free function releases it; settings' texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_H
#define DEFT_RUNTIME_BWRAP_PROCESS_H

#include "base/attr.h"

struct backend;
struct error;
struct process_settings;

/* ERROR_NOT_FOUND when deft-action is missing; ERROR_INVALID for settings that make no sense. */
int process_new(const struct process_settings *settings, struct backend **backend_out,
                struct error *err) NONNULL MUST_CHECK;

#endif
