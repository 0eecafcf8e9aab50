/*
 * A program that is started as Chromium is: a script, whose answers a test writes, and a folder in
 * which it notes what it was given.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_FAKE_CHROMIUM_H
#define DEFT_TESTS_UNIT_SANDBOX_FAKE_CHROMIUM_H

#include <stdbool.h>

#include "base/attr.h"
#include "unit/sandbox/sandbox_test.h"

struct strbuf;

enum { FAKE_PATH_BYTES = 64 };

struct fake_chromium {
    char folder[FAKE_PATH_BYTES];  /* removed at the end */
    char program[FAKE_PATH_BYTES]; /* folder/chromium */
};

/* Line of bash that reports a tab to the driver. */
#define FAKE_ATTACH(session, target)                                                               \
    "say '{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"" session            \
    "\",\"targetInfo\":{\"type\":\"page\",\"targetId\":\"" target "\",\"url\":\"http://" target    \
    "/\",\"title\":\"t\"}}}'\n"

/*
 * Writes the program. answers: branches of a bash `case` on the method. They may set $answer, the
 * result; `say` sends a message; `continue` leaves the command without an answer. After the answer,
 * $after is run.
 */
void fake_chromium_begin(struct fake_chromium *fake, const char *answers) NONNULL;
void fake_chromium_end(struct fake_chromium *fake) NONNULL;
/* Appends a file that the program wrote: arguments, environment, folder, inputs, pids, profiles,
 * log. */
void fake_chromium_read(const struct fake_chromium *fake, const char *name,
                        struct strbuf *out) NONNULL;
/* Waits until a file that the program wrote contains the text. */
void fake_chromium_await(const struct fake_chromium *fake, const char *name,
                         const char *text) NONNULL;
/* Replaces *out by a formatted text, and returns it. */
const char *fake_text(struct strbuf *out, const char *format, ...) NONNULL PRINTF_LIKE(2, 3);
/* Waits until the processes in `pids` have ended. */
void fake_chromium_await_end(const struct fake_chromium *fake) NONNULL;
/* As above, and until their parent has waited for them. */
void fake_chromium_await_gone(const struct fake_chromium *fake) NONNULL;
void fake_await_no_file(const char *path) NONNULL;

#endif
