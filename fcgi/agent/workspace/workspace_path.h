/*
 * Paths inside a sandbox, as text. Symbolic links are resolved in the sandbox, not here.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_WORKSPACE_PATH_H
#define DEFT_FCGI_AGENT_WORKSPACE_WORKSPACE_PATH_H

#include <stdbool.h>

#include "base/attr.h"

/* True when an absolute path, with "." and ".." resolved, is the directory or below it. */
bool workspace_path_is_inside(const char *path, const char *directory) NONNULL MUST_CHECK;

#endif
