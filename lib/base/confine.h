/*
 * Confines a process at its start, to limit the damage if it is taken over later: no new
 * privileges, no tracing or core dumps, no system calls that it never makes (seccomp), no writing
 * to files (Landlock).
 *
 * Features missing in the kernel are logged, and are not an error.
 *
 * Threading: before the first thread, since threads inherit from the thread that starts them.
 * Source:    seccomp(2), landlock(7), prctl(2), libseccomp
 * Decision: docs/decisions/0044-confinement.md
 */
#ifndef DEFT_BASE_CONFINE_H
#define DEFT_BASE_CONFINE_H

#include "base/attr.h"

struct error;

/* Rights that a process needs. */
enum confine_kind {
    CONFINE_DAEMON,  /* talks to sockets: starts no program, writes no file */
    CONFINE_PROGRAM, /* nginx, PostgreSQL or dnsmasq, started after this: confine_program() */
    CONFINE_RUNTIME, /* starts programs of the host, as root */
    CONFINE_HOST,    /* as RUNTIME; the programs may create sandboxes by the kernel's means */
};

/*
 * Confines this process and all that it starts. sockets: paths, NULL-terminated, in whose
 * directories a CONFINE_DAEMON may create and remove sockets; "" is ignored. ERROR_UNAVAILABLE when
 * a feature that the kernel supports fails.
 */
int confine(enum confine_kind kind, const char *const *sockets,
            struct error *err) NONNULL MUST_CHECK;

/*
 * Confines this process for a program that it is about to exec, and all that this starts: as
 * CONFINE_PROGRAM, and no file other than the program (a path) can be executed. folders: paths,
 * NULL-terminated, below which it may write. ERROR_UNAVAILABLE as confine().
 */
int confine_program(const char *program, const char *const *folders,
                    struct error *err) NONNULL MUST_CHECK;

#endif
