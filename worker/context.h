/*
 * What all conversations of a worker share: made by main.c, immutable but for what locks itself.
 *
 * Ownership: main() owns everything; others borrow for as long as the process lives.
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

struct db;
struct hints;
struct http;
struct llm;
struct outbox;
struct sender;

struct worker_settings {
    struct secret database_url;
    struct secret secret_key;
    int64_t n_conversations;
    struct run_limits run_limits; /* of one user, over all workers */
    int64_t stack_bytes;
    int64_t n_connections;
    const char *mode; /* local: only the administrator of the host reaches this instance */
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
    const char *ca_file; /* "": the system's authorities */
    const char *scripted_dir;
    struct receiver_settings receivers[RECEIVERS_MAX];
    struct secret session_key;
    int64_t webhooks_allow_private;
    int64_t deferred_init;
    const char *crash_at;
};

struct worker_context {
    struct worker_settings settings;
    struct uuid owner; /* this process's name in leases, new at each start */
    struct keyring keyring;
    struct receivers receivers; /* who is told of conversations */
    struct db *db;              /* the conversations' connections */
    struct db *lease_db;        /* one connection, so that a heartbeat never waits behind a step */
    struct http *http;
    struct llm *llm;
    struct hints *hints;
    struct outbox *outbox; /* of answers under way */
    struct sender *sender; /* tells the receivers; NULL: there are none */
    struct crash_points crash;
};

#endif
