/*
 * Names for the compiler attributes that the conventions rely on, so that a prototype shows which
 * pointers may be NULL, which results must be checked, and what runs when a scope is left.
 */
#ifndef DEFT_BASE_ATTR_H
#define DEFT_BASE_ATTR_H

/* No pointer argument may be NULL. */
#define NONNULL __attribute__((nonnull))
/* The caller must use the result. */
#define MUST_CHECK __attribute__((warn_unused_result))
/* Argument `fmt` is a printf format for the arguments from `first` on. */
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
/* Calls `function(&variable)` when the variable's scope is left; needs an initialiser. */
#define CLEANUP(function) __attribute__((cleanup(function)))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))

/* clang's lock analysis; gcc does not know it. */
#if defined(__clang__)
#define LOCK_TYPE __attribute__((capability("mutex")))
#define ACQUIRES(lock) __attribute__((acquire_capability(lock)))
#define RELEASES(lock) __attribute__((release_capability(lock)))
#define REQUIRES(lock) __attribute__((requires_capability(lock)))
#define NO_LOCK_ANALYSIS __attribute__((no_thread_safety_analysis))
#else
#define LOCK_TYPE
#define ACQUIRES(lock)
#define RELEASES(lock)
#define REQUIRES(lock)
#define NO_LOCK_ANALYSIS
#endif

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
