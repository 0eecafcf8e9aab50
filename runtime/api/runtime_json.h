/*
 * JSON representation of a runtime in the Runtime API.
 */
#ifndef DEFT_RUNTIME_API_RUNTIME_JSON_H
#define DEFT_RUNTIME_API_RUNTIME_JSON_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct keyring;
struct runtime;

/* A new reference, or NULL with err set. */
json_t *runtime_to_json(const struct runtime *runtime, const struct keyring *keyring,
                        struct error *err) NONNULL MUST_CHECK;
/* As its tenant sees it: with the tenant's own session name, and with `url` as its address, where
 * the session key selects the sandbox. */
json_t *runtime_to_tenant_json(const struct runtime *runtime, const struct keyring *keyring,
                               const char *url, struct error *err) NONNULL MUST_CHECK;
/* work_hosts and vscode_url: URLs of the named ports on the page's host. */
void runtime_put_hosts(json_t *object, const struct runtime *runtime, const char *app_url) NONNULL;

#endif
