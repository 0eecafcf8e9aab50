/*
 * A program that runs beside the server and exchanges lines with it: its pipes never block the
 * loop, and what it may make the server keep is bounded.
 *
 * Ownership: struct mcp_processes owns all processes until mcp_processes_free(); a caller may use
 * one until it calls mcp_process_end(), also from within a callback.
 * Threading: the loop's thread.
 * Source: Model Context Protocol, "Transports", stdio, and "Lifecycle", revision 2025-06-18.
 */
#ifndef DEFT_SANDBOX_PORTS_MCP_PROCESS_H
#define DEFT_SANDBOX_PORTS_MCP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct event_loop;
struct mcp_command;
struct mcp_process;
struct mcp_processes;
struct strbuf;

enum {
    MCP_LINE_MAX_BYTES = 4 * 1024 * 1024,  /* of the program's output */
    MCP_INPUT_MAX_BYTES = 8 * 1024 * 1024, /* that it has not read yet */
};

/* Both are called from the loop, never from within a function of this header. */
struct mcp_process_listener {
    void (*line)(void *owner, const struct strbuf *line);
    /* It has ended, or cannot be used any more: why, for people. It is to be ended then. */
    void (*failed)(void *owner, const char *why);
    void *owner;
};

struct mcp_processes *mcp_processes_new(struct event_loop *loop) NONNULL MUST_CHECK;
/* Kills all processes, with their groups. */
void mcp_processes_free(struct mcp_processes *processes);

/* Starts one. Errors as mcp_command_start(). */
int mcp_process_start(struct mcp_processes *processes, const struct mcp_command *command,
                      const struct mcp_process_listener *listener, struct mcp_process **process_out,
                      struct error *err) NONNULL MUST_CHECK;
/*
 * Sends a line, which is given without its end. ERROR_TOO_LARGE if the program would have more than
 * MCP_INPUT_MAX_BYTES to read.
 */
int mcp_process_send(struct mcp_process *process, const char *text, size_t len,
                     struct error *err) NONNULL MUST_CHECK;
/* True if it has ended or reads nothing any more, also before the loop has noticed. */
bool mcp_process_is_dead(const struct mcp_process *process) NONNULL MUST_CHECK;
/*
 * Ends it: closes its input, and ends its group with SIGTERM a second later, and with SIGKILL after
 * another one. Its listener is not called any more.
 */
void mcp_process_end(struct mcp_process *process) NONNULL;

#endif
