/*
 * "deft-action git-credential get", which git runs to ask for a credential (gitcredentials(7)). It
 * asks the server of its sandbox, and stores nothing itself.
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIAL_HELPER_H
#define DEFT_SANDBOX_GIT_CREDENTIAL_HELPER_H

#include "base/attr.h"

#define CREDENTIAL_HELPER_WORD "git-credential"
/*
 * Number of a descriptor with the answers, for a git with its own credential; unset: asks the
 * server.
 */
#define CREDENTIAL_DESCRIPTOR_VARIABLE "GIT_CREDENTIAL_DESCRIPTOR"

/*
 * Reads git's question from standard input and answers it. Returns the exit code. operation: "get";
 * others are ignored, since nothing is stored or erased here.
 */
int credential_helper_run(const char *operation) NONNULL MUST_CHECK;

#endif
