/*
 * The browser's lifetime: started when a call needs it, ended when it is no longer usable.
 * Threading: the driver process.
 */
#ifndef DEFT_SANDBOX_BROWSER_BROWSER_SESSION_H
#define DEFT_SANDBOX_BROWSER_BROWSER_SESSION_H

#include "base/attr.h"

struct driver;
struct error;

/* Starts the browser unless it runs, and opens a tab unless one is open. */
int driver_need_tab(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* Ends the browser; the next call starts a new one. */
void driver_drop_browser(struct driver *driver) NONNULL;

#endif
