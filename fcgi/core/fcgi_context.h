/*
 * State shared by all requests of a process: its settings and its handles.
 *
 * Ownership: main() makes the only context, which outlives all requests.
 * Threading: all members may be used from any thread; mutable ones are atomic.
 */
#ifndef DEFT_FCGI_CORE_FCGI_CONTEXT_H
#define DEFT_FCGI_CORE_FCGI_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/secret.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"

struct catalogue;
struct crash_points;
struct db;
struct error;
struct hints;
struct http;
struct llm;
struct route;
struct uuid;
struct wait_slots;
struct wrong_keys;

struct fcgi_settings {
    struct run_limits run_limits;
    const char *socket_path;
    int64_t n_threads;
    const char *sandbox_socket_path; /* for calls forwarded to a sandbox; "": no separate socket */
    int64_t n_sandbox_threads;
    const char *stream_socket_path; /* for unbuffered bodies and replies; "": no separate socket */
    int64_t n_stream_threads;
    const char *probe_socket_path; /* for liveness probes; "": no separate socket */
    struct secret database_url;
    struct secret secret_key;
    const char *runtime_url;
    const char *runtime_socket; /* "": over TCP */
    struct secret runtime_key;
    const char *sandbox_image;
    int64_t sandbox_browser; /* 0: new sandboxes have no browser */
    int64_t sandbox_max_memory_bytes;
    int64_t sandbox_max_nano_cpus;
    int64_t sandbox_most;          /* limit of running sandboxes that a user requested directly */
    int64_t sandbox_grace_s;       /* time for a sandbox to become healthy */
    const char *default_runtime;   /* local or docker */
    int64_t budget_per_user_cents; /* 0: none */
    int64_t budget_per_day_cents;
    const char *model; /* "": the scripted model */
    const char *model_base_url;
    struct secret model_key;
    const char *scripted_dir; /* "": scripted models cannot be tested */
    const char *ca_file;      /* "": the system's certificate authorities */
    const char *catalogue_dir;
    const char *catalogue_overrides; /* "": none */
    const char *models_file;         /* names of models to choose from */
    int64_t answer_wait_ms;          /* for a conversation that is served as a model */
    const char *mode; /* local: only the administrator of the host reaches this instance */
    int64_t llm_allow_private;
    const char *app_url; /* of the app origin, without a slash at the end */
    const char *agent_url;
    const char *session_cookie;
    const char *cors_origins; /* web origins that may call, separated by spaces */
    int64_t deferred_init;    /* dormant until POST /api/init */
    struct secret init_key;   /* authorizes that call */
    const char *log_level;
    const char *crash_at;
};

struct fcgi_context {
    const struct fcgi_settings *settings;
    const struct route *const *routes; /* all tables, for their description; ends with NULL */
    struct db *db;
    struct catalogue *catalogue;
    struct http *http;
    struct llm *llm;     /* for tests of a model; conversations use the workers' */
    struct hints *hints; /* of db; the main thread sends them */
    struct crash_points *crash;
    struct keyring keyring;
    struct wrong_keys *wrong_keys; /* NULL: not counted */
    enum runtime_kind default_runtime;
    int64_t started_ms;               /* clock_monotonic_ms() */
    int64_t started_at_us;            /* clock_utc_us() */
    _Atomic(int64_t) *last_active_ms; /* newest call other than a probe */
    _Atomic(bool) *has_begun;         /* a deferred start is known to be over */
    struct wait_slots *wait_slots;    /* of the pool of threads that serves the request */
};

/*
 * The default model of a conversation: LLM_MODEL, or a scripted one. Valid for the process's
 * lifetime.
 */
const char *context_model(const struct fcgi_context *context) NONNULL MUST_CHECK;
/* True when no real model is configured. */
bool context_is_scripted(const struct fcgi_context *context) NONNULL MUST_CHECK;

#endif
