/*
 * Settings of a process: environment variables only, with one table per process that gives name,
 * type, default and help. Read once, at start, into a const struct.
 *
 * A secret NAME may be in a file instead, which NAME_FILE names: a process's environment is
 * readable by root and its own user for the process's lifetime, and is inherited by children. A
 * secret found in the environment is wiped there when it is read.
 * Decision: docs/decisions/0043-keys-in-files.md
 */
#ifndef DEFT_BASE_SETTINGS_H
#define DEFT_BASE_SETTINGS_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct strbuf;

enum setting_kind {
    SETTING_TEXT,   /* field: const char * (lives as long as the process) */
    SETTING_SECRET, /* field: struct secret */
    SETTING_COUNT,  /* field: int64_t, >= 0 */
    SETTING_MS,     /* field: int64_t milliseconds, >= 0 */
    SETTING_BYTES,  /* field: int64_t, >= 0 */
    SETTING_BOOL,   /* field: int64_t, 0 or 1; 0, 1, true, false, yes, no */
};

struct setting {
    const char *name;
    enum setting_kind kind;
    const char *fallback; /* NULL: required */
    size_t offset;        /* of the field in the process's struct */
    const char *help;     /* one line */
};

/*
 * Fills `settings` (zeroed by the caller) from the environment. An empty variable counts as unset;
 * NAME takes precedence over NAME_FILE, whose first line is the value. ERROR_INVALID names the
 * variable, its value (never a secret's) and what was expected.
 */
int settings_read(const struct setting *table, size_t n, void *settings,
                  struct error *err) NONNULL MUST_CHECK;
/* Releases what settings_read() allocated and wipes secrets; for the end of the process. */
void settings_done(const struct setting *table, size_t n, void *settings) NONNULL;
/* Appends the output of --help-config: name, kind, default, help, one line each. */
void settings_describe(const struct setting *table, size_t n, struct strbuf *out) NONNULL;

#endif
