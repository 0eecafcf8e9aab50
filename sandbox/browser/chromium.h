/*
 * The browser as a process: found in the image, started with its own profile and a pair of pipes,
 * ended with all that it started.
 *
 * Ownership: struct chromium owns the process, the pipes and the profile folder.
 * Threading: one thread, which may block: this is for the driver's process.
 */
#ifndef DEFT_SANDBOX_BROWSER_CHROMIUM_H
#define DEFT_SANDBOX_BROWSER_CHROMIUM_H

#include <sys/types.h>

#include "base/attr.h"

struct error;

struct chromium {
    pid_t pid; /* 0: not running */
    int to_fd;
    int from_fd;
    char *profile; /* kept over restarts: cookies outlive a crash */
};

/* clang-format off */
#define CHROMIUM_INIT {0, -1, -1, NULL}
/* clang-format on */

/* The browser's program: `wanted` unless it is "", else what the image has; NULL when it has none.
 * The caller frees. */
char *chromium_find(const char *wanted) NONNULL MUST_CHECK;
/*
 * Starts it, in `folder`. ERROR_UNSUPPORTED when there is no browser, ERROR_UNAVAILABLE when it
 * does not start.
 */
int chromium_start(struct chromium *chromium, const char *wanted, const char *folder,
                   struct error *err) NONNULL MUST_CHECK;
/* Ends the process; it can be started again. */
void chromium_stop(struct chromium *chromium) NONNULL;
/* Ends it and removes its profile. */
void chromium_done(struct chromium *chromium);

#endif
