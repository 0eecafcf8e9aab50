#include "model/conversation/llm_switch.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/secrets/secret_places.h"

static const char AGENT_PLACES[] = "agent/llm/";
static const char CONDENSER_PLACES[] = "agent/condenser/llm/";
static const char ANALYZER_PLACES[] = "security_analyzer/";

/* Returns the secrets below a place, keyed by the rest of their path. A new reference. */
static json_t *members_below(const json_t *members, const char *place)
{
    json_t *below = json_object();
    const char *name = NULL;
    json_t *value = NULL;
    json_auto_t *copy = json_copy((json_t *)(uintptr_t)members);

    json_object_foreach (copy, name, value) {
        if (text_starts_with(name, place))
            json_put(below, name + strlen(place), json_incref(value));
    }
    return below;
}

static void drop_below(json_t *members, const char *place)
{
    void *next = NULL;
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach_safe (members, next, name, value) {
        if (text_starts_with(name, place))
            (void)json_object_del(members, name);
    }
}

/* Compares two LLM objects without usage_id and stream, which differ for a condenser. */
static bool is_same_model(const json_t *a, const json_t *b)
{
    json_auto_t *left = json_copy((json_t *)(uintptr_t)a);
    json_auto_t *right = json_copy((json_t *)(uintptr_t)b);

    (void)json_object_del(left, "usage_id");
    (void)json_object_del(right, "usage_id");
    (void)json_object_del(left, "stream");
    (void)json_object_del(right, "stream");
    return json_equal(left, right) != 0;
}

static bool condenser_follows(const json_t *agent, const json_t *members)
{
    const json_t *condenser = json_object_get(json_object_get(agent, "condenser"), "llm");
    json_auto_t *of_agent = members_below(members, AGENT_PLACES);
    json_auto_t *of_condenser = members_below(members, CONDENSER_PLACES);

    return json_is_object(condenser) && is_same_model(json_object_get(agent, "llm"), condenser) &&
           json_equal(of_agent, of_condenser) != 0;
}

static json_t *for_condenser(json_t *llm, const json_t *before)
{
    json_t *copy = json_deep_copy(llm);

    json_put_text(copy, "usage_id", json_text_or(before, "usage_id", "condenser"));
    json_put(copy, "stream", json_false());
    return copy;
}

static json_t *members_of(json_t *secrets)
{
    json_t *members = json_object_get(secrets, "members");

    if (json_is_object(members))
        return members;
    members = json_object();
    json_put(secrets, "members", members);
    return members;
}

void conversation_switch_llm(struct conversation *conversation, json_t *secrets, json_t *llm)
{
    json_t *agent = conversation_agent(conversation);
    json_t *condenser = json_object_get(agent, "condenser");
    json_t *members = members_of(secrets);
    const char *key = json_text_or(llm, "api_key", NULL);

    if (condenser_follows(agent, members)) {
        json_put(condenser, "llm", for_condenser(llm, json_object_get(condenser, "llm")));
        drop_below(members, CONDENSER_PLACES);
    }
    drop_below(members, AGENT_PLACES);
    json_put_text(secrets, "llm_api_key", key);
    json_put(agent, "llm", json_deep_copy(llm));
    secret_places_take(conversation->spec, members);
}

bool conversation_switch_analyzer(struct conversation *conversation, json_t *secrets,
                                  json_t *analyzer)
{
    json_t *members = members_of(secrets);
    json_auto_t *old = json_incref(json_object_get(conversation->spec, "security_analyzer"));
    json_auto_t *old_members = members_below(members, ANALYZER_PLACES);
    json_auto_t *new_members = NULL;

    drop_below(members, ANALYZER_PLACES);
    json_put(conversation->spec, "security_analyzer", json_deep_copy(analyzer));
    secret_places_take(conversation->spec, members);
    new_members = members_below(members, ANALYZER_PLACES);
    return !json_equal(old, json_object_get(conversation->spec, "security_analyzer")) ||
           !json_equal(old_members, new_members);
}
