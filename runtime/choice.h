/*
 * Which back end this service has: its settings say.
 */
#ifndef DEFT_RUNTIME_CHOICE_H
#define DEFT_RUNTIME_CHOICE_H

#include "base/attr.h"

struct backend;
struct error;
struct http;
struct runtime_settings;

/* ERROR_INVALID for a name that no back end has. */
int choice_check(const struct runtime_settings *settings, struct error *err) NONNULL MUST_CHECK;
/* The back end's own free function releases it; it borrows the settings. */
int choice_open(const struct runtime_settings *settings, struct http *http,
                struct backend **backend_out, struct error *err) NONNULL MUST_CHECK;
/* Ends all sandboxes of the instance; their homes stay. */
int choice_end_all(struct backend *backend, struct error *err) NONNULL MUST_CHECK;

#endif
