/*
 * Commands outside the agent's view: /bin/sh -c in a session of its own, pipes, no shared state.
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

struct bash;
struct bash_events;
struct bash_run;
struct bash_spec;
struct error;
struct server;

/* Called once when the command is over, with its joined output, which is the callee's. */
struct bash_answer {
    void *owner;
    void (*done)(void *owner, json_t *output);
};

struct bash *bash_new(const struct server *server) NONNULL MUST_CHECK;
/* Kills what still runs. */
void bash_free(struct bash *bash);
struct bash_events *bash_events_of(struct bash *bash) NONNULL MUST_CHECK;

/*
 * Starts a command; *command_out is the BashCommand. A command that cannot start has its output at
 * once. ERROR_RATE_LIMITED when too many run.
 */
int bash_start(struct bash *bash, const struct bash_spec *spec, json_t **command_out,
               struct error *err) NONNULL MUST_CHECK;
/*
 * Calls answer->done when the command is over: now, when it is. ERROR_NOT_FOUND for an id that is
 * no command's.
 */
int bash_wait(struct bash *bash, const char *scope, const char *command_id,
              const struct bash_answer *answer, struct error *err) NONNULL MUST_CHECK;
/* Takes an answer back whose owner is gone. */
void bash_forget_answer(struct bash *bash, const void *owner) NONNULL;
/* SIGTERM to the group, a second later SIGKILL; a finished command is fine. ERROR_NOT_FOUND. */
int bash_stop(struct bash *bash, const char *scope, const char *command_id,
              struct error *err) NONNULL MUST_CHECK;

#endif
