#include "runtime/docker/container_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/shared_objects.h"

#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 2000
#define PING_TIMEOUT_MS 4000
#define LINE_MAX_BYTES (1024UL * 1024)

struct state_name {
    const char *name;
    enum seen_state state;
};

static const struct state_name state_names[] = {
    {"created", SEEN_CREATED},
    {"running", SEEN_RUNNING},
    {"restarting", SEEN_RUNNING},
    {"paused", SEEN_PAUSED},
};

struct engine_event {
    const char *action;
    enum backend_event_kind kind;
};

static const struct engine_event event_names[] = {
    {"die", BACKEND_EVENT_ENDED},         {"destroy", BACKEND_EVENT_ENDED},
    {"oom", BACKEND_EVENT_OUT_OF_MEMORY}, {"pause", BACKEND_EVENT_PAUSED},
    {"unpause", BACKEND_EVENT_UNPAUSED},
};

/* --- listing --- */

static enum seen_state state_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(state_names); i++) {
        if (text_equal(state_names[i].name, name))
            return state_names[i].state;
    }
    return SEEN_ENDED;
}

/* The volume of its deft-action is named after the content. */
static bool is_outdated(const struct docker *docker, const json_t *container)
{
    const json_t *mount = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(container, "Mounts"), i, mount) {
        if (text_equal(json_text_or(mount, "Destination", ""), ACTION_MOUNT))
            return !text_equal(json_text_or(mount, "Name", ""), docker->action_volume);
    }
    return false;
}

static void list_add(const struct docker *docker, struct seen_list *list, const json_t *container)
{
    struct seen_sandbox *seen = seen_list_add(list);

    (void)snprintf(seen->runtime_id, sizeof(seen->runtime_id), "%s",
                   json_text_or(json_object_get(container, "Labels"), LABEL_RUNTIME, ""));
    (void)snprintf(seen->container_id, sizeof(seen->container_id), "%s",
                   json_text_or(container, "Id", ""));
    seen->state = state_of(json_text_or(container, "State", ""));
    seen->created_at_s = json_int_or(container, "Created", 0);
    seen->is_outdated = is_outdated(docker, container);
}

int docker_list_containers(struct docker *docker, struct seen_list *list_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    json_auto_t *reply = NULL;
    const json_t *container = NULL;
    size_t i = 0;

    strbuf_append(&path, "/containers/json?all=1&");
    engine_append_label_filter(&path, LABEL_INSTANCE, docker->settings.instance);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "GET", .path = path.text},
                    &reply, err) < 0)
        return error_wrap(err, "listing containers");
    json_array_foreach (reply, i, container)
        list_add(docker, &list, container);
    *list_out = list;
    list = (struct seen_list){.items = NULL};
    return 0;
}

/* --- following --- */

static bool is_stopping(struct docker *docker)
{
    bool is = false;

    lock_take(&docker->lock);
    is = docker->is_stopping;
    lock_release(&docker->lock);
    return is;
}

static void set_state(struct docker *docker, const struct error *state)
{
    lock_take(&docker->lock);
    docker->state = *state;
    lock_release(&docker->lock);
}

static void pause_until_retry(struct docker *docker, int64_t delay_ms)
{
    int64_t deadline_ms = clock_monotonic_ms() + delay_ms;
    bool has_time = true;

    lock_take(&docker->lock);
    while (!docker->is_stopping && has_time)
        has_time = condition_wait_until(&docker->stop_wanted, &docker->lock, deadline_ms);
    lock_release(&docker->lock);
}

/* Publishes the call for a stop to cancel; false if the stop came first. */
static bool publish_watch(struct docker *docker, struct http_call *call)
{
    bool may_go_on = false;

    lock_take(&docker->lock);
    may_go_on = !docker->is_stopping;
    docker->watch = may_go_on ? call : NULL;
    lock_release(&docker->lock);
    return may_go_on;
}

static void unpublish_watch(struct docker *docker)
{
    lock_take(&docker->lock);
    docker->watch = NULL;
    lock_release(&docker->lock);
}

