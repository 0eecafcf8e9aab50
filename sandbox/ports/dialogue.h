/*
 * A program that is talked to in lines of JSON (an MCP server on standard input and output):
 * started, asked, ended.
 */
#ifndef DEFT_SANDBOX_PORTS_DIALOGUE_H
#define DEFT_SANDBOX_PORTS_DIALOGUE_H

#include "base/attr.h"

struct request;

/* POST {"command","args","env","cwd","timeout_ms","messages"} -> 200 {"replies"} | 400 in words */
void dialogue_handle(struct request *request) NONNULL;

#endif
