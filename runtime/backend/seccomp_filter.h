/*
 * A seccomp profile (JSON, as container engines read it) as a program that the kernel takes.
 *
 * Source: Docker Engine, "Seccomp security profiles for Docker"; libseccomp, seccomp_export_bpf(3)
 */
#ifndef DEFT_RUNTIME_BACKEND_SECCOMP_FILTER_H
#define DEFT_RUNTIME_BACKEND_SECCOMP_FILTER_H

#include "base/attr.h"

struct error;

/*
 * Compiles the profile for this processor and writes the program to fd. Names that this processor
 * or this libseccomp does not know are left out, as an engine does: they stay forbidden.
 * ERROR_INVALID: the profile has a form that is not understood.
 */
int seccomp_filter_write(const char *profile, int fd, struct error *err) NONNULL MUST_CHECK;

#endif
