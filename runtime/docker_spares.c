#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/docker_parts.h"
#include "runtime/subnet.h"
#include "runtime/tar.h"

/* A subnet may be taken by somebody else's network: another is tried. */
#define SUBNET_TRIES 8

static void random_id(char id[HOME_ID_BYTES])
{
    unsigned char bytes[(HOME_ID_BYTES - 1) / 2];

    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), id);
}

static int call(struct docker *docker, const char *method, const char *path, const json_t *body,
                json_t **reply_out, struct error *err)
{
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path, .body = body},
                       reply_out, err);
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

/* --- networks --- */

static json_t *create_network_body(const struct docker *docker, const char *id, const char *name,
                                   const char *subnet, struct error *err)
{
    json_auto_t *labels = docker_labels(docker->settings.instance, "network", err);
    json_t *body = NULL;
    char bridge[16] = "";

    if (labels == NULL)
        return NULL;
    (void)snprintf(bridge, sizeof(bridge), "dsb%s", id);
    /* Not internal: a sandbox may reach the internet; what else it may not reach, rules say. */
    body = json_build(err, "{s:s, s:s, s:b, s:b, s:O, s:{s:s, s:s}}", "Name", name, "Driver",
                      "bridge", "EnableIPv6", 0, "CheckDuplicate", 1, "Labels", labels, "Options",
                      "com.docker.network.bridge.name", bridge,
                      "com.docker.network.bridge.enable_icc", "false");
    if (body != NULL && subnet[0] != '\0')
        json_put(body, "IPAM", json_build(err, "{s:[{s:s}]}", "Config", "Subnet", subnet));
    return body;
}

static int try_network(struct docker *docker, const char *subnet, char name_out[SPARE_NAME_BYTES],
                       struct error *err)
{
    char id[HOME_ID_BYTES] = "";
    char name[SPARE_NAME_BYTES] = "";
    json_auto_t *body = NULL;

    random_id(id);
    (void)snprintf(name, sizeof(name), "%.40s-net-%s", docker->settings.instance, id);
    body = create_network_body(docker, id, name, subnet, err);
    if (body == NULL)
        return -1;
    /* Known before it exists, so that a sweep meanwhile does not take it for a leftover. */
    spares_hold(docker->spares, SPARE_NETWORK, name);
    if (call(docker, "POST", "/networks/create", body, NULL, err) < 0) {
        spares_forget(docker->spares, SPARE_NETWORK, name);
        return -1;
    }
    memcpy(name_out, name, sizeof(name));
    return 0;
}

int docker_make_network(struct docker *docker, char name_out[SPARE_NAME_BYTES], struct error *err)
{
    for (int i = 0; i < SUBNET_TRIES; i++) {
        char subnet[SUBNET_TEXT_BYTES] = "";

        if (subnet_random(docker->settings.subnets, subnet, err) < 0)
            return -1;
        if (try_network(docker, subnet, name_out, err) == 0)
            return 0;
        if (error_is_transient(err))
            return -1;
    }
    log_warning("subnet.not_found", LOG_STR("range", docker->settings.subnets), LOG_ERROR(err));
    return try_network(docker, "", name_out, err);
}

int docker_remove_network(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/networks/");
    percent_append(&path, name);
    if (call(docker, "DELETE", path.text, NULL, NULL, err) < 0 && err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "removing network %s", name);
    spares_forget(docker->spares, SPARE_NETWORK, name);
    return 0;
}

/* --- homes --- */

static int create_volume(struct docker *docker, const char *name, const char *role,
                         struct error *err)
{
    json_auto_t *labels = docker_labels(docker->settings.instance, role, err);
    json_auto_t *body = NULL;

    if (labels == NULL)
        return -1;
    body = json_build(err, "{s:s, s:O}", "Name", name, "Labels", labels);
    if (body == NULL)
        return -1;
    return call(docker, "POST", "/volumes/create", body, NULL, err);
}

/* Whatever the image says, the folders belong to the sandbox's user. */
static void append_home_archive(struct strbuf *archive)
{
    const struct tar_entry folders[] = {
        {.name = "workspace/", .mode = 0755, .owner = SANDBOX_UID},
        {.name = "workspace/project/", .mode = 0755, .owner = SANDBOX_UID},
        {.name = ".deft-j/", .mode = 0700, .owner = SANDBOX_UID},
    };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        tar_append_directory(archive, &folders[i]);
    tar_append_end(archive);
}

