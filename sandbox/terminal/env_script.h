/*
 * Environment variables of one command, as shell text that exports them.
 */
#ifndef DEFT_SANDBOX_TERMINAL_ENV_SCRIPT_H
#define DEFT_SANDBOX_TERMINAL_ENV_SCRIPT_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* ERROR_INVALID unless env is absent, null, or an object of NAME: text. */
int env_script_check(const json_t *env, struct error *err) __attribute__((nonnull(2))) MUST_CHECK;
/* Appends "export NAME='…'" lines; omits what env_script_check() refuses. */
void env_script_append(struct strbuf *out, const json_t *env) __attribute__((nonnull(1)));

#endif
