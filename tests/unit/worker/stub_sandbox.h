/*
 * A sandbox and the service that starts it, for tests of what a worker asks of them: actions run
 * once by id, and take as long as their command says.
 *
 * A terminal command "sleep:MS" takes that long, and "hold" until stub_release(), unless they are
 * interrupted; all others are done at once and echo themselves, with exports, as in "echo $NAME" ->
 * the value of NAME, or print N letters for "print:N". A file_editor call holds if its path ends
 * with "/hold", and so does a hook whose command begins with "hold-".
 *
 * Ownership: stub_stop() frees it.
 * Threading: a thread for each connection; all functions from any thread.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_STUB_SANDBOX_H
#define DEFT_TESTS_UNIT_WORKER_STUB_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
struct strbuf;
struct stub;

struct stub *stub_start(void) MUST_CHECK;
void stub_stop(struct stub *stub);
/* "http://127.0.0.1:port": Runtime API and sandbox in one. Lives as long as the stub. */
const char *stub_url(struct stub *stub) NONNULL;

/* From now on /start answers status error with these words; NULL: it works again. */
void stub_refuse_start(struct stub *stub, const char *detail) __attribute__((nonnull(1)));
/* From now on a command of deft's own ends so; its text is on stdout, or on stderr if it failed. */
void stub_set_command(struct stub *stub, int exit_code, const char *text) NONNULL;
/* From now on the workspace's files are read as this reply, JSON. */
void stub_set_files(struct stub *stub, const char *reply) NONNULL;
/*
 * From now on MCP servers that are programs answer so, JSON: {method: members of the observation}.
 * A method that is missing is an error.
 */
void stub_set_program(struct stub *stub, const char *reply) NONNULL;
/* The reply to requests for progress of such programs, JSON. */
void stub_set_progress(struct stub *stub, const char *reply) NONNULL;
/* The query of the newest such request; lives until the next one. */
const char *stub_progress_query(struct stub *stub) NONNULL;
/* The body of the last action for such a program, JSON; "" if there was none. */
void stub_program_order(struct stub *stub, struct strbuf *out) NONNULL;
/*
 * From now on a hook with that command answers so: members of its observation, as JSON, or the
 * whole reply if it has a "state". Any other hook ends with 0 and prints nothing. A whole reply is
 * that of a terminal command, too.
 */
void stub_answer_hook(struct stub *stub, const char *command, const char *answer) NONNULL;
/* The same with plain text on standard output. */
void stub_answer_hook_text(struct stub *stub, const char *command, int exit_code,
                           const char *out) NONNULL;
/* Requests for hooks, with repeated ones. */
size_t stub_n_hooks(struct stub *stub) NONNULL;
/* Waits until n hooks were requested; false after a minute. */
bool stub_wait_for_hooks(struct stub *stub, size_t n) NONNULL;
/* One of these requests as JSON: {"id": of the action, "order": the body}. */
void stub_hook(struct stub *stub, size_t index, struct strbuf *out) NONNULL;
/* From now on checkpoints are taken with this reply, JSON; else with {}. */
void stub_set_checkpoint(struct stub *stub, const char *reply) NONNULL;
/* From now on files are set back with this observation, JSON, or whole reply if it has a state. */
void stub_set_restore(struct stub *stub, const char *reply) NONNULL;
/* From now on these objects are missing, once: a list of ids, JSON. */
void stub_set_missing(struct stub *stub, const char *ids) NONNULL;
/* Appends the requests for checkpoints since the last call, a line each: last part, and body. */
void stub_take_checkpoints(struct stub *stub, struct strbuf *out) NONNULL;
/* A session with a sandbox of its own, which the same stub serves. */
#define STUB_OTHER_SESSION "other"
#define STUB_OTHER_RUNTIME "bbbbbbbbbbbbbbbb"
/* How often they were read. */
size_t stub_n_readings(struct stub *stub) NONNULL;
size_t stub_n_commands(struct stub *stub) NONNULL;
/* The sandbox is replaced: another runtime_id, all actions forgotten. */
void stub_replace_sandbox(struct stub *stub) NONNULL;
/* The reason that interrupted actions get, as long as a real sandbox's. */
#define STUB_RESTARTED_TEXT "The sandbox server was restarted while the action ran."
/*
 * The sandbox takes connections and answers nothing any more, until it is started with a doubt:
 * then the actions that ran are interrupted.
 */
void stub_hang(struct stub *stub) NONNULL;
/* Ends the commands that hold or sleep. */
void stub_release(struct stub *stub) NONNULL;
/* Actions that were begun, not counting repeated requests for the same. */
size_t stub_n_runs(struct stub *stub) NONNULL;
/* True if an action of that id was begun. */
bool stub_has_action(struct stub *stub, const char *id) NONNULL;
/* Actions that run now. */
size_t stub_n_running(struct stub *stub) NONNULL;
size_t stub_n_starts(struct stub *stub) NONNULL;
/* Starts by callers that found no sandbox running. */
size_t stub_n_doubts(struct stub *stub) NONNULL;
size_t stub_n_interrupts(struct stub *stub) NONNULL;
size_t stub_n_forgotten(struct stub *stub) NONNULL;
/* Directories that were asked for; the newest request's path and query, "" before the first. */
size_t stub_n_directories(struct stub *stub) NONNULL;
void stub_last_directory(struct stub *stub, char path_out[200]) NONNULL;
size_t stub_n_acknowledged(struct stub *stub) NONNULL;
/* Waits until n actions were begun; false after a minute. */
bool stub_wait_for_runs(struct stub *stub, size_t n) NONNULL;
/* Waits until the sandbox was asked for n times; false after a minute. */
bool stub_wait_for_starts(struct stub *stub, size_t n) NONNULL;

#endif
