/*
 * Why something failed, as a value: every function that can fail returns 0 or -1 and fills in a
 * struct error that its caller owns.
 *
 * Ownership: a struct error holds no heap; copy, drop or overwrite it freely.
 * Threading: no shared state.
 */
#ifndef DEFT_BASE_ERROR_H
#define DEFT_BASE_ERROR_H

#include <stdbool.h>

#include "base/attr.h"

/* Kinds of failure; fcgi/core/reply.c alone knows the HTTP status of each. */
#define ERROR_CODES(X)                                                                             \
    X(ERROR_NONE, "none")                                                                          \
    X(ERROR_INVALID, "invalid")                                                                    \
    X(ERROR_UNAUTHENTICATED, "unauthenticated")                                                    \
    X(ERROR_FORBIDDEN, "forbidden")                                                                \
    X(ERROR_NOT_FOUND, "not_found")                                                                \
    X(ERROR_CONFLICT, "conflict")                                                                  \
    X(ERROR_STALE, "stale") /* the caller's lease or fence is no longer the current one */         \
    X(ERROR_MEDIA_TYPE, "media_type")   /* the body's Content-Type is not accepted */              \
    X(ERROR_SLOW_CLIENT, "slow_client") /* it sends or receives below the minimum rate */          \
    X(ERROR_TOO_LARGE, "too_large")                                                                \
    X(ERROR_RATE_LIMITED, "rate_limited")                                                          \
    X(ERROR_TIMEOUT, "timeout")                                                                    \
    X(ERROR_CANCELLED, "cancelled") /* a stop was requested */                                     \
    X(ERROR_UNAVAILABLE, "unavailable")                                                            \
    X(ERROR_UNSUPPORTED, "unsupported")                                                            \
    X(ERROR_INTERNAL, "internal")

#define X(constant, text) constant,
enum error_code { ERROR_CODES(X) ERROR_N_CODES };
#undef X

#define ERROR_MESSAGE_BYTES 256

struct error {
    enum error_code code;
    const char *where; /* "file:line" of the first error_set() */
    char message[ERROR_MESSAGE_BYTES];
};

/* clang-format off */
#define ERROR_INIT {ERROR_NONE, "", ""}
/* clang-format on */

#define ERROR_STRING(x) #x
#define ERROR_LINE(x) ERROR_STRING(x)
/*
 * Sets the error, and where it occurred; a long message is cut at a character boundary. Returns -1.
 */
#define error_set(err, code, ...)                                                                  \
    error_failed(error_set_at(err, code, __FILE__ ":" ERROR_LINE(__LINE__), __VA_ARGS__))
/* Prepends context to the message: "context: cause". Keeps code and where. Returns -1. */
#define error_wrap(err, ...) error_failed(error_wrap_text(err, __VA_ARGS__))

/* Replaces the message if the error has that code. Returns -1. */
#define error_reword(err, code, ...) error_failed(error_reword_text(err, code, __VA_ARGS__))

/*
 * Returns -1 inline, so that compilers and analyzers see it and follow what callers do after a
 * failure.
 */
static inline int error_failed(int rc)
{
    (void)rc;
    return -1;
}

/* Implementation of error_set(), error_wrap() and error_reword(). */
int error_set_at(struct error *err, enum error_code code, const char *where, const char *format,
                 ...) NONNULL PRINTF_LIKE(4, 5);
int error_wrap_text(struct error *err, const char *format, ...) NONNULL PRINTF_LIKE(2, 3);
int error_reword_text(struct error *err, enum error_code code, const char *format, ...) NONNULL
    PRINTF_LIKE(3, 4);

/* True for failures that a retry may avoid: UNAVAILABLE, TIMEOUT, RATE_LIMITED. */
bool error_is_transient(const struct error *err) NONNULL MUST_CHECK;
/* True when another writer was first: the caller may reload and retry. */
bool error_is_lost_race(const struct error *err) NONNULL MUST_CHECK;

/* The code's name in logs, such as "not_found". A constant. */
const char *error_code_to_string(enum error_code code) MUST_CHECK;

/* Drops a failure on purpose; `reason` is for the reader. */
#define error_ignore(call, reason)                                                                 \
    do {                                                                                           \
        int ignored_ = (call);                                                                     \
        (void)ignored_;                                                                            \
    } while (0)

#endif
