/*
 * One interactive shell on its own pseudo-terminal: starts it, runs commands, reports their end.
 *
 * Ownership: struct shell owns its process and descriptors until shell_free(), which ends the shell
 * but lets background jobs live.
 * Threading: the loop's thread. The events are called from the loop only, never from a shell_*()
 * function; an event may free the shell as its last act.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SHELL_H
#define DEFT_SANDBOX_TERMINAL_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "sandbox/terminal/shell_record.h"

struct credentials;
struct error;
struct event_loop;
struct shell;
struct terminal_filter;

struct shell_events {
    void *owner;
    /* The shell is at its prompt: after its start and after each command. */
    void (*prompted)(void *owner);
    /* A background job printed something readable at the prompt. */
    void (*printed)(void *owner);
    /* The process has ended; its output is complete. code: as a shell reports it. */
    void (*exited)(void *owner, int code);
};

struct shell_spec {
    const char *workspace;                 /* HOME if there is none */
    const char *working_dir;               /* first directory */
    bool skip_rc;                          /* do not read the user's start-up files */
    bool is_plain;                         /* keeps its output without colors */
    const struct credentials *credentials; /* masked in its output */
    const char *save_dir; /* for output that is too long; lives as long as the shell; NULL: none */
};

/* ERROR_NOT_FOUND when the image has no shell. It is ready at the first prompted(). */
int shell_new(struct event_loop *loop, const struct shell_spec *spec,
              const struct shell_events *events, struct shell **shell_out,
              struct error *err) NONNULL MUST_CHECK;
void shell_free(struct shell *shell);

/* Runs a command at the prompt; `exports` is shell text that runs before it, unreported. */
int shell_run(struct shell *shell, const char *exports, const char *command,
              struct error *err) NONNULL MUST_CHECK;
/* Types bytes into the terminal. */
void shell_type(struct shell *shell, const char *bytes, size_t len) NONNULL;
/* Sends a signal to the terminal's foreground group, which may be the shell itself. */
void shell_signal(struct shell *shell, int number) NONNULL;

/* The output since the last terminal_filter_take(). */
struct terminal_filter *shell_output(struct shell *shell) NONNULL MUST_CHECK;
/* clock_monotonic_ms() of the last output. */
int64_t shell_last_output_ms(const struct shell *shell) NONNULL MUST_CHECK;
const struct shell_record *shell_record(const struct shell *shell) NONNULL MUST_CHECK;

#endif