static int fill_home(struct docker *docker, const char *workspace, const char *journal,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    json_auto_t *body = docker_helper_body(docker->settings.instance, docker->empty_image,
                                           workspace, WORKSPACE_MOUNT, err);

    if (body == NULL)
        return -1;
    json_array_append_new(json_object_get(json_object_get(body, "HostConfig"), "Mounts"),
                          json_build(err, "{s:s, s:s, s:s, s:{s:b}}", "Type", "volume", "Source",
                                     journal, "Target", JOURNAL_MOUNT, "VolumeOptions", "NoCopy",
                                     1));
    append_home_archive(&archive);
    return docker_fill_volumes(docker, body, &archive, err);
}

int docker_make_home(struct docker *docker, char home_out[SPARE_NAME_BYTES], struct error *err)
{
    char home[HOME_ID_BYTES] = "";
    char workspace[DOCKER_NAME_BYTES] = "";
    char journal[DOCKER_NAME_BYTES] = "";

    random_id(home);
    docker_workspace_name(docker, home, workspace);
    docker_journal_name(docker, home, journal);
    spares_hold(docker->spares, SPARE_HOME, home);
    if (create_volume(docker, workspace, "workspace", err) < 0 ||
        create_volume(docker, journal, "journal", err) < 0 ||
        fill_home(docker, workspace, journal, err) < 0) {
        spares_forget(docker->spares, SPARE_HOME, home);
        return error_wrap(err, "making a workspace");
    }
    (void)snprintf(home_out, SPARE_NAME_BYTES, "%s", home);
    return 0;
}

static int remove_volume(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/volumes/");
    percent_append(&path, name);
    if (call(docker, "DELETE", path.text, NULL, NULL, err) < 0 && err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "removing volume %s", name);
    return 0;
}

int docker_remove_home(struct docker *docker, const char *home, struct error *err)
{
    char name[DOCKER_NAME_BYTES] = "";

    docker_workspace_name(docker, home, name);
    if (remove_volume(docker, name, err) < 0)
        return -1;
    docker_journal_name(docker, home, name);
    if (remove_volume(docker, name, err) < 0)
        return -1;
    spares_forget(docker->spares, SPARE_HOME, home);
    return 0;
}

/* --- keeping ready, sweeping --- */

int docker_refill(struct docker *docker, bool *is_full_out, struct error *err)
{
    size_t wanted = (size_t)docker->settings.n_spares;
    char name[SPARE_NAME_BYTES] = "";

    *is_full_out = false;
    if (spares_n_ready(docker->spares, SPARE_NETWORK) < wanted) {
        if (docker_make_network(docker, name, err) < 0)
            return -1;
        spares_give(docker->spares, SPARE_NETWORK, name);
        return 0;
    }
    if (spares_n_ready(docker->spares, SPARE_HOME) < wanted) {
        if (docker_make_home(docker, name, err) < 0)
            return -1;
        spares_give(docker->spares, SPARE_HOME, name);
        return 0;
    }
    *is_full_out = true;
    return 0;
}

static bool is_among(char (*names)[BACKEND_NAME_BYTES], size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(names[i], name))
            return true;
    }
    return false;
}

static int list_ours(struct docker *docker, const char *what, json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/%s?", what);
    engine_append_label_filter(&path, LABEL_INSTANCE, docker->settings.instance);
    return call(docker, "GET", path.text, NULL, reply_out, err);
}

/* A volume's home: what stands after "<instance>-ws-" or "<instance>-j-"; NULL for others. */
static const char *home_of_volume(const struct docker *docker, const char *name)
{
    const char *rest = name + strlen(docker->settings.instance);

    if (!text_starts_with(name, docker->settings.instance))
        return NULL;
    if (text_starts_with(rest, "-ws-"))
        return rest + strlen("-ws-");
    if (text_starts_with(rest, "-j-"))
        return rest + strlen("-j-");
    return NULL;
}

/* What is ours and neither ready nor handed out: a row answers for it, or nobody does. */
static json_t *find_unknown_networks(struct docker *docker, const json_t *networks)
{
    json_t *unknown = json_array();
    size_t i = 0;
    const json_t *network = NULL;

    json_array_foreach (networks, i, network) {
        const char *name = json_text_or(network, "Name", "");

        if (!spares_knows(docker->spares, SPARE_NETWORK, name))
            json_push(unknown, json_string(name));
    }
    return unknown;
}

