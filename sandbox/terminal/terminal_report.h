/*
 * What a call of the terminal is answered with, and the terminal as its files see it.
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
#include "sandbox/core/loop.h"
#include "sandbox/terminal/background_wait.h"
#include "sandbox/terminal/terminal_call.h"

struct shell;

/* What the terminal waits for. */
enum terminal_state {
    TERMINAL_NO_SHELL,
    TERMINAL_STARTING, /* the shell's first prompt */
    TERMINAL_READY,
    TERMINAL_RUNNING, /* the end of a command, whether or not a call waits for it */
    TERMINAL_ENDED,   /* a call that reads what the shell left when it ended between two calls */
};

struct terminal {
    struct loop *loop;
    struct terminal_spec spec;
    enum terminal_state state;
    struct shell *shell;
    bool skip_rc; /* the start-up files kept the shell from starting */
    struct loop_timer start_timer;
    struct loop_timer silence_timer;
    struct loop_timer hard_timer;
    struct loop_timer escalation_timer;
    int escalation; /* how often the running command was told to end */

    int exit_code; /* of the shell that ended */

    int background_pid; /* of the newest job in the background that is known; -1: none */
    struct background_wait background;

    /* the running command */
    bool reported; /* an observation of it was given */
    char control;  /* letter of the last control key sent to it */
    int64_t kills; /* for want of memory, when it began */

    /* the call under way */
    bool in_call;
    struct terminal_answer answer;
    char *command; /* as the observation names it */
    char *text;    /* what is sent */
    char *exports;
    char *working_dir;
    char *typed; /* sent as input; a program that echoes prints it again */
    bool was_reset;
    double timeout_s;
    bool waits_in_silence;
};

/* Exit codes as a shell would give them. */
enum { NO_SHELL_CODE = 127, INTERRUPTED_CODE = 130 };

/* Ends the call with that observation, which goes to whoever made the call. */
void report_and_end(struct terminal *terminal, json_t *observation) NONNULL;
/* The call was not carried out: why. */
void report_refusal(struct terminal *terminal, const char *reason) NONNULL;
/* The command goes on; the call ends. */
void report_running(struct terminal *terminal, const char *suffix, bool is_error) NONNULL;
/* Takes what the command printed; it is over and reported with this. The caller owns the result. */
json_t *report_observation(struct terminal *terminal, int exit_code,
                           const char *suffix) NONNULL MUST_CHECK;
/* The command is over, the shell at its prompt. */
void report_completed(struct terminal *terminal) NONNULL;
/* A new shell is there, and no command for it. */
void report_reset(struct terminal *terminal) NONNULL;
/* There was no shell that could have run the command. */
void report_no_shell(struct terminal *terminal, int exit_code, const char *content) NONNULL;

#endif
