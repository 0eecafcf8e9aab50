#include "sandbox/bash/bash_events.h"

#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"

struct bash_event {
    int64_t number; /* ascending over all events; where pages begin */
    char scope[BASH_SCOPE_BYTES];
    enum bash_event_kind kind;
    char id[UUID_HEX_BYTES];
    char command_id[UUID_HEX_BYTES];
    int64_t order;
    int64_t stamp_us;
    size_t bytes;
    json_t *json;
    TAILQ_ENTRY(bash_event) link;
};

TAILQ_HEAD(bash_event_list, bash_event);

struct bash_events {
    struct bash_event_list list; /* oldest first */
    int64_t last_number;
    int64_t last_us;
    size_t n;
    size_t bytes;
    struct bash_listener listener;
};

struct bash_events *bash_events_new(void)
{
    struct bash_events *events = NEW(struct bash_events);

    TAILQ_INIT(&events->list);
    return events;
}

void bash_events_listen(struct bash_events *events, const struct bash_listener *listener)
{
    events->listener = *listener;
}

static void tell_listener(const struct bash_events *events)
{
    if (events->listener.added != NULL)
        events->listener.added(events->listener.owner);
}

static void remove_event(struct bash_events *events, struct bash_event *event)
{
    TAILQ_REMOVE(&events->list, event, link);
    events->n--;
    events->bytes -= event->bytes;
    json_decref(event->json);
    mem_free(event);
}

void bash_events_free(struct bash_events *events)
{
    if (events == NULL)
        return;
    while (!TAILQ_EMPTY(&events->list))
        remove_event(events, TAILQ_FIRST(&events->list));
    mem_free(events);
}

/* Timestamps never decrease, so events are ordered by time. */
static struct bash_event *add_event(struct bash_events *events, const char *scope,
                                    enum bash_event_kind kind, size_t bytes)
{
    struct bash_event *event = NEW(struct bash_event);
    struct uuid id = uuid_random();
    int64_t now_us = clock_utc_us();

    memcpy(event->scope, scope, strnlen(scope, BASH_SCOPE_BYTES - 1));
    event->kind = kind;
    uuid_to_hex(&id, event->id);
    event->bytes = bytes + sizeof(*event);
    event->number = ++events->last_number;
    event->stamp_us = now_us > events->last_us ? now_us : events->last_us + 1;
    events->last_us = event->stamp_us;
    event->json = json_object();
    TAILQ_INSERT_TAIL(&events->list, event, link);
    events->n++;
    events->bytes += event->bytes;
    while (TAILQ_FIRST(&events->list) != event &&
           (events->n > MAX_BASH_EVENTS || events->bytes > MAX_BASH_EVENT_BYTES))
        remove_event(events, TAILQ_FIRST(&events->list));
    return event;
}

static void put_identity(const struct bash_event *event)
{
    char stamp[CLOCK_TEXT_BYTES];

    clock_format_z(event->stamp_us, stamp);
    json_put_text(event->json, "id", event->id);
    json_put_text(event->json, "timestamp", stamp);
}

void bash_events_add_command(struct bash_events *events, const struct bash_spec *spec,
                             char id_out[UUID_HEX_BYTES], json_t **json_out)
{
    struct bash_event *event = add_event(events, spec->scope, BASH_COMMAND, strlen(spec->command));

    json_put_text(event->json, "command", spec->command);
    if (spec->cwd[0] != '\0')
        json_put_text(event->json, "cwd", spec->cwd);
    else
        json_put(event->json, "cwd", json_null());
    json_put(event->json, "timeout", json_integer(spec->timeout_s));
    put_identity(event);
    json_put_text(event->json, "kind", "BashCommand");
    memcpy(id_out, event->id, UUID_HEX_BYTES);
    *json_out = json_incref(event->json);
    tell_listener(events);
}

static void put_stream(json_t *json, const char *name, const char *text, size_t len)
{
    if (len > 0)
        json_put(json, name, json_text(text, len));
    else
        json_put(json, name, json_null());
}

