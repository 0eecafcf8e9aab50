#include "runtime/docker/docker.h"

#include <stdio.h>

void docker_container_name(const struct docker *docker, const char *runtime_id,
                           char name[DOCKER_NAME_BYTES])
{
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-%s", docker->settings.instance, runtime_id);
}

void docker_workspace_name(const struct docker *docker, const char *home,
                           char name[DOCKER_NAME_BYTES])
{
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-ws-%s", docker->settings.instance, home);
}

void docker_journal_name(const struct docker *docker, const char *home,
                         char name[DOCKER_NAME_BYTES])
{
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-j-%s", docker->settings.instance, home);
}

bool docker_is_podman(struct docker *docker)
{
    bool is_podman = false;

    lock_take(&docker->lock);
    is_podman = docker->is_podman;
    lock_release(&docker->lock);
    return is_podman;
}
