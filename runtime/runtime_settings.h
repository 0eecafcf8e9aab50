/*
 * Settings of deft-runtime: names, defaults, documentation, and checks that involve several.
 *
 * Ownership: runtime_settings_done() releases the texts; `seccomp` must live as long.
 * Threading: at start only.
 */
#ifndef DEFT_RUNTIME_RUNTIME_SETTINGS_H
#define DEFT_RUNTIME_RUNTIME_SETTINGS_H

#include "base/attr.h"

struct error;
struct process;
struct runtime_settings;
struct strbuf;

/* Maximum of request and starter threads together. */
#define RUNTIME_THREADS_MAX 256

extern const struct process runtime_process;

/* From the environment. ERROR_INVALID names the setting. *seccomp: the profile that it names. */
int runtime_settings_read(struct runtime_settings *settings, struct strbuf *seccomp,
                          struct error *err) NONNULL MUST_CHECK;
void runtime_settings_done(struct runtime_settings *settings);

#endif
