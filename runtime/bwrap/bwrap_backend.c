#include "runtime/bwrap/bwrap_backend.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/bwrap/box.h"
#include "runtime/bwrap/box_end.h"
#include "runtime/bwrap/box_start.h"
#include "runtime/bwrap/box_watch.h"
#include "runtime/bwrap/bwrap_host.h"
#include "runtime/bwrap/bwrap_image.h"
#include "runtime/bwrap/home_folder.h"
#include "runtime/bwrap/host_prepare.h"
#include "runtime/bwrap/process_tree.h"

static struct bwrap_host *bwrap_host_of(struct backend *backend)
{
    return (struct bwrap_host *)(void *)backend;
}

static const char *do_name(struct backend *backend)
{
    (void)backend;
    return "process";
}

static int do_check(struct backend *backend, struct error *err)
{
    struct bwrap_host *host = bwrap_host_of(backend);
    bool is_up = false;

    lock_take(&host->lock);
    is_up = host->state.code == ERROR_NONE;
    if (!is_up)
        error_set(err, ERROR_UNAVAILABLE, "sandboxes cannot be started now: %.180s",
                  host->state.message);
    lock_release(&host->lock);
    return is_up ? 0 : -1;
}

static int do_space(struct backend *backend, struct backend_space *space_out, struct error *err)
{
    return backend_read_room(bwrap_host_of(backend)->settings.folder, space_out, err);
}

/* --- homes: folders, created fast enough to need none in advance --- */

static bool do_take_ready_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES])
{
    return prealloc_take(bwrap_host_of(backend)->prealloc, PREALLOC_HOME, home_out);
}

static int do_take_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES],
                        struct error *err)
{
    if (do_take_ready_home(backend, home_out))
        return 0;
    return home_make_new(bwrap_host_of(backend), home_out, err);
}

static void do_home_is_kept(struct backend *backend, const char *home)
{
    prealloc_forget(bwrap_host_of(backend)->prealloc, PREALLOC_HOME, home);
}

static void do_network_is_kept(struct backend *backend, const char *network)
{
    (void)backend;
    (void)network;
}

static void do_give_home(struct backend *backend, const char *home)
{
    prealloc_add_ready(bwrap_host_of(backend)->prealloc, PREALLOC_HOME, home);
}

static int do_remove_home(struct backend *backend, const char *home, struct error *err)
{
    return home_remove(bwrap_host_of(backend), home, err);
}

static int do_refill(struct backend *backend, bool *is_full_out, struct error *err)
{
    (void)backend;
    (void)err;
    *is_full_out = true;
    return 0;
}

static int do_tidy(struct backend *backend, const struct kept_source *source, struct error *err)
{
    return homes_tidy(bwrap_host_of(backend), source, err);
}

/* --- life --- */

static const char *do_agent_build(struct backend *backend)
{
    return bwrap_host_of(backend)->agent_build;
}

static int do_start(struct backend *backend, const struct sandbox_config *order,
                    struct started_sandbox *place_out, struct error *err)
{
    return box_start(bwrap_host_of(backend), order, place_out, err);
}

static int do_remove(struct backend *backend, const char *runtime_id, const char *network,
                     struct error *err)
{
    (void)network;
    return boxes_end(bwrap_host_of(backend), runtime_id, err);
}

static int do_remove_container(struct backend *backend, const char *box, struct error *err)
{
    return box_end(bwrap_host_of(backend), box, err);
}

/* Freezes the control group if there is one, else stops each process by signal. */
static int do_pause(struct backend *backend, const char *box, struct error *err)
{
    struct bwrap_host *host = bwrap_host_of(backend);
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open(host, box, &pidfd, &pid, err) < 0)
        return -1;
    if (cgroup_has_freezer(&host->cgroups, box))
        return cgroup_freeze(&host->cgroups, box, err);
    return process_tree_stop(pid, err);
}

static int do_resume(struct backend *backend, const char *box, struct error *err)
{
    struct bwrap_host *host = bwrap_host_of(backend);
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open(host, box, &pidfd, &pid, err) < 0)
        return -1;
    if (cgroup_has_freezer(&host->cgroups, box))
        return cgroup_thaw(&host->cgroups, box, err);
    return process_tree_continue(pid, err);
}

static int do_is_paused(struct backend *backend, const char *box, bool *is_paused_out,
                        struct error *err)
{
    struct bwrap_host *host = bwrap_host_of(backend);
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open(host, box, &pidfd, &pid, err) < 0)
        return -1;
    *is_paused_out = box_is_paused(host, box, pid);
    return 0;
}

static void do_explain_end(struct backend *backend, const char *box, struct error *why_out)
{
    box_explain(bwrap_host_of(backend), box, why_out);
}

static int do_list(struct backend *backend, struct seen_list *list_out, struct error *err)
{
    return box_list(bwrap_host_of(backend), list_out, err);
}

static int do_is_at_rest(struct backend *backend, const char *box, bool *is_at_rest_out,
                         struct error *err)
{
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};
    CLEANUP(fd_close) int pidfd = -1;
    pid_t pid = 0;

    if (box_open(bwrap_host_of(backend), box, &pidfd, &pid, err) < 0 ||
        process_tree_read(pid, &tree, err) < 0)
        return -1;
    *is_at_rest_out = process_tree_is_at_rest(&tree);
    return 0;
}

