/*
 * Starts a sandbox with bubblewrap and waits until its server listens.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_BOX_START_H
#define DEFT_RUNTIME_BWRAP_BOX_START_H

#include "base/attr.h"

struct bwrap_host;
struct error;
struct sandbox_config;
struct started_sandbox;

/* *place_out: where the server listens. On failure nothing of the sandbox is left running. */
int box_start(struct bwrap_host *host, const struct sandbox_config *order,
              struct started_sandbox *place_out, struct error *err) NONNULL MUST_CHECK;

#endif