static void report_event(const json_t *message, const struct backend_event_sink *sink)
{
    const json_t *actor = json_object_get(message, "Actor");
    const json_t *attributes = json_object_get(actor, "Attributes");
    const char *action = json_text_or(message, "Action", "");
    struct backend_event event = {.kind = BACKEND_EVENT_N_KINDS};

    for (size_t i = 0; i < ARRAY_SIZE(event_names); i++) {
        if (text_equal(event_names[i].action, action))
            event.kind = event_names[i].kind;
    }
    if (event.kind == BACKEND_EVENT_N_KINDS)
        return;
    (void)snprintf(event.runtime_id, sizeof(event.runtime_id), "%s",
                   json_text_or(attributes, LABEL_RUNTIME, ""));
    (void)snprintf(event.container_id, sizeof(event.container_id), "%s",
                   json_text_or(actor, "ID", ""));
    event.exit_code = strtol(json_text_or(attributes, "exitCode", "-1"), NULL, 10);
    if (event.runtime_id[0] != '\0')
        sink->event(sink->context, &event);
}

static void report_lines(struct strbuf *pending, const struct backend_event_sink *sink)
{
    const char *newline = memchr(pending->text, '\n', pending->len);

    while (newline != NULL) {
        size_t len = (size_t)(newline - pending->text);
        json_auto_t *message = NULL;
        struct error err = ERROR_INIT;

        if (json_parse(pending->text, len, &message, &err) == 0)
            report_event(message, sink);
        else if (len > 1)
            log_warning("engine.event_unreadable", LOG_ERROR(&err));
        strbuf_remove_head(pending, len + 1);
        newline = memchr(pending->text, '\n', pending->len);
    }
}

static void read_events(struct http_call *call, const struct backend_event_sink *sink,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf pending = STRBUF_INIT;
    const char *bytes = NULL;
    size_t len = 1;

    while (len > 0) {
        if (http_call_read(call, &bytes, &len, err) < 0) {
            error_wrap(err, "the connection to the container engine was lost");
            return;
        }
        strbuf_append_bytes(&pending, bytes, len);
        report_lines(&pending, sink);
        if (pending.len > LINE_MAX_BYTES)
            strbuf_reset(&pending);
    }
    error_set(err, ERROR_UNAVAILABLE, "the connection to the container engine was lost");
}

/* Prepares the engine and reads events until the stream breaks; err says why. */
static void follow_once(struct docker *docker, const struct backend_event_sink *sink,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct error fine = ERROR_INIT;

    /* From a second ago, so that no event is missed before the list that `up` triggers. */
    strbuf_appendf(&path, "/events?since=%lld&", (long long)(clock_utc_us() / 1000000 - 1));
    engine_append_label_filter(&path, LABEL_INSTANCE, docker->settings.instance);
    if (docker_make_shared_objects(docker, err) < 0)
        return;
    if (engine_stream(&docker->engine, path.text, 0, &call, err) < 0)
        return;
    if (!publish_watch(docker, call))
        return;
    set_state(docker, &fine);
    log_info("engine.connected", LOG_STR("socket", docker->settings.socket));
    sink->up(sink->context);
    read_events(call, sink, err);
    unpublish_watch(docker);
}

void docker_follow(struct docker *docker, const struct backend_event_sink *sink)
{
    int64_t delay_ms = RETRY_FIRST_MS;

    while (!is_stopping(docker)) {
        struct error err = ERROR_INIT;
        int64_t begun_ms = clock_monotonic_ms();

        follow_once(docker, sink, &err);
        if (is_stopping(docker))
            return;
        set_state(docker, &err);
        sink->down(sink->context, &err);
        delay_ms = clock_monotonic_ms() - begun_ms > RETRY_MAX_MS ? RETRY_FIRST_MS : 2 * delay_ms;
        if (delay_ms > RETRY_MAX_MS)
            delay_ms = RETRY_MAX_MS;
        pause_until_retry(docker, delay_ms);
    }
}

void docker_stop_following(struct docker *docker)
{
    lock_take(&docker->lock);
    docker->is_stopping = true;
    if (docker->watch != NULL)
        http_cancel(docker->watch);
    condition_wake_all(&docker->stop_wanted);
    lock_release(&docker->lock);
}

/* Events are rare, so a hung engine would look like an idle one. */
void docker_ping(struct docker *docker)
{
    struct error err = ERROR_INIT;

    if (engine_call(&docker->engine,
                    &(struct engine_request){
                        .method = "HEAD", .path = "/_ping", .timeout_ms = PING_TIMEOUT_MS},
                    NULL, &err) == 0)
        return;
    log_warning("engine.ping_failed", LOG_ERROR(&err));
    lock_take(&docker->lock);
    if (docker->watch != NULL)
        http_cancel(docker->watch);
    lock_release(&docker->lock);
}
