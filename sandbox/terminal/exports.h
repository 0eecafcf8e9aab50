/*
 * Environment variables of one command, as shell text that exports them.
 */
#ifndef DEFT_SANDBOX_TERMINAL_EXPORTS_H
#define DEFT_SANDBOX_TERMINAL_EXPORTS_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* ERROR_INVALID unless env is absent, null, or an object of NAME: text. */
int exports_check(const json_t *env, struct error *err) __attribute__((nonnull(2))) MUST_CHECK;
/* Appends "export NAME='…'" lines; omits what exports_check() refuses. */
void exports_append(struct strbuf *out, const json_t *env) __attribute__((nonnull(1)));

#endif
