/*
 * What the stub of a sandbox keeps: for its server (stub_sandbox.c) and for what tests set and ask
 * (stub_control.c).
 */
#ifndef DEFT_TESTS_UNIT_WORKER_STUB_STATE_H
#define DEFT_TESTS_UNIT_WORKER_STUB_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/strbuf.h"

#define ACTIONS_MAX 1024

struct stub_action {
    char id[40];
    json_t *reply; /* NULL while it runs */
};

struct stub {
    struct lock lock; /* guards all below */
    struct condition changed;
    int listen_fd;
    char url[64];
    pthread_t thread;
    bool is_stopping;
    size_t n_threads;
    struct stub_action actions[ACTIONS_MAX];
    size_t n_actions;
    size_t n_runs;
    size_t n_running;
    size_t n_starts;
    size_t n_interrupts;
    size_t n_releases;
    size_t n_forgotten;
    size_t n_acknowledged;
    size_t n_doubts;
    size_t generation;
    bool is_hung;
    char *refusal;
    size_t n_commands;
    int command_exit_code;
    char *command_text;
    size_t n_directories;
    char directory[200]; /* of the newest such request */
    size_t n_readings;
    json_t *files;   /* the reply of /files/collect; NULL: {} */
    json_t *program; /* {method: members of its observation}; NULL: none */
    json_t *program_order;
    json_t *progress;             /* the reply to a request for it; NULL: {} */
    struct strbuf progress_query; /* of the newest such request */
    json_t *hook_answers;         /* {command: what it answers}; NULL: none */
    json_t *hook_orders;          /* [{"id", "order"}]; NULL: none */
    json_t *checkpoint;           /* the reply of /checkpoints/take; NULL: {} */
    json_t *restore; /* the observation of the tool "checkpoint"; NULL: without members */
    json_t *missing; /* ids of the next /checkpoints/missing; NULL: none */
    struct strbuf checkpoints;
};

/* A test's own formats are right. */
#define stub_json(...) json_build(&(struct error)ERROR_INIT, __VA_ARGS__)

/* The action of that id, or NULL. */
struct stub_action *stub_find_locked(struct stub *stub, const char *id) REQUIRES(stub -> lock);
/* Forgets all actions, as a new sandbox. */
void stub_forget_locked(struct stub *stub) REQUIRES(stub -> lock);

#endif
