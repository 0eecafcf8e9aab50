/*
 * What a client may do about an error: the `classification` of error events.
 *
 * Threading: pure.
 * Decision: docs/decisions/0086-errors-and-budgets.md
 */
#ifndef DEFT_MODEL_EVENT_ERROR_CLASS_H
#define DEFT_MODEL_EVENT_ERROR_CLASS_H

#include <jansson.h>

#include "base/attr.h"

/* X(constant, kind, retryable, user_action) */
#define ERROR_CLASSES(X)                                                                           \
    X(ERROR_CLASS_AUTH, "auth", false, "settings")                                                 \
    X(ERROR_CLASS_QUOTA, "quota", false, "settings")                                               \
    X(ERROR_CLASS_RATE_LIMIT, "rate_limit", true, "retry")                                         \
    X(ERROR_CLASS_CONFIG, "config", false, "settings")                                             \
    X(ERROR_CLASS_TRANSIENT, "transient", true, "retry")                                           \
    X(ERROR_CLASS_AGENT_ACTION, "agent_action", true, "retry")                                     \
    X(ERROR_CLASS_AGENT_LIMIT, "agent_action", false, "none")                                      \
    X(ERROR_CLASS_INTERNAL, "internal", false, "none")                                             \
    X(ERROR_CLASS_UNKNOWN, "unknown", false, "none")

#define X(constant, kind, retryable, user_action) constant,
enum error_class { ERROR_CLASSES(X) ERROR_N_CLASSES };
#undef X

/*
 * The class of a ConversationErrorEvent: by its code, or else by phrases of its detail that servers
 * of models use.
 */
enum error_class error_class_of(const char *code, const char *detail) NONNULL MUST_CHECK;
/* {"kind", "retryable", "user_action"}. A new reference. */
json_t *error_class_to_json(enum error_class class) MUST_CHECK;

#endif
