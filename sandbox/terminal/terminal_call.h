/*
 * A call of the terminal, the receiver of its answer, and the terminal's parameters.
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_CALL_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "sandbox/terminal/terminal_text.h"

struct credentials;

struct terminal_call {
    const char *command;
    bool is_input;
    bool reset;
    double timeout_s;        /* < 0: none */
    bool waits_in_silence;   /* a silent command does not end the wait */
    const char *exports;     /* shell text that runs before the command; "" */
    const char *working_dir; /* of a new shell */
};

struct terminal_spec {
    const char *workspace;
    int64_t no_change_ms;
    int64_t job_wait_ms;     /* for the first output of a new background job */
    double foreground_cap_s; /* 0: none */
    enum terminal_api face;
    const struct credentials *credentials; /* masked in the output */
    const char *save_dir;                  /* for output that is too long; NULL, "": nowhere */
};

/* The callee frees the observation. */
struct terminal_answer {
    void *owner;
    void (*done)(void *owner, json_t *observation);
};

#endif
