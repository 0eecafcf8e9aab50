#include "runtime/docker/prealloc_refill.h"

#include "runtime/docker/docker.h"
#include "runtime/docker/home_volumes.h"
#include "runtime/docker/network.h"

int docker_refill(struct docker *docker, bool *is_full_out, struct error *err)
{
    size_t wanted = (size_t)docker->settings.n_prealloc;
    char name[PREALLOC_NAME_BYTES] = "";

    *is_full_out = false;
    if (prealloc_n_ready(docker->prealloc, PREALLOC_NETWORK) < wanted) {
        if (docker_make_network(docker, name, err) < 0)
            return -1;
        prealloc_add_ready(docker->prealloc, PREALLOC_NETWORK, name);
        return 0;
    }
    if (prealloc_n_ready(docker->prealloc, PREALLOC_HOME) < wanted) {
        if (docker_make_home(docker, name, err) < 0)
            return -1;
        prealloc_add_ready(docker->prealloc, PREALLOC_HOME, name);
        return 0;
    }
    *is_full_out = true;
    return 0;
}
