/*
 * The JSON of a conversation for clients: ConversationInfo of REST replies, and full_state
 * snapshots.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "model/limits.h"
#include "model/secrets/secret_places.h"

static json_t *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_text(text, strlen(text)) : json_null();
}

static json_t *time_text(int64_t utc_us)
{
    char text[CLOCK_TEXT_BYTES];

    clock_format_z(utc_us, text);
    return json_text_of(text);
}

/* Returns a member of the specification or its default, as a new reference. */
static json_t *spec_member(const json_t *spec, const char *name, json_t *fallback)
{
    json_t *value = json_object_get(spec, name);

    if (value == NULL)
        return fallback;
    json_decref(fallback);
    return json_incref(value);
}

static json_t *never_confirm(void)
{
    json_t *policy = json_object();

    json_put_text(policy, "kind", "NeverConfirm");
    return policy;
}

static json_t *no_secrets(void)
{
    json_t *registry = json_object();

    json_put(registry, "secret_sources", json_object());
    return registry;
}

static json_t *persistence_dir(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    char hex[UUID_HEX_BYTES];

    uuid_to_hex(id, hex);
    strbuf_appendf(&path, "/workspace/conversations/%s", hex);
    return json_text_of(path.text);
}

/* State private to tools and the worker is hidden from clients. */
static json_t *shown_agent_state(json_t *agent_state)
{
    json_t *shown = agent_state != NULL ? json_copy(agent_state) : json_object();

    (void)json_object_del(shown, AGENT_STATE_TASK_LIST);
    (void)json_object_del(shown, AGENT_STATE_SANDBOX);
    (void)json_object_del(shown, AGENT_STATE_TASKS);
    (void)json_object_del(shown, AGENT_STATE_DELEGATES);
    (void)json_object_del(shown, AGENT_STATE_PATH_RULES);
    (void)json_object_del(shown, AGENT_STATE_WORKTREE);
    (void)json_object_del(shown, AGENT_STATE_SESSION_HOOKS);
    (void)json_object_del(shown, AGENT_STATE_PROMPT_HOOKS);
    (void)json_object_del(shown, AGENT_STATE_RESTORE);
    (void)json_object_del(shown, AGENT_STATE_SERVER_CALLS);
    (void)json_object_del(shown, AGENT_STATE_SERVER_SESSIONS);
    return shown;
}

/* Members common to REST replies and snapshots, from the specification. */
static void add_spec_state(const json_t *spec, json_t *state)
{
    json_t *budget = json_object_get(spec, "max_budget_per_run");

    json_put(state, "agent", spec_member(spec, "agent", json_object()));
    json_put(state, "workspace", spec_member(spec, "workspace", json_object()));
    json_put(state, "max_iterations",
             spec_member(spec, "max_iterations", json_integer(ITERATIONS_DEFAULT)));
    if (json_is_number(budget))
        json_put(state, "max_budget_per_run", json_incref(budget));
    json_put(state, "stuck_detection", spec_member(spec, "stuck_detection", json_true()));
    json_put(state, "confirmation_policy",
             spec_member(spec, "confirmation_policy", never_confirm()));
    json_put(state, "security_analyzer", spec_member(spec, "security_analyzer", json_null()));
    json_put(state, "activated_knowledge_skills",
             spec_member(spec, "activated_knowledge_skills", json_array()));
    json_put(state, "invoked_skills", spec_member(spec, "invoked_skills", json_array()));
    json_put(state, "blocked_actions", json_object());
    json_put(state, "blocked_messages", json_object());
    json_put(state, "secret_registry", spec_member(spec, "secret_registry", no_secrets()));
    json_put(state, "hook_config", spec_member(spec, "hook_config", json_null()));
    json_put(state, "tags", spec_member(spec, "tags", json_object()));
}

/* The same, from the row. */
static void add_row_state(const struct conversation *c, json_t *state)
{
    json_put_text(state, "id", c->id.text);
    json_put(state, "persistence_dir", persistence_dir(&c->id));
    json_put_text(state, "execution_status", status_to_string(c->status));
    json_put(state, "last_user_message_id", text_or_null(c->last_user_message_id.text));
    json_put(state, "leaf_event_id", text_or_null(c->leaf_event_id.text));
    json_put(state, "stats", c->stats != NULL ? json_incref(c->stats) : stats_new());
    json_put(state, "agent_state", shown_agent_state(c->agent_state));
}

/* children: "id,id"; NULL for none. */
static json_t *children_of(const char *children)
{
    json_t *ids = json_array();
    const char *at = children != NULL ? children : "";

    while (*at != '\0') {
        size_t len = strcspn(at, ",");

        json_push(ids, json_text(at, len));
        at += len + (at[len] == ',' ? 1 : 0);
    }
    return ids;
}

/* Members of REST replies only, from the specification. */
static void add_spec_rest(const json_t *spec, json_t *info)
{
    const json_t *origin = json_object_get(spec, "forked_from");

    json_put(info, "metrics", json_null());
    json_put(info, "forked_from_conversation_id",
             spec_member(origin, "conversation_id", json_null()));
    json_put(info, "forked_from_event_id", spec_member(origin, "event_id", json_null()));
    json_put(info, "current_model_id", json_null());
    json_put(info, "available_models", json_array());
    json_put(info, "supports_runtime_model_switch", json_false());
    json_put(info, "launched_agent_profile",
             spec_member(spec, "launched_agent_profile", json_null()));
    json_put(info, "client_tools", spec_member(spec, "client_tools", json_array()));
    json_put(info, "tool_module_qualnames",
             spec_member(spec, "tool_module_qualnames", json_object()));
}

