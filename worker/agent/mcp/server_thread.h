/*
 * Threads that talk to MCP servers while the conversation's thread waits for them.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_THREAD_H
#define DEFT_WORKER_AGENT_MCP_SERVER_THREAD_H

#include <pthread.h>

#include "base/attr.h"

struct error;
struct worker_context;

/* Starts run(what) on a thread with a conversation's stack; the caller joins it. */
int server_thread_start(const struct worker_context *context, pthread_t *thread_out,
                        void *(*run)(void *what), void *what, struct error *err) NONNULL MUST_CHECK;

#endif
