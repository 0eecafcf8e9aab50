/*
 * A conversation's browser as the server sees it: a driver process that starts with the first call,
 * runs one call at a time and ends with the conversation.
 *
 * Ownership: struct browser owns its driver process.
 * Threading: the loop's thread; nothing here blocks. A call's `done` is called once, from the loop
 * or before browser_execute() returns.
 */
#ifndef DEFT_SANDBOX_BROWSER_BROWSER_H
#define DEFT_SANDBOX_BROWSER_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "sandbox/browser/browser_spec.h"

struct browser;
struct event_loop;

struct browser_call {
    const char *tool;
    const json_t *args;
    const char *working_dir; /* downloads go to a folder in it */
};

/* The callee frees the observation. */
struct browser_answer {
    void *owner;
    void (*done)(void *owner, json_t *observation);
};

struct browser *browser_new(struct event_loop *loop,
                            const struct browser_spec *spec) NONNULL MUST_CHECK;
/* Ends the browser; a pending call is never answered. */
void browser_free(struct browser *browser);
/* True for the names of browser tools. */
bool browser_has_tool(const char *name) NONNULL MUST_CHECK;
/* True while a call is pending: browser_execute() must wait. */
bool browser_is_busy(const struct browser *browser) NONNULL MUST_CHECK;
/* Starts a call; its arguments are copied. */
void browser_execute(struct browser *browser, const struct browser_call *call,
                     const struct browser_answer *answer) NONNULL;
/* Makes the pending call end soon, as interrupted; without one, does nothing. */
void browser_interrupt(struct browser *browser) NONNULL;

/* A BrowserObservation with one text. The caller owns it. */
json_t *browser_refusal(const char *text) NONNULL MUST_CHECK;

#endif
