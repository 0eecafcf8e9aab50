/*
 * Sandboxes in the app API's form: SandboxInfo, from the runtime's rows and a probe of the server
 * in each running sandbox.
 */
#ifndef DEFT_FCGI_APP_SANDBOX_INFO_H
#define DEFT_FCGI_APP_SANDBOX_INFO_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;
struct runtime;

enum { SANDBOX_BATCH_MAX = 100 };

/* Array of SandboxInfo of at most SANDBOX_BATCH_MAX, in their order. A new reference, or NULL with
 * err set. */
json_t *sandbox_infos(const struct request *request, const struct runtime *runtimes, size_t n,
                      struct error *err) __attribute__((nonnull(1, 4))) MUST_CHECK;
/* SandboxInfo of a sandbox just created: starting. A new reference. */
json_t *sandbox_info_made(const struct runtime *runtime) NONNULL MUST_CHECK;

#endif
