/*
 * Starts a program that speaks the Model Context Protocol on its standard input and output, from an
 * order {"command", "args", "env", "cwd"}.
 */
#ifndef DEFT_SANDBOX_PORTS_MCP_COMMAND_H
#define DEFT_SANDBOX_PORTS_MCP_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

struct mcp_command {
    const json_t *order;
    const char *workspace;   /* HOME where the image's cannot be used */
    const char *working_dir; /* without a "cwd"; NULL: the server's own */
    bool ends_with_server;   /* also if the server is killed */
    pid_t *session;          /* as of struct child_process_spec */
};

/*
 * Starts it in a session of its own. fds: what it reads, what it writes to, its standard error; the
 * caller closes them. ERROR_INVALID if the sandbox has no such program or folder, ERROR_UNAVAILABLE
 * if it cannot run.
 */
int mcp_command_start(const struct mcp_command *command, const int fds[3], pid_t *pid_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
