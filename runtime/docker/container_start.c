#include "runtime/docker/container_start.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/backend/failure_reason.h"
#include "runtime/docker/container.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/disk_limits.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/image_lookup.h"
#include "runtime/docker/log_demux.h"
#include "runtime/docker/network.h"
#include "store/runtime/runtime_store.h"

#define TAIL_MAX_BYTES 120
#define EXIT_CODE_KILLED 137
/* Reported for containers that ended while the engine was down. */
#define EXIT_CODE_UNKNOWN 255
/* All sandboxes share one user on the host; the pids limit applies to each of them. */
#define PODMAN_USER_PROCESSES 30000

struct container_start {
    struct docker *docker;
    const struct sandbox_config *order;
    char name[DOCKER_NAME_BYTES];
    char network[PREALLOC_NAME_BYTES];
    char container_id[72];
    char url[64];
    char image_id[BACKEND_IMAGE_BYTES];
    char init_key[CRYPTO_TOKEN_BYTES];
    struct log_demux output;
};

static int container_call(struct docker *docker, const char *method, const char *name,
                          const char *rest, json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/containers/%s%s", name, rest);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path.text}, reply_out,
                       err);
}

/* --- explaining failures --- */

/* Prefixes the engine's message with ours, if there is one. */
static int explain_engine(struct error *err)
{
    const char *words = failure_reason_explain(err->message);

    if (words != NULL)
        return error_wrap(err, "%s", words);
    return -1;
}

/* Adds the engine's error or, without one, the container's last output. */
static void explain_state(const json_t *state, const char *tail, struct error *why_out)
{
    json_int_t code = json_int_or(state, "ExitCode", -1);
    const char *fault = json_text_or(state, "Error", "");
    const char *said = fault[0] != '\0' ? fault : tail;
    const char *words = failure_reason_explain(said);

    if (json_bool_or(state, "OOMKilled", 0))
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ran out of memory and was ended");
    else if (text_equal(json_text_or(state, "Status", ""), "removing"))
        error_set(why_out, ERROR_UNAVAILABLE, "%s", RUNTIME_DETAIL_REMOVED);
    else if (words != NULL)
        error_set(why_out, ERROR_UNAVAILABLE, "%s: %s", words, said);
    else if (code == EXIT_CODE_KILLED)
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox was killed (exit code 137)");
    else if (code == EXIT_CODE_UNKNOWN && said[0] == '\0')
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ended when the engine or the host did");
    else
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ended with exit code %lld%s%s",
                  (long long)code, said[0] != '\0' ? ": " : "", said);
}

void docker_explain_end(struct docker *docker, const char *name, const char *tail,
                        struct error *why_out)
{
    json_auto_t *facts = NULL;
    struct error err = ERROR_INIT;

    if (container_call(docker, "GET", name, "/json", &facts, &err) == 0) {
        explain_state(json_object_get(facts, "State"), tail, why_out);
        return;
    }
    if (err.code == ERROR_NOT_FOUND)
        error_set(why_out, ERROR_UNAVAILABLE, "%s", RUNTIME_DETAIL_REMOVED);
    else
        error_set(why_out, ERROR_UNAVAILABLE, "the sandbox ended");
}

/* --- the steps --- */

static int take_network(struct container_start *launch, struct error *err)
{
    if (prealloc_take(launch->docker->prealloc, PREALLOC_NETWORK, launch->network))
        return 0;
    return docker_make_network(launch->docker, launch->network, err);
}

static int64_t cap_cpus(struct docker *docker, int64_t nano_cpus)
{
    int64_t most = 0;

    lock_take(&docker->lock);
    most = docker->n_cpus * 1000000000LL;
    lock_release(&docker->lock);
    return most > 0 && nano_cpus > most ? most : nano_cpus;
}

/*
 * Podman opens a profile's file where Docker takes its text, sets a limit of processes per user
 * that it may not exceed itself on some hosts, and does not support an owner of a tmpfs.
 */