static json_t *find_unknown_volumes(struct docker *docker, const json_t *volumes)
{
    json_t *unknown = json_array();
    size_t i = 0;
    const json_t *volume = NULL;

    json_array_foreach (volumes, i, volume) {
        const char *name = json_text_or(volume, "Name", "");
        const char *home = home_of_volume(docker, name);
        bool is_known = home == NULL ? text_equal(name, docker->action_volume)
                                     : spares_knows(docker->spares, SPARE_HOME, home);

        if (!is_known)
            json_push(unknown, json_string(name));
    }
    return unknown;
}

static void sweep_networks(struct docker *docker, const json_t *names,
                           const struct kept_names *kept)
{
    size_t i = 0;
    const json_t *item = NULL;

    json_array_foreach (names, i, item) {
        const char *name = json_string_value(item);
        struct error err = ERROR_INIT;

        if (is_among(kept->networks, kept->n_networks, name))
            continue;
        /* One that a container still uses goes the next time. */
        if (docker_remove_network(docker, name, &err) < 0)
            log_warning("network.left", LOG_STR("network", name), LOG_ERROR(&err));
        else
            log_info("network.swept", LOG_STR("network", name));
    }
}

static void sweep_volumes(struct docker *docker, const json_t *names, const struct kept_names *kept)
{
    size_t i = 0;
    const json_t *item = NULL;

    json_array_foreach (names, i, item) {
        const char *name = json_string_value(item);
        const char *home = home_of_volume(docker, name);
        struct error err = ERROR_INIT;

        if (home != NULL && is_among(kept->homes, kept->n_homes, home))
            continue;
        /* An older deft-action goes when its last sandbox has gone. */
        if (remove_volume(docker, name, &err) == 0)
            log_info("volume.swept", LOG_STR("volume", name));
        else if (err.code != ERROR_CONFLICT)
            log_warning("volume.left", LOG_STR("volume", name), LOG_ERROR(&err));
        else
            log_debug("volume.in_use", LOG_STR("volume", name), LOG_ERROR(&err));
    }
}

/* Requests that lost a race gave back what they had made: more than is wanted. */
/* One too many: what cannot go now is nobody's any more, and the next sweep tries again. */
static void drop_spare(struct docker *docker, enum spare_kind kind, const char *name)
{
    struct error err = ERROR_INIT;
    int rc = kind == SPARE_NETWORK ? docker_remove_network(docker, name, &err)
                                   : docker_remove_home(docker, name, &err);

    if (rc == 0)
        return;
    log_debug("spare.left", LOG_STR("name", name), LOG_ERROR(&err));
    spares_forget(docker->spares, kind, name);
}

static void trim(struct docker *docker)
{
    static const enum spare_kind kinds[] = {SPARE_NETWORK, SPARE_HOME};
    size_t wanted = (size_t)docker->settings.n_spares;
    char name[SPARE_NAME_BYTES] = "";

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        while (spares_n_ready(docker->spares, kinds[i]) > wanted &&
               spares_take(docker->spares, kinds[i], name))
            drop_spare(docker, kinds[i], name);
    }
}

/*
 * The order matters: what the engine has, then what is handed out, then what rows hold. A thing
 * moves only from the second to the third, so whoever is in neither is nobody's.
 */
int docker_tidy(struct docker *docker, const struct kept_source *source, struct error *err)
{
    CLEANUP(kept_names_done) struct kept_names kept = {.networks = NULL};
    json_auto_t *networks = NULL;
    json_auto_t *volumes = NULL;
    json_auto_t *unknown_networks = NULL;
    json_auto_t *unknown_volumes = NULL;

    if (list_ours(docker, "networks", &networks, err) < 0 ||
        list_ours(docker, "volumes", &volumes, err) < 0)
        return -1;
    unknown_networks = find_unknown_networks(docker, networks);
    unknown_volumes = find_unknown_volumes(docker, json_object_get(volumes, "Volumes"));
    if (source->load(source->context, &kept, err) < 0)
        return -1;
    sweep_networks(docker, unknown_networks, &kept);
    sweep_volumes(docker, unknown_volumes, &kept);
    trim(docker);
    return 0;
}

static int keep_nothing(void *context, struct kept_names *kept_out, struct error *err)
{
    (void)context;
    (void)kept_out;
    (void)err;
    return 0;
}

int docker_reap(struct docker *docker, struct error *err)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    const struct kept_source nobody = {.load = keep_nothing};

    if (docker_list(docker, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        if (docker_remove_container(docker, list.items[i].container_id, err) < 0)
            return -1;
    }
    spares_clear(docker->spares);
    docker->action_volume[0] = '\0';
    return docker_tidy(docker, &nobody, err);
}
