/*
 * A living MCP server on standard input and output: greeted once, then any number of calls, which
 * it may answer in any order.
 *
 * Ownership: the caller's, from mcp_program_start() to `over`, after which it is to be freed, or to
 * mcp_program_free().
 * Threading: the loop's thread.
 * Source: Model Context Protocol, "Lifecycle", "Tools", "Cancellation" and "Progress", revision
 * 2025-06-18.
 */
#ifndef DEFT_SANDBOX_PORTS_MCP_PROGRAM_H
#define DEFT_SANDBOX_PORTS_MCP_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct event_loop;
struct mcp_call;
struct mcp_command;
struct mcp_processes;
struct mcp_program;
struct mcp_progress;

enum {
    MCP_PROGRAM_CALLS_MAX = 64,     /* of one program, at once */
    MCP_PROGRAM_START_MS = 120000,  /* until it has answered the greeting */
    MCP_PROGRAM_LIST_PAGES_MAX = 20 /* of its list of tools */
};

struct mcp_program_spec {
    struct event_loop *loop;
    struct mcp_processes *processes;
    const struct mcp_command *command; /* borrowed until the start */
    int64_t idle_ms;                   /* without a call, it is over after that */
    /* It has ended, or was idle for too long: its calls have been told. It is to be freed. */
    void (*over)(void *owner, struct mcp_program *program);
    void *owner;
};

/* What became of a call. All is borrowed. */
struct mcp_outcome {
    const json_t *result;   /* of a call; NULL: none */
    json_t *tools;          /* of a list; NULL: none */
    const char *why;        /* why there is neither; else NULL */
    bool has_changed_tools; /* the program has said, since the last outcome, that its list has */
};

struct mcp_call_spec {
    const char *tool; /* NULL: the list of tools */
    json_t *arguments;
    int64_t timeout_ms; /* longest silence: progress renews it, up to MCP_CALL_MAX_MS in all */
    /* Called for each report of progress; NULL: it is ignored. Borrowed. */
    void (*progressed)(void *owner, const struct mcp_progress *progress);
    /* Called once, from the loop or by mcp_call_interrupt(); the call is gone then. */
    void (*told)(void *owner, const struct mcp_outcome *outcome);
    void *owner;
};

/* Starts the program and greets it. Errors as mcp_command_start(). */
int mcp_program_start(const struct mcp_program_spec *spec, struct mcp_program **program_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Ends the program without telling its calls. */
void mcp_program_free(struct mcp_program *program);
/* True if a call cannot be sent to it any more. */
bool mcp_program_is_dead(const struct mcp_program *program) NONNULL MUST_CHECK;
/* Number of calls that have no outcome. */
size_t mcp_program_n_calls(const struct mcp_program *program) NONNULL MUST_CHECK;
/* When it had its last outcome, clock_monotonic_ms(). */
int64_t mcp_program_idle_since_ms(const struct mcp_program *program) NONNULL MUST_CHECK;
/* It is over once it has no calls: it is to get no new ones. */
void mcp_program_retire(struct mcp_program *program) NONNULL;
/* Tells all calls that the program has ended; the caller frees it. */
void mcp_program_fail(struct mcp_program *program, const char *why) NONNULL;

/*
 * Begins a call, which waits until the program has answered the greeting. ERROR_RATE_LIMITED with
 * too many, ERROR_TOO_LARGE if the program does not read what it is sent.
 */
int mcp_program_call(struct mcp_program *program, const struct mcp_call_spec *spec,
                     struct mcp_call **call_out, struct error *err) NONNULL MUST_CHECK;
/* Tells the program that nothing waits for the call any more, and the owner that it was cut off. */
void mcp_call_interrupt(struct mcp_call *call) NONNULL;
/* The same without telling the owner. */
void mcp_call_free(struct mcp_call *call);

#endif
