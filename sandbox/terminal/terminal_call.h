/*
 * A call of the terminal, whom it is answered to, and what a terminal is made with.
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
    bool waits_in_silence;   /* a command that prints nothing does not end the wait */
    const char *exports;     /* shell text that runs before the command; "" */
    const char *working_dir; /* of a new shell */
};

struct terminal_spec {
    const char *workspace;
    int64_t no_change_ms;
    double foreground_cap_s; /* 0: none */
    enum terminal_face face;
    const struct credentials *credentials; /* hidden in what is printed */
    const char *save_dir; /* where output is kept that is too long; NULL, "": nowhere */
};

/* The observation is the callee's to free. */
struct terminal_answer {
    void *owner;
    void (*done)(void *owner, json_t *observation);
};

#endif
