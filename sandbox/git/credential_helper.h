/*
 * "deft-action git-credential get": what git runs to ask for a credential (gitcredentials(7)). It
 * asks the server of its sandbox, and holds nothing itself.
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIAL_HELPER_H
#define DEFT_SANDBOX_GIT_CREDENTIAL_HELPER_H

#include "base/attr.h"

#define CREDENTIAL_HELPER_WORD "git-credential"
/* The number of a descriptor on which the answers lie, for a git that is to have a credential of
 * its own; unset: the server is asked. */
#define CREDENTIAL_DESCRIPTOR_VARIABLE "GIT_CREDENTIAL_DESCRIPTOR"

/* Reads git's question on standard input and answers it. Returns the exit code. operation: "get",
 * or another one, which is passed over: nothing is stored or erased here. */
int credential_helper_run(const char *operation) NONNULL MUST_CHECK;

#endif