static void suit_podman(struct docker_profile *profile)
{
    profile->seccomp_profile = profile->seccomp_path;
    profile->n_of_user = PODMAN_USER_PROCESSES;
    profile->is_for_podman = true;
}

static json_t *create_body(struct container_start *launch, struct error *err)
{
    struct docker *docker = launch->docker;
    struct docker_profile profile = docker->settings.profile;
    struct sandbox_config order = *launch->order;
    char workspace[DOCKER_NAME_BYTES] = "";
    char journal[DOCKER_NAME_BYTES] = "";
    const struct docker_names names = {.instance = docker->settings.instance,
                                       .network = launch->network,
                                       .action_volume = docker->action_volume,
                                       .workspace_volume = workspace,
                                       .journal_volume = journal,
                                       .init_key = launch->init_key};

    docker_workspace_name(docker, order.home, workspace);
    docker_journal_name(docker, order.home, journal);
    profile.layer_bytes = docker_layer_limit(docker);
    profile.nano_cpus = cap_cpus(docker, profile.nano_cpus);
    order.nano_cpus = cap_cpus(docker, order.nano_cpus);
    if (docker_is_podman(docker))
        suit_podman(&profile);
    return container_config_json(&profile, &names, &order, err);
}

static int post_create(struct container_start *launch, const json_t *body, struct error *err)
{
    json_auto_t *reply = NULL;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/containers/create?name=%s", launch->name);
    if (engine_call(&launch->docker->engine,
                    &(struct engine_request){.method = "POST", .path = path.text, .body = body},
                    &reply, err) < 0)
        return -1;
    (void)snprintf(launch->container_id, sizeof(launch->container_id), "%s",
                   json_text_or(reply, "Id", ""));
    return 0;
}

/* The image may have been removed since the check, and a container may be left from a crash. */
static int create(struct container_start *launch, struct error *err)
{
    json_auto_t *body = create_body(launch, err);

    if (body == NULL)
        return -1;
    if (post_create(launch, body, err) == 0)
        return 0;
    if (err->code == ERROR_CONFLICT) {
        if (docker_remove_container(launch->docker, launch->name, err) < 0)
            return -1;
        return post_create(launch, body, err);
    }
    if (err->code == ERROR_NOT_FOUND) {
        if (docker_pull_image(launch->docker, launch->order->image, err) < 0)
            return -1;
        return post_create(launch, body, err);
    }
    return explain_engine(err);
}

static bool is_ready_line(const char *line, size_t len)
{
    json_auto_t *said = NULL;
    struct error ignored = ERROR_INIT;

    if (len == 0 || line[0] != '{')
        return false;
    error_ignore(json_parse(line, len, &said, &ignored), "other lines are ignored");
    return text_equal(json_text_or(said, "event", ""), "ready");
}

static bool has_ready_line(const struct strbuf *text)
{
    const char *line = text->text;
    const char *end = strchr(line, '\n');

    while (end != NULL) {
        if (is_ready_line(line, (size_t)(end - line)))
            return true;
        line = end + 1;
        end = strchr(line, '\n');
    }
    return false;
}

/* The last line of output, for users. */
static void last_line(const struct strbuf *text, char tail[TAIL_MAX_BYTES])
{
    size_t end = text->len;
    size_t begin = 0;

    while (end > 0 && (text->text[end - 1] == '\n' || text->text[end - 1] == '\r'))
        end--;
    begin = end;
    while (begin > 0 && text->text[begin - 1] != '\n')
        begin--;
    if (end - begin >= TAIL_MAX_BYTES)
        end = begin + TAIL_MAX_BYTES - 1;
    memcpy(tail, text->text + begin, end - begin);
    tail[end - begin] = '\0';
}

