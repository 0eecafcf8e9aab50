#include "model/conversation/child_conversation.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/sealed_secrets.h"
#include "model/event/stats.h"

/* Members of the parent's own history, not copied. */
static const char *const own_members[] = {"forked_from",
                                          "goal",
                                          "activated_knowledge_skills",
                                          PROJECT_SKILLS,
                                          MCP_LISTING,
                                          PROJECT_SERVERS,
                                          PROJECT_HOOKS,
                                          KNOWLEDGE_REQUESTS};

struct uuid child_conversation_id(const struct uuid *parent_id, const struct uuid *action_id)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    strbuf_appendf(&name, "%s/%s", parent_id->text, action_id->text);
    return uuid_from_name(name.text);
}

struct uuid child_delegate_id(const struct uuid *parent_id, const struct uuid *action_id,
                              const char *name)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;

    strbuf_appendf(&whole, "%s/%s/%s", parent_id->text, action_id->text, name);
    return uuid_from_name(whole.text);
}

int child_conversation_make(const struct keyring *keyring, const struct conversation *parent,
                            const char *title, struct conversation *child_out, struct error *err)
{
    if (!uuid_is_set(&child_out->id))
        child_out->id = uuid_random();
    if (title != NULL && !text_is_blank(title))
        child_out->title = mem_dup_text(title);
    child_out->spec = json_deep_copy(parent->spec);
    for (size_t i = 0; i < ARRAY_SIZE(own_members); i++)
        (void)json_object_del(child_out->spec, own_members[i]);
    child_out->stats = stats_new();
    child_out->agent_state = json_object();
    return sealed_secrets_copy(keyring, parent, child_out, &child_out->secrets, err);
}
