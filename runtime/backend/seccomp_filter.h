/*
 * Compiles a seccomp profile (JSON, in container engines' format) to a BPF program.
 *
 * Source: Docker Engine, "Seccomp security profiles for Docker"; libseccomp, seccomp_export_bpf(3)
 */
#ifndef DEFT_RUNTIME_BACKEND_SECCOMP_FILTER_H
#define DEFT_RUNTIME_BACKEND_SECCOMP_FILTER_H

#include "base/attr.h"

struct error;

/*
 * Compiles the profile for this processor and writes the program to fd. Names that this processor
 * or this libseccomp does not know are left out, as engines do: they stay forbidden. ERROR_INVALID:
 * the profile's format is not supported.
 */
int seccomp_filter_write(const char *profile, int fd, struct error *err) NONNULL MUST_CHECK;

#endif
