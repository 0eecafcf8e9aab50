/*
 * What of a sandbox's answer reaches a client. A sandbox is hostile: its answer is shown on an
 * origin that has the user's session, so its status, type and headers are taken from tables, and
 * a browser gets it as a file or as a document of an origin of its own.
 */
#ifndef DEFT_FCGI_SANDBOX_ANSWER_H
#define DEFT_FCGI_SANDBOX_ANSWER_H

#include "base/attr.h"

struct error;
struct http_call;
struct reply;

/*
 * Sends the head of the reply that the call's answer gives. reply->content_policy, where it is set,
 * begins with "sandbox" and says that the answer is to be shown, not kept as a file.
 * Errors: ERROR_INVALID for a status that no sandbox gives; ERROR_CANCELLED when the client is
 * gone.
 */
int sandbox_answer_begin(struct reply *reply, const struct http_call *call,
                         struct error *err) NONNULL MUST_CHECK;

#endif
