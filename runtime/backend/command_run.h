/*
 * Runs programs of the host from an argument list, without a shell.
 */
#ifndef DEFT_RUNTIME_BACKEND_COMMAND_RUN_H
#define DEFT_RUNTIME_BACKEND_COMMAND_RUN_H

#include "base/attr.h"

struct error;
struct strbuf;

/*
 * Runs argv (searched in PATH; ends with NULL) with `input` on standard input, and waits. *said_out
 * gets standard output and error. ERROR_UNAVAILABLE if it cannot be run or exits non-zero.
 */
int command_run(const char *const *argv, const char *input, struct strbuf *said_out,
                struct error *err) NONNULL MUST_CHECK;

#endif