/* Follows the log from its first byte: no polling, and no line is missed. */
static int wait_ready(struct container_start *launch, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    char tail[TAIL_MAX_BYTES] = "";
    const char *bytes = NULL;
    size_t len = 1;

    strbuf_appendf(&path, "/containers/%s/logs?stdout=1&stderr=1&follow=1", launch->container_id);
    if (engine_stream(&launch->docker->engine, path.text, launch->docker->settings.ready_ms, &call,
                      err) < 0)
        return -1;
    while (len > 0) {
        if (http_call_read(call, &bytes, &len, err) < 0)
            return error_wrap(err, "the sandbox did not get ready");
        log_demux_feed(&launch->output, bytes, len);
        if (has_ready_line(&launch->output.text))
            return 0;
    }
    last_line(&launch->output.text, tail);
    docker_explain_end(launch->docker, launch->container_id, tail, err);
    return -1;
}

static int learn_place(struct container_start *launch, struct error *err)
{
    json_auto_t *facts = NULL;
    const json_t *network = NULL;
    const char *address = NULL;

    if (container_call(launch->docker, "GET", launch->container_id, "/json", &facts, err) < 0)
        return -1;
    network = json_object_get(
        json_object_get(json_object_get(facts, "NetworkSettings"), "Networks"), launch->network);
    address = json_text_or(network, "IPAddress", "");
    if (address[0] == '\0') {
        docker_explain_end(launch->docker, launch->container_id, "", err);
        return -1;
    }
    (void)snprintf(launch->url, sizeof(launch->url), "http://%s:%d", address, SANDBOX_PORT);
    (void)snprintf(launch->image_id, sizeof(launch->image_id), "%s",
                   json_text_or(facts, "Image", ""));
    return 0;
}

static int run_steps(struct container_start *launch, struct error *err)
{
    if (docker_check_image(launch->docker, launch->order->image, err) < 0)
        return -1;
    if (take_network(launch, err) < 0)
        return error_wrap(err, "creating a network");
    if (create(launch, err) < 0)
        return -1;
    if (container_call(launch->docker, "POST", launch->container_id, "/start", NULL, err) < 0)
        return explain_engine(err);
    return wait_ready(launch, err) < 0 ? -1 : learn_place(launch, err);
}

/* Removes by name: the reply with the container's id may have been lost. */
static void undo(struct container_start *launch)
{
    struct prealloc *prealloc = launch->docker->prealloc;
    struct error err = ERROR_INIT;

    if (launch->network[0] == '\0')
        return;
    if (docker_remove_container(launch->docker, launch->name, &err) == 0) {
        prealloc_add_ready(prealloc, PREALLOC_NETWORK, launch->network);
        return;
    }
    log_warning("container.remove_failed", LOG_STR("runtime_id", launch->order->runtime_id),
                LOG_ERROR(&err));
    /* The container still uses it: the sweep removes both. */
    prealloc_forget(prealloc, PREALLOC_NETWORK, launch->network);
}

int docker_start_container(struct docker *docker, const struct sandbox_config *order,
                           struct started_sandbox *place_out, struct error *err)
{
    struct container_start launch = {.docker = docker, .order = order, .output = LOG_DEMUX_INIT};
    int64_t begun_ms = clock_monotonic_ms();
    int rc = 0;

    docker_container_name(docker, order->runtime_id, launch.name);
    crypto_random_token(launch.init_key);
    rc = run_steps(&launch, err);
    log_demux_done(&launch.output);
    if (rc < 0) {
        undo(&launch);
        return -1;
    }
    log_debug("container.ready", LOG_STR("runtime_id", order->runtime_id),
              LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
    (void)snprintf(place_out->container_id, sizeof(place_out->container_id), "%s",
                   launch.container_id);
    (void)snprintf(place_out->network, sizeof(place_out->network), "%s", launch.network);
    (void)snprintf(place_out->url, sizeof(place_out->url), "%s", launch.url);
    (void)snprintf(place_out->image_id, sizeof(place_out->image_id), "%s", launch.image_id);
    (void)snprintf(place_out->init_key, sizeof(place_out->init_key), "%s", launch.init_key);
    return 0;
}
