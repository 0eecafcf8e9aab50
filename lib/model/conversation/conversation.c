#include "model/conversation/conversation.h"

#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/agent_profile.h"
#include "model/limits.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_places.h"
#include "model/secrets/secret_registry.h"

enum { SESSION_HEX_DIGITS = 32 };

static const char WORKING_DIR_FALLBACK[] = "/workspace/project";

void conversation_done(struct conversation *conversation)
{
    if (conversation == NULL)
        return;
    mem_free(conversation->runtime_session);
    mem_free(conversation->title);
    mem_free(conversation->secrets);
    mem_free(conversation->children);
    json_decref(conversation->spec);
    json_decref(conversation->stats);
    json_decref(conversation->agent_state);
    *conversation = (struct conversation)CONVERSATION_INIT;
}

/*
 * The user id is included because clients choose ids: one may be reused that belonged to another
 * user's deleted conversation whose sandbox still exists, since its children use it.
 */
char *conversation_own_session(const struct uuid *user_id, const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf session = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    strbuf_appendf(&name, "%s/%s", user_id->text, id->text);
    crypto_sha256_hex(name.text, name.len, hash);
    strbuf_appendf(&session, CONVERSATION_SESSION_PREFIX "%.*s", SESSION_HEX_DIGITS, hash);
    return strbuf_take(&session);
}

bool conversation_is_sandbox_clients(const struct conversation *conversation)
{
    const char *session = conversation->runtime_session;

    return session != NULL && !text_starts_with(session, CONVERSATION_SESSION_PREFIX) &&
           !text_starts_with(session, SHARED_SESSION_PREFIX);
}

void conversation_note_origin(struct conversation *conversation, const struct uuid *source_id,
                              const char *event_id, int64_t n_events)
{
    json_t *origin = json_object();

    json_put_text(origin, "conversation_id", source_id->text);
    json_put_text(origin, "event_id", event_id);
    json_put(origin, "n_events", json_integer((json_int_t)n_events));
    json_put(conversation->spec, "forked_from", origin);
}

int64_t conversation_n_copied(const struct conversation *conversation)
{
    return json_int_or(json_object_get(conversation->spec, "forked_from"), "n_events", 0);
}

const char *conversation_working_dir(const struct conversation *conversation)
{
    return json_text_or(json_object_get(conversation->spec, "workspace"), "working_dir",
                        WORKING_DIR_FALLBACK);
}

json_t *conversation_agent(const struct conversation *conversation)
{
    return json_object_get(conversation->spec, "agent");
}

json_t *conversation_llm(const struct conversation *conversation)
{
    return json_object_get(conversation_agent(conversation), "llm");
}

double conversation_budget(const struct conversation *conversation)
{
    return json_number_or(conversation->spec, "max_budget_per_run", -1);
}

json_int_t conversation_max_iterations(const struct conversation *conversation)
{
    return json_int_or(conversation->spec, "max_iterations", ITERATIONS_DEFAULT);
}

bool conversation_wants_knowledge(const struct conversation *conversation)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");

    return json_bool_or(context, "load_project_skills", 0) != 0 ||
           json_bool_or(context, "load_user_skills", 0) != 0 ||
           json_bool_or(context, "load_memory", 0) != 0;
}

static bool has_skill_to_open(const json_t *skills)
{
    const json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill) {
        if (json_bool_or(skill, "is_agentskills_format", 0) != 0)
            return true;
    }
    return false;
}

bool conversation_has_skills_to_open(const struct conversation *conversation)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");

    return conversation_wants_knowledge(conversation) &&
           (has_skill_to_open(json_object_get(context, "skills")) ||
            has_skill_to_open(json_object_get(conversation->spec, PROJECT_SKILLS)));
}

size_t conversation_tool_concurrency(const struct conversation *conversation)
{
    json_int_t limit = json_int_or(conversation_agent(conversation), "tool_concurrency_limit", 1);

    if (limit < 1)
        return 1;
    return limit < TOOL_CONCURRENCY_MAX ? (size_t)limit : TOOL_CONCURRENCY_MAX;
}

bool conversation_has_browser(const struct conversation *conversation)
{
    return json_bool_or(conversation->spec, "has_browser", 0);
}

json_t *conversation_find_condenser(json_t *condenser)
{
    json_t *parts = json_object_get(condenser, "condensers");

    if (text_equal(json_text_or(condenser, "kind", ""), "LLMSummarizingCondenser"))
        return condenser;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        json_t *part = json_array_get(parts, i);

        if (text_equal(json_text_or(part, "kind", ""), "LLMSummarizingCondenser"))
            return part;
    }
    return NULL;
}

bool conversation_has_analyzer(const struct conversation *conversation)
{
    return json_is_object(json_object_get(conversation->spec, "security_analyzer"));
}

json_t *conversation_spec_with_secrets(const struct conversation *conversation,
                                       const json_t *secrets)
{
    const json_t *members = json_object_get(secrets, "members");
    json_t *spec = json_deep_copy(conversation->spec);

    if (json_is_object(members))
        secret_places_restore(spec, members);
    return spec;
}

/* Returns the registry's map of sources, created if missing. Borrowed. */
static json_t *registry_sources(json_t *spec)
{
    json_t *registry = json_object_get(spec, "secret_registry");
    json_t *sources = NULL;

    if (!json_is_object(registry)) {
        registry = json_object();
        json_put(spec, "secret_registry", registry);
    }
    sources = json_object_get(registry, "secret_sources");
    if (!json_is_object(sources)) {
        sources = json_object();
        json_put(registry, "secret_sources", sources);
    }
    return sources;
}

/* Unlike start requests, updates may write a plain secret as {"value": text}. A new reference. */
static json_t *without_short_forms(json_t *update)
{
    json_t *plain = json_object();
    const char *name = NULL;
    json_t *source = NULL;

    json_object_foreach (update, name, source) {
        json_t *value = json_object_get(source, "value");
        bool is_short = json_object_size(source) == 1 && json_is_string(value);

        json_put(plain, name, json_incref(is_short ? value : source));
    }
    return plain;
}

int conversation_update_secrets(struct conversation *conversation, json_t *secrets, json_t *update,
                                json_t **problems_out, struct error *err)
{
    static const struct json_path body = {NULL, "body", 0};
    static const struct json_path path = {&body, "secrets", 0};
    json_auto_t *problems = json_array();
    json_auto_t *spec = json_deep_copy(conversation->spec);
    json_auto_t *vault = json_deep_copy(secrets);
    json_auto_t *plain = without_short_forms(update);
    const json_t *launched = json_object_get(conversation->spec, "launched_agent_profile");

    refs_filter(json_object_get(launched, "secret_refs"), plain);
    secret_registry_refuse_nulls(update, &path, problems);
    if (json_typeof(update) == JSON_OBJECT)
        secret_registry_update(registry_sources(spec), json_need_object(vault, "secrets"), plain,
                               &path, problems);
    else
        validation_error_add(
            problems, &path,
            &(struct validation_error){"dict_type", "Input should be a valid dictionary", NULL},
            update);
    if (json_array_size(problems) > 0) {
        *problems_out = json_incref(problems);
        return error_set(err, ERROR_INVALID, "the secrets are not valid");
    }
    secret_places_take(spec, json_need_object(vault, "members"));
    if (json_object_update(conversation->spec, spec) < 0 || json_object_update(secrets, vault) < 0)
        return error_set(err, ERROR_INTERNAL, "the secrets could not be sealed");
    return 0;
}
