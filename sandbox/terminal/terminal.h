/*
 * The terminal tool: one persistent shell, calls one after another, with the time-outs, the
 * continuation of a command that still runs, keys and the texts that tell the model what happened.
 *
 * Ownership: struct terminal owns its shell.
 * Threading: the loop's thread. A call's `done` is called once, from the loop or before
 * terminal_execute() returns.
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_H

#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/terminal/terminal_call.h"

struct error;
struct loop;
struct terminal;

struct terminal *terminal_new(struct loop *loop,
                              const struct terminal_spec *spec) NONNULL MUST_CHECK;
/* Ends the shell; a call under way is never answered. */
void terminal_free(struct terminal *terminal);
/* False before the first command and after a shell's end: the next command starts one. */
bool terminal_has_shell(const struct terminal *terminal) NONNULL MUST_CHECK;
/* True when no command runs, and none is over whose end has not been read. */
bool terminal_rests(const struct terminal *terminal) NONNULL MUST_CHECK;
/* True while a call is under way: then terminal_execute() must wait. */
bool terminal_is_busy(const struct terminal *terminal) NONNULL MUST_CHECK;
/* Begins a call; its texts are copied. */
void terminal_execute(struct terminal *terminal, const struct terminal_call *call,
                      const struct terminal_answer *answer) NONNULL;
/* Ctrl-C to what runs; what ignores it is terminated, then killed. Nothing running is fine. */
void terminal_interrupt(struct terminal *terminal) NONNULL;
/* Where the shell is, or would begin. Borrowed until the next command. */
const char *terminal_working_dir(const struct terminal *terminal) NONNULL MUST_CHECK;

#endif
