/*
 * Programs of the host, by argument list: never a shell.
 */
#ifndef DEFT_RUNTIME_BACKEND_SPAWN_H
#define DEFT_RUNTIME_BACKEND_SPAWN_H

#include "base/attr.h"

struct error;
struct strbuf;

/*
 * Runs argv (found by PATH; ends with NULL) with `input` on its standard input, and waits.
 * *said_out gets both its outputs. ERROR_UNAVAILABLE when it cannot be run or does not exit with 0.
 */
int spawn_run(const char *const *argv, const char *input, struct strbuf *said_out,
              struct error *err) NONNULL MUST_CHECK;

#endif
