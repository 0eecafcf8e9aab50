/*
 * A server that starts deferred answers nothing but its health until it is told to begin; then it
 * never sleeps again, whichever process was told.
 */
#ifndef DEFT_FCGI_DORMANCY_H
#define DEFT_FCGI_DORMANCY_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct fcgi_context;
struct request;

/* What sleeping routes answer. */
#define DORMANCY_WORDS "server is in deferred-init state 'dormant'; call POST /api/init first"

/* Whether the server still waits for its beginning. */
int dormancy_look(const struct fcgi_context *context, bool *is_dormant_out,
                  struct error *err) NONNULL MUST_CHECK;
/* Whether the request's route sleeps with the server: *is_asleep_out = true while it does. */
int dormancy_check(const struct request *request, bool *is_asleep_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif
