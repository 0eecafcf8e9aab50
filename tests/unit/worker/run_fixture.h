/*
 * Shared by the tests of whole runs: a worker's context over a real PostgreSQL, a stub sandbox,
 * scripted models written by the test, and a run in a thread of its own.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_RUN_FIXTURE_H
#define DEFT_TESTS_UNIT_WORKER_RUN_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/context.h"

struct stub;

struct run_fixture {
    struct worker_context context;
    struct stub *stub;
    struct uuid user_id;
    char scripts[64]; /* directory */
};

int run_fixture_set_up(void **state);
int run_fixture_tear_down(void **state);

/*
 * A new conversation whose model plays `script` (JSON of scripted/), with a first message and a run
 * asked for. more: members of the start request, JSON, or "{}".
 */
struct uuid run_new_conversation(struct run_fixture *fixture, const char *script,
                                 const char *more) NONNULL;
void run_say(struct run_fixture *fixture, const struct uuid *id, const char *text) NONNULL;
void run_again(struct run_fixture *fixture, const struct uuid *id) NONNULL;

/* Claims and runs the conversation to the end, in this thread. */
void run_to_end(struct run_fixture *fixture, const struct uuid *id) NONNULL;
/* The same when a pause was asked for so long ago that its patience is at an end. */
void run_paused_long_ago(struct run_fixture *fixture, const struct uuid *id) NONNULL;
/* The same when an interrupt was asked for before the claim. */
void run_interrupted(struct run_fixture *fixture, const struct uuid *id) NONNULL;

/* As if the worker that has the conversation had not renewed its lease for long. */
void run_expire_lease(const struct uuid *id) NONNULL;

/* A claimed conversation whose steps the test takes itself; it stays where it is. */
struct claimed_agent {
    struct run_fixture *fixture;
    struct run_control control;
    struct agent agent;
};
/* Puts the conversation's run before all others. */
void run_put_first(const struct uuid *id) NONNULL;
/* Claims the conversation and loads its history. */
void claimed_agent_begin(struct claimed_agent *claimed, struct run_fixture *fixture,
                         const struct uuid *id) NONNULL;
/* The same for a new conversation whose answer's calls could not begin: no sandbox was to be had.
 */
void claimed_agent_begin_pending(struct claimed_agent *claimed, struct run_fixture *fixture,
                                 const char *script) NONNULL;
/* more: members of the start request, JSON. */
void claimed_agent_begin_pending_in(struct claimed_agent *claimed, struct run_fixture *fixture,
                                    const char *script, const char *more) NONNULL;
/* Deletes the conversation, so that it waits for no other test's run. */
void claimed_agent_end(struct claimed_agent *claimed) NONNULL;

/* A run in a thread of its own, as another worker's would be. */
struct background_run {
    struct run_fixture *fixture;
    struct uuid id;
    struct run_control control;
    pthread_t thread;
};
void background_run_start(struct background_run *run, struct run_fixture *fixture,
                          const struct uuid *id) NONNULL;
/* Waits until the run waits for its model's answer. */
void background_run_wait_for_model(struct background_run *run) NONNULL;
/* Waits for its end. */
void background_run_join(struct background_run *run) NONNULL;

/* The log as words: "SystemPrompt Message(user) S(stats) Action(terminal) …". */
void assert_log(struct run_fixture *fixture, const struct uuid *id, const char *expected) NONNULL;
/* The whole JSON of the newest event of that kind. */
void run_last_event(struct run_fixture *fixture, const struct uuid *id, const char *kind,
                    struct strbuf *out) NONNULL;
/* The row as it is: "status/wanted/leased". */
void assert_row(struct run_fixture *fixture, const struct uuid *id, const char *expected) NONNULL;

#endif