json_t *bash_events_add_output(struct bash_events *events, const struct bash_output *output)
{
    struct bash_event *event =
        add_event(events, output->scope, BASH_OUTPUT, output->out_len + output->err_len);

    memcpy(event->command_id, output->command_id, UUID_HEX_BYTES);
    event->order = output->order;
    put_identity(event);
    json_put_text(event->json, "command_id", output->command_id);
    json_put(event->json, "order", json_integer(output->order));
    if (output->has_exit_code)
        json_put(event->json, "exit_code", json_integer(output->exit_code));
    else
        json_put(event->json, "exit_code", json_null());
    put_stream(event->json, "stdout", output->out, output->out_len);
    put_stream(event->json, "stderr", output->err, output->err_len);
    json_put_text(event->json, "kind", "BashOutput");
    tell_listener(events);
    return json_incref(event->json);
}

static bool matches(const struct bash_event *event, const struct bash_query *query)
{
    if (!text_equal(event->scope, query->scope))
        return false;
    if (query->kind != BASH_ANY && event->kind != query->kind)
        return false;
    if (query->command_id[0] != '\0' && !text_equal(event->command_id, query->command_id))
        return false;
    if (event->stamp_us < query->since_us || event->stamp_us >= query->before_us)
        return false;
    return event->kind != BASH_OUTPUT || event->order > query->order_above;
}

bool bash_events_newest_fits(const struct bash_events *events, const struct bash_query *query)
{
    const struct bash_event *newest = TAILQ_LAST(&events->list, bash_event_list);

    return newest != NULL && matches(newest, query);
}

static bool is_before_page(const struct bash_event *event, const struct bash_query *query)
{
    if (query->page < 0)
        return false;
    return query->newest_first ? event->number > query->page : event->number < query->page;
}

json_t *bash_events_search(const struct bash_events *events, const struct bash_query *query)
{
    CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
    json_t *body = json_object();
    json_t *items = json_array();
    const struct bash_event *event = query->newest_first
                                         ? TAILQ_LAST(&events->list, bash_event_list)
                                         : TAILQ_FIRST(&events->list);

    for (; event != NULL; event = query->newest_first ? TAILQ_PREV(event, bash_event_list, link)
                                                      : TAILQ_NEXT(event, link)) {
        if (is_before_page(event, query) || !matches(event, query))
            continue;
        if (json_array_size(items) == query->limit) {
            strbuf_appendf(&page, "%lld", (long long)event->number);
            break;
        }
        json_push(items, json_incref(event->json));
    }
    json_put(body, "items", items);
    json_put(body, "next_page_id", page.len > 0 ? json_text_of(page.text) : json_null());
    return body;
}

json_t *bash_events_get(const struct bash_events *events, const char *scope, const char *id)
{
    const struct bash_event *event = NULL;

    TAILQ_FOREACH (event, &events->list, link) {
        if (text_equal(event->id, id) && text_equal(event->scope, scope))
            return json_incref(event->json);
    }
    return NULL;
}

static void append_stream(struct strbuf *out, const struct bash_event *event, const char *name)
{
    const json_t *text = json_object_get(event->json, name);

    if (json_is_string(text))
        strbuf_append_bytes(out, json_string_value(text), json_string_length(text));
}

json_t *bash_events_join(const struct bash_events *events, const char *scope,
                         const char *command_id, const json_t *last)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    json_t *joined = json_object();
    const struct bash_event *event = NULL;

    TAILQ_FOREACH (event, &events->list, link) {
        if (!text_equal(event->command_id, command_id) || !text_equal(event->scope, scope))
            continue;
        append_stream(&out, event, "stdout");
        append_stream(&err, event, "stderr");
    }
    json_put(joined, "id", json_incref(json_object_get(last, "id")));
    json_put(joined, "timestamp", json_incref(json_object_get(last, "timestamp")));
    json_put_text(joined, "command_id", command_id);
    json_put(joined, "order", json_incref(json_object_get(last, "order")));
    json_put(joined, "exit_code", json_incref(json_object_get(last, "exit_code")));
    put_stream(joined, "stdout", out.text, out.len);
    put_stream(joined, "stderr", err.text, err.len);
    json_put_text(joined, "kind", "BashOutput");
    return joined;
}

size_t bash_events_clear(struct bash_events *events, const char *scope)
{
    struct bash_event *event = TAILQ_FIRST(&events->list);
    size_t n = 0;

    while (event != NULL) {
        struct bash_event *next = TAILQ_NEXT(event, link);

        if (text_equal(event->scope, scope)) {
            remove_event(events, event);
            n++;
        }
        event = next;
    }
    return n;
}
