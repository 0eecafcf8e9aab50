/*
 * Reads a text as commands of a shell: with their quotes resolved, and those within substitutions,
 * here-documents, `eval` and `sh -c`, to a depth of eight. Text that no shell would accept is read
 * as far as that goes.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0091-security-analyzers.md
 */
#ifndef DEFT_MODEL_SECURITY_SHELL_READER_H
#define DEFT_MODEL_SECURITY_SHELL_READER_H

#include <stddef.h>

#include "base/attr.h"

struct shell_findings;

/* Adds what the commands of the text do. */
void shell_read(const char *text, size_t len, struct shell_findings *findings) NONNULL;

#endif
