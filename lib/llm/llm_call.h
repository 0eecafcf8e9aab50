/*
 * Internal to lib/llm: state shared by the parts of one call.
 */
#ifndef DEFT_LLM_LLM_CALL_H
#define DEFT_LLM_LLM_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "llm/llm.h"

struct http_call;

struct llm {
    struct llm_options options;
    char *scripted_dir;
};

struct llm_call {
    const struct llm *llm;
    struct lock lock; /* guards the rest; order: this, then the locks of lib/client */
    struct condition cancelled;
    bool is_cancelled;
    struct http_call *http; /* the attempt in progress, to be cancelled */
};

/* Sleeps; false if the call is cancelled before or during the sleep. */
bool llm_call_sleep(struct llm_call *call, int64_t wait_ms) NONNULL MUST_CHECK;
/* Registers the HTTP call that a cancel also ends; NULL unregisters it. */
void llm_call_watch(struct llm_call *call, struct http_call *http) __attribute__((nonnull(1)));

#endif
