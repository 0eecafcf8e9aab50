/*
 * The terminal tool: one persistent shell, one call at a time, with time-outs, continuation of a
 * running command, keys, and the messages that tell the model what happened.
 *
 * Ownership: struct terminal owns its shell.
 * Threading: the loop's thread. A call's `done` is called once, from the loop or before
 * terminal_execute() returns.
 * Decision: docs/decisions/0052-foreground-commands.md
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_H

#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/terminal/terminal_call.h"

struct error;
struct event_loop;
struct terminal;

struct terminal *terminal_new(struct event_loop *loop,
                              const struct terminal_spec *spec) NONNULL MUST_CHECK;
/* Ends the shell; a pending call is never answered. */
void terminal_free(struct terminal *terminal);
/* False before the first command and after the shell has ended: the next command starts one. */
bool terminal_has_shell(const struct terminal *terminal) NONNULL MUST_CHECK;
/* True when no command runs and the end of the last one has been read. */
bool terminal_is_idle(const struct terminal *terminal) NONNULL MUST_CHECK;
/* True while a call is pending: terminal_execute() must wait. */
bool terminal_is_busy(const struct terminal *terminal) NONNULL MUST_CHECK;
/* Starts a call; its texts are copied. */
void terminal_execute(struct terminal *terminal, const struct terminal_call *call,
                      const struct terminal_answer *answer) NONNULL;
/* Sends Ctrl-C to a running command; if ignored, SIGTERM, then SIGKILL. Else does nothing. */
void terminal_interrupt(struct terminal *terminal) NONNULL;
/* Current folder of the shell, or where it would start. Borrowed until the next command. */
const char *terminal_working_dir(const struct terminal *terminal) NONNULL MUST_CHECK;

#endif
