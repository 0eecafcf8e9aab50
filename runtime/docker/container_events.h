/*
 * Lists containers, and follows the engine's events.
 *
 * Threading: docker_follow() is the body of a thread; the others are for any thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_CONTAINER_EVENTS_H
#define DEFT_RUNTIME_DOCKER_CONTAINER_EVENTS_H

#include "base/attr.h"

struct backend_event_sink;
struct docker;
struct error;
struct seen_list;

/* Reports events of this instance's containers to the sink until docker_stop_following(). */
void docker_follow(struct docker *docker, const struct backend_event_sink *sink) NONNULL;
void docker_stop_following(struct docker *docker) NONNULL;
void docker_ping(struct docker *docker) NONNULL;
int docker_list_containers(struct docker *docker, struct seen_list *list_out,
                           struct error *err) NONNULL MUST_CHECK;

#endif