/* --- images: only one, the configured tree or the host's files --- */

static int do_find_image(struct backend *backend, const char *image, struct seen_image *seen_out,
                         struct error *err)
{
    struct bwrap_host *host = bwrap_host_of(backend);
    struct error why = ERROR_INIT;

    if (bwrap_image_check(host, image, &why) < 0)
        return error_set(err, ERROR_NOT_FOUND, "%s", why.message);
    *seen_out = (struct seen_image){.size_bytes = 0};
    (void)snprintf(seen_out->id, sizeof(seen_out->id), "%s", bwrap_image_id(host));
    return 0;
}

static int do_build(struct backend *backend, const struct image_build_request *order,
                    char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err)
{
    (void)backend;
    (void)order;
    (void)said;
    image_id[0] = '\0';
    return error_set(err, ERROR_INVALID,
                     "sandboxes run as processes of the host (DEFT_RUNTIME=process): images need a "
                     "container engine");
}

static void do_stop_building(struct backend *backend)
{
    (void)backend;
}

static int do_remove_image(struct backend *backend, const char *image, struct error *err)
{
    (void)backend;
    (void)image;
    (void)err;
    return 0;
}

/* --- following --- */

static void do_follow(struct backend *backend, const struct backend_event_sink *sink)
{
    box_follow_events(bwrap_host_of(backend), sink);
}

static void do_stop_following(struct backend *backend)
{
    box_stop_following(bwrap_host_of(backend));
}

/* The kernel always responds. */
static void do_ping(struct backend *backend)
{
    (void)backend;
}

static int do_remove_all(struct backend *backend, struct error *err)
{
    struct bwrap_host *host = bwrap_host_of(backend);
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    CLEANUP(strbuf_done) struct strbuf boxes = STRBUF_INIT;

    strbuf_appendf(&boxes, "%s/boxes", host->settings.folder);
    if (access(boxes.text, F_OK) < 0)
        return 0;
    if (box_list(host, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        if (box_end(host, list.items[i].container_id, err) < 0)
            return -1;
    }
    return bwrap_folder_remove(host->settings.folder, err);
}

static void do_free(struct backend *backend)
{
    struct bwrap_host *host = bwrap_host_of(backend);

    for (size_t i = 0; i < host->n_watched; i++)
        fd_close(&host->watched[i].pidfd);
    mem_free(host->watched);
    fd_close(&host->wake_fd);
    cgroups_remove(&host->cgroups);
    prealloc_free(host->prealloc);
    lock_done(&host->lock);
    mem_free(host);
}

static const struct backend_functions process_functions = {
    .name = do_name,
    .check = do_check,
    .space = do_space,
    .take_ready_home = do_take_ready_home,
    .take_home = do_take_home,
    .home_is_kept = do_home_is_kept,
    .network_is_kept = do_network_is_kept,
    .give_home = do_give_home,
    .agent_build = do_agent_build,
    .start = do_start,
    .remove = do_remove,
    .remove_home = do_remove_home,
    .pause = do_pause,
    .resume = do_resume,
    .is_paused = do_is_paused,
    .explain_end = do_explain_end,
    .list = do_list,
    .is_at_rest = do_is_at_rest,
    .find_image = do_find_image,
    .build = do_build,
    .stop_building = do_stop_building,
    .remove_image = do_remove_image,
    .remove_container = do_remove_container,
    .tidy = do_tidy,
    .refill = do_refill,
    .follow = do_follow,
    .stop_following = do_stop_following,
    .ping = do_ping,
    .remove_all = do_remove_all,
    .free = do_free,
};

static int check_settings(const struct bwrap_settings *settings, struct error *err)
{
    if (settings->folder[0] != '/')
        return error_set(err, ERROR_INVALID, "DEFT_PROCESS_DIR: an absolute path is needed");
    if (settings->root[0] != '\0' && settings->root[0] != '/')
        return error_set(err, ERROR_INVALID, "DEFT_PROCESS_ROOT: an absolute path is needed");
    if (!text_equal(settings->network, "none") && !text_equal(settings->network, "host"))
        return error_set(err, ERROR_INVALID, "DEFT_PROCESS_NETWORK: none or host");
    if (settings->cgroups[0] != '/' && !text_equal(settings->cgroups, "none"))
        return error_set(err, ERROR_INVALID,
                         "DEFT_PROCESS_CGROUPS: an absolute path is needed, or none");
    return 0;
}

int bwrap_backend_new(const struct bwrap_settings *settings, struct backend **backend_out,
                      struct error *err)
{
    struct bwrap_host *host = NULL;

    if (check_settings(settings, err) < 0)
        return -1;
    host = NEW(struct bwrap_host);
    host->backend.functions = &process_functions;
    host->settings = *settings;
    host->prealloc = prealloc_new();
    host->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lock_init(&host->lock);
    error_set(&host->state, ERROR_UNAVAILABLE, "bubblewrap has not been checked yet");
    if (!text_equal(settings->cgroups, "none"))
        cgroups_find(&host->cgroups, settings->cgroups, settings->instance);
    if (host_name_agent_build(host, err) < 0) {
        do_free(&host->backend);
        return -1;
    }
    *backend_out = &host->backend;
    return 0;
}
