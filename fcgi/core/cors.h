/*
 * Cross-origin rules of the agent origin (pages of other hosts call it with a key), and the
 * same-origin rule of the app origin (a cookie alone proves nothing). Fetch standard, section 3.2.
 */
#ifndef DEFT_FCGI_CORE_CORS_H
#define DEFT_FCGI_CORE_CORS_H

#include <stdbool.h>

#include "base/attr.h"

struct reply;
struct request;

/* The conversation that answered a call of /v1; pages of other hosts may read it. */
#define CORS_CONVERSATION_HEADER "X-OpenHands-ServerConversation-ID"

/* True when the request was a preflight; it is then answered. */
bool cors_answer_preflight(const struct request *request, struct reply *reply) NONNULL MUST_CHECK;
/* Adds the headers that let an allowed page read the answer. */
void cors_add_headers(const struct request *request, struct reply *reply) NONNULL;
/*
 * True for a page on the user's own machine, any port, and for the origins in list, which are
 * separated by spaces.
 */
bool cors_origin_is_allowed(const char *origin, const char *list) NONNULL MUST_CHECK;

enum same_origin { SAME_ORIGIN_YES, SAME_ORIGIN_NO, SAME_ORIGIN_UNKNOWN };
/* The browser's statement of the request's origin; UNKNOWN when it makes none. */
enum same_origin request_same_origin(const struct request *request) NONNULL MUST_CHECK;

#endif
