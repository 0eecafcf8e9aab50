/*
 * Selects the back end that the settings name.
 */
#ifndef DEFT_RUNTIME_BACKEND_SELECT_H
#define DEFT_RUNTIME_BACKEND_SELECT_H

#include "base/attr.h"

struct backend;
struct error;
struct http;
struct runtime_settings;

/* ERROR_INVALID when no back end has the configured name. */
int backend_select_check(const struct runtime_settings *settings,
                         struct error *err) NONNULL MUST_CHECK;
/* Release with the back end's own free function; it borrows the settings. */
int backend_select_open(const struct runtime_settings *settings, struct http *http,
                        struct backend **backend_out, struct error *err) NONNULL MUST_CHECK;
/* Ends all sandboxes of the instance; their homes are kept. */
int backend_select_end_all(struct backend *backend, struct error *err) NONNULL MUST_CHECK;

#endif
