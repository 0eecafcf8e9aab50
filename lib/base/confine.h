/*
 * What a process gives up at its start, for the case that it is taken over later: new privileges,
 * being traced or dumped, system calls that it never makes (seccomp), and writing to files
 * (Landlock).
 *
 * What the kernel cannot do is logged, in words, and is no failure.
 *
 * Threading: before the first thread, for threads have only what the one that starts them had.
 * Source:    seccomp(2), landlock(7), prctl(2), libseccomp
 */
#ifndef DEFT_BASE_CONFINE_H
#define DEFT_BASE_CONFINE_H

#include "base/attr.h"

struct error;

/* How much a process needs. */
enum confine_kind {
    CONFINE_DAEMON,  /* talks to sockets: starts no program, writes no file */
    CONFINE_PROGRAM, /* nginx, PostgreSQL or dnsmasq, started after this: confine_program() */
    CONFINE_RUNTIME, /* starts programs of the host, as root */
    CONFINE_HOST,    /* as that; those may make sandboxes with what the kernel has for them */
};

/*
 * Confines this process and all that it starts. sockets: paths, up to a NULL, in whose folders a
 * CONFINE_DAEMON may make and remove sockets; "" is none. ERROR_UNAVAILABLE when what the kernel
 * can do failed.
 */
int confine(enum confine_kind kind, const char *const *sockets,
            struct error *err) NONNULL MUST_CHECK;

/*
 * Confines this process for a program that it is about to become, and all that this starts: as
 * CONFINE_PROGRAM, and no file runs but the program itself (a path). folders: paths, up to a NULL,
 * below which it may write. ERROR_UNAVAILABLE as confine().
 */
int confine_program(const char *program, const char *const *folders,
                    struct error *err) NONNULL MUST_CHECK;

#endif
