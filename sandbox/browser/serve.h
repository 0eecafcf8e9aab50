/*
 * The driver's process: calls come in as lines of JSON, observations go out the same way.
 */
#ifndef DEFT_SANDBOX_BROWSER_SERVE_H
#define DEFT_SANDBOX_BROWSER_SERVE_H

#include "base/attr.h"

struct browser_spec;

/* The whole life of a driver's process: serves the socket until it is closed. */
void driver_run(const struct browser_spec *spec, int order_fd) NONNULL;

#endif
