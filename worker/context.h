/*
 * State shared by all conversations of a worker: made by main.c, immutable except for members with
 * their own lock.
 *
 * Ownership: main() owns everything; others borrow it for the process's lifetime.
 */
#ifndef DEFT_WORKER_CONTEXT_H
#define DEFT_WORKER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/crash.h"
#include "base/crypto.h"
#include "base/secret.h"
#include "base/uuid.h"
#include "store/conversation/conversation_store.h"
#include "worker/webhooks/receivers.h"

struct catalogue;
struct db;
struct hints;
struct http;
struct llm;
struct delta_outbox;
struct sender;

struct worker_settings {
    struct secret database_url;
    struct secret secret_key;
    int64_t n_conversations;
    struct run_limits run_limits; /* per user, over all workers */
    int64_t stack_bytes;
    int64_t n_connections;
    const char *mode; /* local: only the host's administrator can reach this instance */
    const char *log_level;
    const char *runtime_url;
    const char *runtime_socket; /* "": over TCP */
    struct secret runtime_key;
    const char *sandbox_image;
    int64_t sandbox_start_ms;
    int64_t sandbox_check_ms;
    int64_t tool_timeout_ms;
    const char *llm_model;
    const char *llm_base_url;
    struct secret llm_key;
    int64_t llm_allow_private;
    int64_t model_outage_ms; /* 0: a run's end */
    int64_t budget_unpriced;
    int64_t budget_per_user_cents; /* 0: none */
    int64_t budget_per_day_cents;
    const char *ca_file; /* "": the system's authorities */
    const char *scripted_dir;
    const char *catalogue_dir;
    const char *catalogue_overrides; /* "": none */
    struct receiver_settings receivers[RECEIVERS_MAX];
    struct secret session_key;
    int64_t webhooks_allow_private;
    int64_t webhooks_timeout_ms;
    int64_t deferred_init;
    const char *crash_at;
};

struct worker_context {
    struct worker_settings settings;
    struct uuid owner; /* this process's id in leases, new at each start */
    struct keyring keyring;
    struct receivers receivers; /* of webhooks */
    struct db *db;              /* connection pool for conversations */
    struct db *lease_db;        /* one connection, so that heartbeats never wait for steps */
    struct db *grant_db;        /* a few, which are held while a server issues new tokens */
    struct catalogue *catalogue;
    struct http *http;
    struct llm *llm;
    struct hints *hints;
    struct delta_outbox *outbox; /* of answers being streamed */
    struct sender *sender;       /* delivers webhooks; NULL: no receivers */
    struct crash_points crash;
};

#endif
