/*
 * A runtime as the Runtime API shows it.
 */
#ifndef DEFT_RUNTIME_VIEW_H
#define DEFT_RUNTIME_VIEW_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct keyring;
struct runtime;

/* A new reference, or NULL with err set. */
json_t *runtime_to_json(const struct runtime *runtime, const struct keyring *keyring,
                        struct error *err) NONNULL MUST_CHECK;

#endif
