/*
 * The driver process: reads calls as lines of JSON, writes observations the same way.
 */
#ifndef DEFT_SANDBOX_BROWSER_DRIVER_PROCESS_H
#define DEFT_SANDBOX_BROWSER_DRIVER_PROCESS_H

#include "base/attr.h"

struct browser_spec;

/* Main function of a driver process: serves the socket until it is closed. */
void driver_run(const struct browser_spec *spec, int order_fd) NONNULL;

#endif