/* The same, from the row. */
static void add_row_rest(const struct conversation *c, json_t *info)
{
    json_put(info, "title", text_or_null(c->title));
    json_put(info, "created_at", time_text(c->created_at_us));
    json_put(info, "updated_at", time_text(c->updated_at_us));
    json_put(info, "parent_conversation_id", text_or_null(c->parent_id.text));
    json_put(info, "sub_conversation_ids", children_of(c->children));
    json_put(info, "runtime_info", json_null());
}

static json_t *info_of_spec(const json_t *spec)
{
    json_auto_t *shown = spec != NULL ? json_deep_copy(spec) : json_object();
    json_t *info = json_object();

    secret_places_blank(shown);
    add_spec_state(shown, info);
    add_spec_rest(shown, info);
    return info;
}

static void leave_out_skills(json_t *info)
{
    json_t *context = json_object_get(json_object_get(info, "agent"), "agent_context");

    if (json_object_get(context, "skills") != NULL)
        json_put(context, "skills", json_array());
}

json_t *conversation_info(const struct conversation *conversation)
{
    json_t *info = info_of_spec(conversation->spec);

    add_row_state(conversation, info);
    add_row_rest(conversation, info);
    return info;
}

json_t *conversation_info_brief(const struct conversation *conversation)
{
    json_t *info = conversation_info(conversation);

    leave_out_skills(info);
    return info;
}

char *conversation_spec_info(const json_t *spec)
{
    json_auto_t *info = info_of_spec(spec);

    leave_out_skills(info);
    return json_to_text(info);
}

static void append_name(struct strbuf *out, const char *name)
{
    strbuf_append(out, ",\"");
    strbuf_append(out, name);
    strbuf_append(out, "\":");
}

/* For a text that needs no escaping: an id, a time, an enumerated value. */
static void append_plain(struct strbuf *out, const char *name, const char *text)
{
    append_name(out, name);
    if (text == NULL) {
        strbuf_append(out, "null");
        return;
    }
    strbuf_append_char(out, '"');
    strbuf_append(out, text);
    strbuf_append_char(out, '"');
}

static void append_time(struct strbuf *out, const char *name, int64_t utc_us)
{
    char text[CLOCK_TEXT_BYTES];

    clock_format_z(utc_us, text);
    append_plain(out, name, text);
}

static void append_json(struct strbuf *out, const char *name, json_t *value)
{
    append_name(out, name);
    json_append_text(out, value);
    json_decref(value);
}

static int append_agent_state(struct strbuf *out, const char *text, struct error *err)
{
    json_auto_t *kept = NULL;

    if (json_parse_own(text, strlen(text), &kept, err) < 0)
        return -1;
    append_json(out, "agent_state", shown_agent_state(kept));
    return 0;
}

int conversation_append_info(const struct conversation_texts *texts, struct strbuf *out,
                             struct error *err)
{
    strbuf_append(out, "{\"id\":\"");
    strbuf_append(out, texts->id.text);
    strbuf_append_char(out, '"');
    append_json(out, "persistence_dir", persistence_dir(&texts->id));
    append_plain(out, "execution_status", texts->status);
    append_plain(out, "last_user_message_id", texts->last_user_message_id);
    append_plain(out, "leaf_event_id", texts->leaf_event_id);
    append_json(out, "title", text_or_null(texts->title));
    append_time(out, "created_at", texts->created_at_us);
    append_time(out, "updated_at", texts->updated_at_us);
    append_plain(out, "parent_conversation_id", texts->parent_id);
    append_json(out, "sub_conversation_ids", children_of(texts->children));
    append_name(out, "stats");
    strbuf_append(out, texts->stats);
    if (append_agent_state(out, texts->agent_state, err) < 0)
        return -1;
    /* Appends the members of that object, without its braces. */
    strbuf_append_char(out, ',');
    strbuf_append_bytes(out, texts->spec_info + 1, strlen(texts->spec_info) - 2);
    return 0;
}

json_t *conversation_full_state(const struct conversation *conversation)
{
    json_auto_t *state = json_object();
    json_t *copy = NULL;

    add_spec_state(conversation->spec, state);
    add_row_state(conversation, state);
    json_put(state, "activated_path_rules", json_array());
    json_put(state, "head_is_empty",
             json_boolean(conversation->is_branched && !uuid_is_set(&conversation->leaf_event_id)));
    copy = json_deep_copy(state);
    json_drop_nulls(copy);
    return copy;
}

/* Members that may be left out of a snapshot that is too large, in order. */
static const char *const optional_members[] = {"agent", "agent_state", "hook_config",
                                               "secret_registry", "stats"};

static void append_state(json_t *state, int64_t now_us, struct strbuf *out)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;

    event_add_state(&list, "full_state", state);
    list.items[0].timestamp_us = now_us;
    event_append_body(&list.items[0], out);
}

/*
 * Clients close on frames that are too large, but merge snapshots by member: some may be left out.
 */
void conversation_append_snapshot(const struct conversation *conversation, int64_t now_us,
                                  struct strbuf *out)
{
    json_auto_t *state = conversation_full_state(conversation);
    size_t before = out->len;

    append_state(state, now_us, out);
    for (size_t i = 0; i < ARRAY_SIZE(optional_members); i++) {
        if (out->len - before <= EVENT_MAX_BYTES)
            return;
        (void)json_object_del(state, optional_members[i]);
        strbuf_truncate(out, before);
        append_state(state, now_us, out);
    }
}
