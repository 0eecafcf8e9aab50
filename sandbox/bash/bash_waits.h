/*
 * Searches of bash events that matched nothing yet and wait for the next event.
 *
 * Ownership: the waits borrow loop and events, which outlive them; a request belongs to its client.
 * Threading: the loop's thread.
 */
#ifndef DEFT_SANDBOX_BASH_BASH_WAITS_H
#define DEFT_SANDBOX_BASH_BASH_WAITS_H

#include <stdint.h>

#include "base/attr.h"

struct bash_events;
struct bash_query;
struct bash_waits;
struct event_loop;
struct server_request;

struct bash_waits *bash_waits_new(struct event_loop *loop,
                                  struct bash_events *events) NONNULL MUST_CHECK;
void bash_waits_free(struct bash_waits *waits);
/*
 * Answers the request with the query's page as soon as an event matches, with an empty page after
 * wait_ms, or at once when too many searches wait. The query is copied.
 */
void bash_waits_add(struct bash_waits *waits, struct server_request *request,
                    const struct bash_query *query, int64_t wait_ms) NONNULL;

#endif
