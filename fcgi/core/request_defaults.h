/*
 * The server's defaults for what a request leaves out, and its part of a start.
 */
#ifndef DEFT_FCGI_CORE_REQUEST_DEFAULTS_H
#define DEFT_FCGI_CORE_REQUEST_DEFAULTS_H

#include "base/attr.h"
#include "model/agent/conversation_defaults.h"
#include "start/start_context.h"

struct request;

/* The server's defaults for members that a start request or an LLM object leaves out. */
struct conversation_defaults
request_conversation_defaults(const struct request *request) NONNULL MUST_CHECK;
/* The caller, the server's handles and its limits, for a start. Borrows from the request. */
struct start_context request_start_context(const struct request *request) NONNULL MUST_CHECK;

#endif
