#include "runtime/backend/backend.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/mem.h"

void seen_list_done(struct seen_list *list)
{
    mem_free(list->items);
    *list = (struct seen_list){.items = NULL};
}

struct seen_sandbox *seen_list_add(struct seen_list *list)
{
    list->items = mem_resize(list->items, (list->n + 1) * sizeof(list->items[0]));
    list->items[list->n] = (struct seen_sandbox){.state = SEEN_ENDED};
    return &list->items[list->n++];
}

void kept_names_done(struct kept_names *kept)
{
    mem_free(kept->networks);
    mem_free(kept->homes);
    *kept = (struct kept_names){.networks = NULL};
}

void kept_names_add_network(struct kept_names *kept, const char *name)
{
    kept->networks = mem_resize(kept->networks, (kept->n_networks + 1) * sizeof(kept->networks[0]));
    (void)snprintf(kept->networks[kept->n_networks++], BACKEND_NAME_BYTES, "%s", name);
}

void kept_names_add_home(struct kept_names *kept, const char *name)
{
    kept->homes = mem_resize(kept->homes, (kept->n_homes + 1) * sizeof(kept->homes[0]));
    (void)snprintf(kept->homes[kept->n_homes++], BACKEND_NAME_BYTES, "%s", name);
}

int backend_read_room(const char *path, struct backend_space *space_out, struct error *err)
{
    struct statvfs facts = {.f_bavail = 0};

    if (statvfs(path, &facts) < 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "the free space of the disk at %s cannot be read: %m", path);
    space_out->free_bytes = (int64_t)(facts.f_bavail * facts.f_frsize);
    /* File systems without a fixed number of inodes report none. */
    space_out->n_free_files = facts.f_files != 0 ? (int64_t)facts.f_favail : INT64_MAX;
    return 0;
}
