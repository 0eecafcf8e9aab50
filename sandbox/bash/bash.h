/*
 * Commands outside the agent's view: /bin/sh -c in its own session, with pipes and no shared state.
 * Their output becomes events (bash_events.h).
 *
 * Ownership: struct bash owns the running commands and the events.
 * Threading: the loop's thread.
 */
#ifndef DEFT_SANDBOX_BASH_BASH_H
#define DEFT_SANDBOX_BASH_BASH_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct action_server;
struct bash;
struct bash_events;
struct bash_run;
struct bash_spec;
struct error;

/* Called once when the command has ended; the callee owns its joined output. */
struct bash_answer {
    void *owner;
    void (*done)(void *owner, json_t *output);
};

struct bash *bash_new(const struct action_server *server) NONNULL MUST_CHECK;
/* Kills running commands. */
void bash_free(struct bash *bash);
struct bash_events *bash_events_of(struct bash *bash) NONNULL MUST_CHECK;

/*
 * Starts a command; *command_out is the BashCommand. For a command that cannot start the output is
 * stored at once. ERROR_RATE_LIMITED when too many run.
 */
int bash_start(struct bash *bash, const struct bash_spec *spec, json_t **command_out,
               struct error *err) NONNULL MUST_CHECK;
/*
 * Calls answer->done when the command has ended, or at once if it has already. ERROR_NOT_FOUND for
 * an unknown id.
 */
int bash_wait(struct bash *bash, const char *scope, const char *command_id,
              const struct bash_answer *answer, struct error *err) NONNULL MUST_CHECK;
/* Cancels the answer of an owner that is gone. */
void bash_forget_answer(struct bash *bash, const void *owner) NONNULL;
/* SIGTERM to the group, SIGKILL a second later; a finished command is ignored. ERROR_NOT_FOUND. */
int bash_stop(struct bash *bash, const char *scope, const char *command_id,
              struct error *err) NONNULL MUST_CHECK;

#endif
