/*
 * Small text files from several folders in one reply: skills, hooks and agents that projects and
 * users keep, for deft-fcgi to read.
 */
#ifndef DEFT_SANDBOX_FILES_COLLECT_H
#define DEFT_SANDBOX_FILES_COLLECT_H

#include "base/attr.h"

struct request;

/* POST {"places":[…]} -> 200 {"files":[…]} | 400 */
void collect_handle(struct request *request) NONNULL;

#endif
