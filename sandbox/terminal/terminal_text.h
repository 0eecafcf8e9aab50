/*
 * The terminal tool's messages to the model: prefixes, suffixes and refusals.
 */
#ifndef DEFT_SANDBOX_TERMINAL_TERMINAL_TEXT_H
#define DEFT_SANDBOX_TERMINAL_TERMINAL_TEXT_H

#include <stdbool.h>

#include "base/attr.h"

struct strbuf;

/* The API whose messages a terminal uses. */
enum terminal_api {
    TERMINAL_TOOL, /* agents' terminal tool */
    TERMINAL_RUN,  /* the older run action */
};

#define TERMINAL_TEXT_PREVIOUS "[Below is the output of the previous command.]\n"
#define TERMINAL_TEXT_RESET                                                                        \
    "Terminal session has been reset. All previous environment variables and session state have "  \
    "been cleared."
#define TERMINAL_TEXT_RESET_INPUT                                                                  \
    "A reset cannot be combined with is_input: there is no running program to send input to."
#define TERMINAL_TEXT_NOTHING_TO_READ "No previous running command to retrieve logs from."
#define TERMINAL_TEXT_NOTHING_TO_TYPE "No previous running command to interact with."
#define TERMINAL_TEXT_LITERAL                                                                      \
    "The command is a list or dictionary literal, not a shell command, and was not executed. "     \
    "Give "                                                                                        \
    "the command itself as plain text, for example: python3 script.py --flag. To run a script, "   \
    "write it to a file first, or pass it to the interpreter in a heredoc."
#define TERMINAL_TEXT_OUT_OF_MEMORY                                                                \
    "\n[The sandbox ran out of memory while the command ran, and a program in it was killed.]"
#define TERMINAL_TEXT_NO_SHELL                                                                     \
    "There is no shell in this sandbox, so no command can run here. The file tools still work."

/* Each appends to *out. */
void terminal_text_completed(struct strbuf *out, int exit_code, char control_letter) NONNULL;
void terminal_text_silent(struct strbuf *out, double seconds, enum terminal_api face) NONNULL;
void terminal_text_timed_out(struct strbuf *out, double seconds, enum terminal_api face) NONNULL;
void terminal_text_not_executed(struct strbuf *out, const char *command,
                                enum terminal_api face) NONNULL;
void terminal_text_shell_exited(struct strbuf *out, int exit_code) NONNULL;
void terminal_text_several(struct strbuf *out, const char *command) NONNULL;
void terminal_text_too_long(struct strbuf *out, double asked_s, double idle_s,
                            double cap_s) NONNULL;
/* A number of seconds as the wire shows it: 5.0, 0.25. */
void terminal_text_seconds(struct strbuf *out, double seconds) NONNULL;
/* True when a command begins like a list or an object of a programming language. */
bool terminal_text_is_literal(const char *command) NONNULL MUST_CHECK;

#endif
