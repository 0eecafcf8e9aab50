/*
 * The runtime service's context, borrowed by every thread.
 *
 * Ownership: main() creates and releases it.
 * Threading: read-only after start, except the members under the lock.
 */
#ifndef DEFT_RUNTIME_CORE_SERVICE_H
#define DEFT_RUNTIME_CORE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/secret.h"
#include "runtime/bwrap/bwrap_settings.h"
#include "runtime/core/start_spec.h"
#include "runtime/docker/docker_settings.h"

struct backend;
struct build_queue;
struct db;
struct egress;
struct runtime_locks;
struct start_queue;
struct http;
struct runtime_metrics;
struct warm_pool;
struct reconcile_queue;
struct egress_denials;
struct wrong_keys;

struct runtime_settings {
    struct secret database_url;
    struct secret root_key;
    struct secret api_key;
    struct secret admin_key;
    struct secret admin_password;
    const char *listen;
    const char *app_url;
    const char *agent_url;
    int64_t tenant_runtimes;
    int64_t tenant_images;
    int64_t may_build;
    int64_t build_max_bytes;
    int64_t build_max_unpacked_bytes;
    int64_t warm_least;
    int64_t warm_most;
    const char *image;
    const char *egress;
    const char *egress_allow;
    const char *seccomp_path;
    const char *log_level;
    int64_t n_threads;
    int64_t n_starters;
    int64_t orphan_grace_ms;
    int64_t reconcile_ms;
    int64_t renew_after_ms;
    int64_t free_bytes;
    int64_t n_free_files;
    int64_t idle_s;
    int64_t dead_s;
    int64_t stop_after_ms;
    int64_t max_session_s;
    int64_t has_network_rules;
    int64_t resolver_port;
    int64_t max_memory_bytes;
    int64_t max_nano_cpus;
    const char *backend;
    struct docker_settings docker;
    struct bwrap_settings process;
};

/* Whether sandboxes are processes of this host rather than containers. */
bool runtime_has_processes(const struct runtime_settings *settings) NONNULL MUST_CHECK;

struct service {
    const struct runtime_settings *settings;
    struct db *db;
    struct backend *backend;
    struct build_queue *build_queue;
    struct http *http;
    struct runtime_locks *locks;
    struct start_queue *starts;
    struct reconcile_queue *reconcile_queue;
    struct warm_pool *pool;
    struct runtime_metrics *metrics;
    struct egress_denials *denials;
    struct egress *egress;
    struct keyring keyring;
    struct wrong_keys *wrong_keys;
    struct start_spec_limits limits;
    bool is_disk_low;         /* at the last check; used by the reconciler only */
    struct lock lock;         /* guards all below */
    struct error rules_state; /* ERROR_NONE: the rules are loaded, or not used */
};

/* ERROR_UNAVAILABLE with the reason if no sandbox can be started now. */
int service_check(struct service *service, struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAVAILABLE with a readable message if the disk has too little room for another sandbox. */
int service_check_space(struct service *service, struct error *err) NONNULL MUST_CHECK;
/* True if a thread holds the runtime's lock or its start is queued or in progress. */
bool service_is_busy(const struct service *service, const char *id) NONNULL MUST_CHECK;
void service_set_rules_state(struct service *service, const struct error *state) NONNULL;

#endif
