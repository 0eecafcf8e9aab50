/*
 * Internal to lib/llm: why one attempt failed, how the wire contract classifies that, and whether
 * to retry.
 *
 * Ownership: a plain value; it borrows the request for the call.
 * Source: the contract's error taxonomy and retry rules.
 */
#ifndef DEFT_LLM_LLM_ERROR_H
#define DEFT_LLM_LLM_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/error.h"
#include "llm/llm.h"

/* clang-format off */
/*   cause                        reported to the client            for logs                 retry   outage */
#define LLM_CAUSES(X)                                                                                         \
    X(LLM_CAUSE_BAD_REQUEST,        LLM_FAILURE_BAD_REQUEST,          ERROR_INVALID,          false,  false)  \
    X(LLM_CAUSE_CONTEXT_WINDOW,     LLM_FAILURE_CONTEXT_WINDOW,       ERROR_INVALID,          false,  false)  \
    X(LLM_CAUSE_MALFORMED_HISTORY,  LLM_FAILURE_MALFORMED_HISTORY,    ERROR_INVALID,          false,  false)  \
    X(LLM_CAUSE_CONTENT_POLICY,     LLM_FAILURE_CONTENT_POLICY,       ERROR_INVALID,          false,  false)  \
    X(LLM_CAUSE_UNSUPPORTED,        LLM_FAILURE_BAD_REQUEST,          ERROR_UNSUPPORTED,      false,  false)  \
    X(LLM_CAUSE_REFUSED_ADDRESS,    LLM_FAILURE_BAD_REQUEST,          ERROR_FORBIDDEN,        false,  false)  \
    X(LLM_CAUSE_AUTHENTICATION,     LLM_FAILURE_AUTHENTICATION,       ERROR_UNAUTHENTICATED,  false,  false)  \
    X(LLM_CAUSE_NOT_FOUND,          LLM_FAILURE_NOT_FOUND,            ERROR_NOT_FOUND,        false,  false)  \
    X(LLM_CAUSE_TIMEOUT,            LLM_FAILURE_TIMEOUT,              ERROR_TIMEOUT,          true,   true)   \
    X(LLM_CAUSE_RATE_LIMIT,         LLM_FAILURE_RATE_LIMIT,           ERROR_RATE_LIMITED,     true,   false)  \
    X(LLM_CAUSE_INTERNAL_SERVER,    LLM_FAILURE_SERVICE_UNAVAILABLE,  ERROR_UNAVAILABLE,      true,   false)  \
    X(LLM_CAUSE_BAD_GATEWAY,        LLM_FAILURE_BAD_GATEWAY,          ERROR_UNAVAILABLE,      true,   true)   \
    X(LLM_CAUSE_UNAVAILABLE,        LLM_FAILURE_SERVICE_UNAVAILABLE,  ERROR_UNAVAILABLE,      true,   true)   \
    X(LLM_CAUSE_OVERLOADED,         LLM_FAILURE_SERVICE_UNAVAILABLE,  ERROR_UNAVAILABLE,      true,   true)   \
    X(LLM_CAUSE_CONNECTION,         LLM_FAILURE_SERVICE_UNAVAILABLE,  ERROR_UNAVAILABLE,      true,   true)   \
    X(LLM_CAUSE_NO_RESPONSE,        LLM_FAILURE_NO_RESPONSE,          ERROR_UNAVAILABLE,      true,   false)  \
    X(LLM_CAUSE_CONFLICT,           LLM_FAILURE_API,                  ERROR_UNAVAILABLE,      true,   false)  \
    X(LLM_CAUSE_API,                LLM_FAILURE_API,                  ERROR_UNAVAILABLE,      false,  false)  \
    X(LLM_CAUSE_CANCELLED,          LLM_FAILURE_CANCELLED,            ERROR_CANCELLED,        false,  false)

#define X(cause, kind, code, retry, outage) cause,
enum llm_cause { LLM_CAUSES(X) LLM_N_CAUSES };
#undef X

#define LLM_ERROR_INIT {LLM_CAUSE_API, false, -1, NULL, ""}
/* clang-format on */

struct llm_error {
    enum llm_cause cause;
    bool is_final;          /* do not retry, whatever the cause */
    int64_t retry_after_ms; /* delay requested by the server; -1: none */
    /* Its secrets are hidden in details that are set from now on; borrowed, or NULL. */
    const struct llm_request *request;
    char detail[LLM_DETAIL_BYTES];
};

/* Sets cause and detail and resets everything else but the request; returns -1. */
int llm_error_set(struct llm_error *llm_error, enum llm_cause cause, const char *format,
                  ...) NONNULL PRINTF_LIKE(3, 4);
/* From an answer with an HTTP status other than 2xx, and its body. Returns -1. */
int llm_error_from_answer(struct llm_error *llm_error, long status, const char *body,
                          size_t len) NONNULL;
/* As above; type: the error's class as a header tells it, "ThrottlingException:http://…". */
int llm_error_from_typed_answer(struct llm_error *llm_error, long status, const char *type,
                                const char *body, size_t len) NONNULL;
/* From the `error` member, an object or a string, of an answer with status 2xx. Returns -1. */
int llm_error_from_error_member(struct llm_error *llm_error, const json_t *error) NONNULL;
/* From a failure of the transport. Returns -1. */
int llm_error_from_transport(struct llm_error *llm_error, const struct error *why) NONNULL;
/* Adds words to the detail. */
void llm_error_add(struct llm_error *llm_error, const char *format, ...) NONNULL PRINTF_LIKE(2, 3);
/* Adds the delay requested by the server, if any, to the detail; for a call that is not retried. */
void llm_error_note_wait(struct llm_error *llm_error) NONNULL;
/* True if the server is out of order, rather than that it refuses this call. */
bool llm_error_is_outage(const struct llm_error *llm_error) NONNULL MUST_CHECK;
bool llm_error_may_retry(const struct llm_error *llm_error) NONNULL MUST_CHECK;
/* Converts to the results of llm_call_run(). Returns -1. */
int llm_error_report(const struct llm_error *llm_error, struct llm_failure *failure_out,
                     struct error *err) NONNULL;

#endif
