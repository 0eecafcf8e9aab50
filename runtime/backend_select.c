#include "runtime/backend_select.h"

#include "base/error.h"
#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/bwrap/bwrap_backend.h"
#include "runtime/core/service.h"
#include "runtime/docker/docker_backend.h"

int backend_select_check(const struct runtime_settings *settings, struct error *err)
{
    if (runtime_has_processes(settings) || text_equal(settings->backend, "docker"))
        return 0;
    return error_set(err, ERROR_INVALID, "DEFT_RUNTIME: must be docker or process");
}

/* Copies the settings that both back ends share. */
static struct bwrap_settings shared_settings(const struct runtime_settings *settings)
{
    const struct docker_profile *profile = &settings->docker.profile;
    struct bwrap_settings filled = settings->process;

    filled.instance = settings->docker.instance;
    filled.image = settings->image;
    filled.action_binary = settings->docker.action_binary;
    filled.ca_bundle = settings->docker.ca_bundle;
    filled.seccomp_profile = profile->seccomp_profile;
    filled.ready_ms = settings->docker.ready_ms;
    filled.memory_bytes = profile->memory_bytes;
    filled.nano_cpus = profile->nano_cpus;
    filled.n_pids = profile->n_pids;
    filled.n_files = profile->n_files;
    filled.oom_score_adj = profile->oom_score_adj;
    filled.tmp_bytes = profile->tmp_bytes;
    filled.shm_bytes = profile->shm_bytes;
    filled.disk_bytes = profile->disk_bytes;
    return filled;
}

int backend_select_open(const struct runtime_settings *settings, struct http *http,
                        struct backend **backend_out, struct error *err)
{
    const struct bwrap_settings filled = shared_settings(settings);
    struct docker_settings docker = settings->docker;

    if (runtime_has_processes(settings))
        return bwrap_backend_new(&filled, backend_out, err);
    docker.own_image = settings->image;
    return docker_backend_new(&docker, http, backend_out, err);
}

int backend_select_end_all(struct backend *backend, struct error *err)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};

    if (backend->functions->list(backend, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        if (backend->functions->remove_container(backend, list.items[i].container_id, err) < 0)
            return -1;
    }
    return 0;
}
