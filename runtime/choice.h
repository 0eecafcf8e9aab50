/*
 * Selects the back end that the settings name.
 */
#ifndef DEFT_RUNTIME_CHOICE_H
#define DEFT_RUNTIME_CHOICE_H

#include "base/attr.h"

struct backend;
struct error;
struct http;
struct runtime_settings;

/* ERROR_INVALID when no back end has the configured name. */
int choice_check(const struct runtime_settings *settings, struct error *err) NONNULL MUST_CHECK;
/* Release with the back end's own free function; it borrows the settings. */
int choice_open(const struct runtime_settings *settings, struct http *http,
                struct backend **backend_out, struct error *err) NONNULL MUST_CHECK;
/* Ends all sandboxes of the instance; their homes are kept. */
int choice_end_all(struct backend *backend, struct error *err) NONNULL MUST_CHECK;

#endif
