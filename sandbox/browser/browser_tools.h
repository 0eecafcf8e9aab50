/*
 * Dispatch of browser tools by name.
 */
#ifndef DEFT_SANDBOX_BROWSER_BROWSER_TOOLS_H
#define DEFT_SANDBOX_BROWSER_BROWSER_TOOLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct driver_reply;
struct error;

/* True if the name is that of a browser tool. */
bool browser_tools_know(const char *name) NONNULL MUST_CHECK;
/* Runs the call {"tool", "args"}. Pass a failure to recovery_settle(). */
int browser_tools_run(struct driver *driver, const json_t *order, struct driver_reply *reply,
                      struct error *err) NONNULL MUST_CHECK;

#endif
