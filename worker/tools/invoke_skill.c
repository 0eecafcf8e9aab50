/* The tool invoke_skill: opens a skill in AgentSkills format (see worker_tool.h). */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/tools/worker_tool.h"

/* The two lists of skills, those of the project first: they replace the given ones. */
static const json_t *list_at(const struct conversation *conversation, int i)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");

    return i == 0 ? json_object_get(conversation->spec, PROJECT_SKILLS)
                  : json_object_get(context, "skills");
}

static bool is_open(const json_t *skill)
{
    return json_bool_or(skill, "is_agentskills_format", 0) != 0 &&
           json_bool_or(skill, "disable_model_invocation", 0) == 0;
}

static const json_t *find_skill(const struct conversation *conversation, const char *name)
{
    for (int i = 0; i < 2; i++) {
        const json_t *skill = NULL;
        size_t k = 0;

        json_array_foreach (list_at(conversation, i), k, skill) {
            if (is_open(skill) && text_equal(json_text_or(skill, "name", ""), name))
                return skill;
        }
    }
    return NULL;
}

static void append_names(const struct conversation *conversation, struct strbuf *out)
{
    for (int i = 0; i < 2; i++) {
        const json_t *skill = NULL;
        size_t k = 0;

        json_array_foreach (list_at(conversation, i), k, skill) {
            if (is_open(skill))
                strbuf_appendf(out, "%s%s", out->len > 0 ? ", " : "",
                               json_text_or(skill, "name", ""));
        }
    }
}

static void append_opened(const struct catalogue *catalogue, const json_t *skill,
                          struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    const char *source = json_text_or(skill, "source", "");
    const char *slash = strrchr(source, '/');
    bool has_folder = source[0] == '/' && slash != NULL;

    if (has_folder)
        strbuf_append_bytes(&folder, source, (size_t)(slash - source));
    {
        const struct text_value values[] = {{"name", json_text_or(skill, "name", "")},
                                            {"content", json_text_or(skill, "content", "")},
                                            {"folder", folder.text}};

        catalogue_append(catalogue, TEXT_OPENED_SKILL, has_folder ? "" : "given", values,
                         ARRAY_SIZE(values), out);
    }
}

static void append_unknown(const struct catalogue *catalogue,
                           const struct conversation *conversation, const char *name,
                           struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;

    append_names(conversation, &names);
    {
        const struct text_value values[] = {{"name", name}, {"names", names.text}};

        catalogue_append(catalogue, TEXT_OPENED_SKILL, names.len > 0 ? "unknown" : "none", values,
                         ARRAY_SIZE(values), out);
    }
}

json_t *worker_tool_invoke_skill(const struct catalogue *catalogue,
                                 const struct conversation *conversation, const json_t *action)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *name = json_text_or(action, "name", "");
    const json_t *skill = find_skill(conversation, name);
    json_t *observation = NULL;

    if (skill != NULL)
        append_opened(catalogue, skill, &text);
    else
        append_unknown(catalogue, conversation, name, &text);
    observation = observation_from_text("InvokeSkillObservation", text.text);
    json_put(observation, "is_error", json_boolean(skill == NULL));
    json_put_text(observation, "skill_name", name);
    return observation;
}
