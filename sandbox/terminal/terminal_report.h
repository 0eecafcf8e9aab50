/*
 * Answers to calls of the terminal, and struct terminal for the files that implement it.
 *
 * Ownership: as terminal.h says.
 * Threading: the loop's thread. A report may begin the next call before it returns.
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_REPORT_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/terminal/background_wait.h"
#include "sandbox/terminal/terminal_call.h"

struct shell;

/* State of the terminal, and the event it waits for. */
enum terminal_state {
    TERMINAL_NO_SHELL,
    TERMINAL_STARTING, /* the shell's first prompt */
    TERMINAL_READY,
    TERMINAL_RUNNING, /* the end of a command, whether or not a call waits for it */
    TERMINAL_ENDED,   /* a call that reads the output of a shell that ended between two calls */
};

struct terminal {
    struct event_loop *loop;
    struct terminal_spec spec;
    enum terminal_state state;
    struct shell *shell;
    bool skip_rc; /* start-up files had kept the shell from starting */
    struct event_loop_timer start_timer;
    struct event_loop_timer silence_timer;
    struct event_loop_timer hard_timer;
    struct event_loop_timer escalation_timer;
    int escalation; /* number of attempts to end the running command */

    int exit_code; /* of the shell that ended */

    int background_pid; /* of the newest known background job; -1: none */
    struct background_wait background;

    /* the running command */
    bool reported; /* an observation of it was returned */
    char control;  /* letter of the last control key sent to it */
    int64_t kills; /* count of memory_kills() when it began */

    /* the pending call */
    bool in_call;
    struct terminal_answer answer;
    char *command; /* as the observation names it */
    char *text;    /* as sent */
    char *exports;
    char *working_dir;
    char *typed; /* sent as input; a program that echoes prints it again */
    bool was_reset;
    double timeout_s;
    bool waits_in_silence;
};

/* Exit codes as a shell reports them. */
enum { NO_SHELL_CODE = 127, INTERRUPTED_CODE = 130 };

/* Ends the call and passes the observation to its caller. */
void report_and_end(struct terminal *terminal, json_t *observation) NONNULL;
/* The call was refused, with the reason. */
void report_refusal(struct terminal *terminal, const char *reason) NONNULL;
/* The call ends while the command continues. */
void report_running(struct terminal *terminal, const char *suffix) NONNULL;
/* As above, and the call has failed: its input was not used. */
void report_busy(struct terminal *terminal, const char *suffix) NONNULL;
/* Returns the observation of a finished command, with its output. The caller owns the result. */
json_t *report_observation(struct terminal *terminal, int exit_code,
                           const char *suffix) NONNULL MUST_CHECK;
/* The command has ended and the shell is at its prompt. */
void report_completed(struct terminal *terminal) NONNULL;
/* A new shell was started, without a command. */
void report_reset(struct terminal *terminal) NONNULL;
/* No shell could run the command. */
void report_no_shell(struct terminal *terminal, int exit_code, const char *content) NONNULL;

#endif
