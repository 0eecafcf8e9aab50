/*
 * A browser that answers by a table, in a process of its own, and a driver that is connected to it.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_FAKE_BROWSER_H
#define DEFT_TESTS_UNIT_SANDBOX_FAKE_BROWSER_H

#include <sys/types.h>

#include "base/attr.h"
#include "sandbox/browser/browser_spec.h"
#include "sandbox/browser/driver.h"
#include "unit/sandbox/sandbox_test.h"

/* An answer to the next command of that method; others are answered with {}. */
struct fake_answer {
    const char *method;
    const char *events; /* texts of messages that come before it, each ended by a newline; NULL */
    const char *text;   /* the members after the id; NULL: it is not answered */
};

struct browser_bench {
    struct driver driver;
    struct browser_spec spec;
    struct driver_reply reply;
    pid_t pid;
    int to_fd;
    int from_fd;
    int stop_fd; /* never readable */
    int stop_end;
    int log; /* memory file: "session method params" of each command */
};

#define ATTACHED(session, target, url)                                                             \
    "{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"" session                 \
    "\",\"targetInfo\":{\"type\":\"page\",\"targetId\":\"" target "\",\"url\":\"" url              \
    "\",\"title\":\"title " target "\"}}}\n"

/* Begins with the tabs s1/target-0001 and s2/target-0002, of which the second is current. */
void fake_browser_begin(struct browser_bench *bench, const struct fake_answer *answers) NONNULL;
/*
 * Ends, and asserts the commands after those of the two tabs: lines "session method params", in
 * which our scripts are named.
 */
void fake_browser_end(struct browser_bench *bench, const char *commands) NONNULL;

#endif
