/*
 * The browser process: found in the image, started with its own profile and a pair of pipes, ended
 * together with its children.
 *
 * Ownership: struct chromium owns the process, the pipes and the profile folder.
 * Threading: one thread, which may block: for the driver process.
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
    char *profile; /* kept across restarts: cookies survive a crash */
};

/* clang-format off */
#define CHROMIUM_INIT {0, -1, -1, NULL}
/* clang-format on */

/*
 * Path of the browser's program: `wanted` unless it is "", else the one in the image; NULL when
 * there is none. The caller frees.
 */
char *chromium_find(const char *wanted) NONNULL MUST_CHECK;
/* The program in Playwright's cache, used when no other place has one. The caller frees. */
char *chromium_find_in_playwright(void) MUST_CHECK;
/*
 * Starts it, in `folder`. ERROR_UNSUPPORTED when there is no browser, ERROR_UNAVAILABLE when it
 * does not start.
 */
int chromium_start(struct chromium *chromium, const char *wanted, const char *folder,
                   struct error *err) NONNULL MUST_CHECK;
/* Ends the process; it can be started again. */
void chromium_stop(struct chromium *chromium) NONNULL;
/* Ends the process and removes its profile. */
void chromium_done(struct chromium *chromium);

#endif
