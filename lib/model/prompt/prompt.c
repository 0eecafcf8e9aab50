#include "model/prompt/prompt.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/prompt/prompt_text.h"
#include "model/tools/tools.h"

/* Determines which sections a prompt has. */
struct prompt_view {
    json_t *agent;
    bool has_persona;
    bool loads_memory;
    bool wants_policy;
    bool wants_risk;
    bool is_on_users_machine;
    bool has_browser;
    const char *family; /* text for the model's family; "" for most */
};

static const char *family_text(const char *model)
{
    for (const struct prompt_family *family = prompt_families; family->part != NULL; family++) {
        if (strstr(model, family->part) != NULL)
            return family->text;
    }
    return "";
}

static struct prompt_view view_of(const struct conversation *conversation)
{
    json_t *agent = conversation_agent(conversation);
    json_t *arguments = json_object_get(agent, "system_prompt_kwargs");
    json_t *llm = conversation_llm(conversation);
    const char *model = json_text_or(llm, "model_canonical_name", json_text_or(llm, "model", ""));

    return (struct prompt_view){
        .agent = agent,
        .has_persona = json_text_or(agent, "persona", NULL) != NULL,
        .loads_memory = json_bool_or(json_object_get(agent, "agent_context"), "load_memory", 0),
        .wants_policy = json_text_or(agent, "security_policy_filename", "-")[0] != '\0',
        .wants_risk = json_bool_or(arguments, "llm_security_analyzer", 1),
        .is_on_users_machine = json_bool_or(arguments, "cli_mode", 1),
        .has_browser = tools_have_browser(conversation),
        .family = family_text(model),
    };
}

/* Returns the section's text in this prompt, or NULL if it is left out. */
static const char *section_text(const struct prompt_section *section,
                                const struct prompt_view *view)
{
    switch (section->when) {
    case PROMPT_ALWAYS:
        return section->text;
    case PROMPT_WITHOUT_PERSONA:
        return view->has_persona ? NULL : section->text;
    case PROMPT_MEMORY:
        return view->loads_memory ? prompt_memory_tiers : section->text;
    case PROMPT_POLICY:
        return view->wants_policy ? section->text : NULL;
    case PROMPT_RISK:
        if (!view->wants_risk)
            return NULL;
        return view->is_on_users_machine ? section->text : prompt_risk_sandbox;
    case PROMPT_BROWSER:
        return view->has_browser ? section->text : NULL;
    case PROMPT_FAMILY:
        return view->family[0] != '\0' ? view->family : NULL;
    }
    return NULL;
}

static void append_section(struct strbuf *out, const char *tag, const char *text)
{
    if (out->len > 0)
        strbuf_append(out, "\n\n");
    strbuf_appendf(out, "<%s>\n%s\n</%s>", tag, text, tag);
}

void prompt_append(const struct conversation *conversation, struct strbuf *out)
{
    struct prompt_view view = view_of(conversation);
    const char *override = json_text_or(view.agent, "system_prompt", NULL);
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;

    if (override != NULL) {
        strbuf_append(out, override);
        return;
    }
    if (view.has_persona)
        strbuf_append(&prompt, json_text_or(view.agent, "persona", ""));
    for (const struct prompt_section *section = prompt_sections; section->tag != NULL; section++) {
        const char *text = section_text(section, &view);

        if (text != NULL)
            append_section(&prompt, section->tag, text);
    }
    strbuf_append_bytes(out, prompt.text, prompt.len);
}

static bool is_disabled(json_t *context, const char *skill)
{
    json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(context, "disabled_skills"), i, name) {
        if (json_is_string(name) && text_equal(json_string_value(name), skill))
            return true;
    }
    return false;
}

/* Texts of the repository: skills that are always active. */
static void append_repository(json_t *context, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(context, "skills"), i, skill) {
        const char *name = json_text_or(skill, "name", "");
        const char *content = json_text_or(skill, "content", "");
        const json_t *trigger = json_object_get(skill, "trigger");

        if ((trigger != NULL && !json_is_null(trigger)) || content[0] == '\0' ||
            is_disabled(context, name))
            continue;
        strbuf_appendf(&text, "\n\n[BEGIN %s]\n%s\n[END %s]", name, content, name);
    }
    if (text.len == 0)
        return;
    if (out->len > 0)
        strbuf_append(out, "\n\n");
    strbuf_appendf(out, "<REPO_CONTEXT>\n%s%s\n</REPO_CONTEXT>", prompt_untrusted, text.text);
}

static void append_secrets(json_t *sources, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *name = NULL;
    json_t *source = NULL;

    if (json_object_size(sources) == 0)
        return;
    strbuf_append(&text, prompt_secrets);
    json_object_foreach (sources, name, source) {
        const char *description = json_text_or(source, "description", "");

        strbuf_appendf(&text, "\n- `$%s`%s%s", name, description[0] != '\0' ? ": " : "",
                       description);
    }
    append_section(out, "CUSTOM_SECRETS", text.text);
}

void prompt_append_context(const struct conversation *conversation, struct strbuf *out)
{
    json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    const char *suffix = json_text_or(context, "system_message_suffix", "");
    const char *now = json_text_or(context, "current_datetime", NULL);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    append_repository(context, &text);
    if (!text_is_blank(suffix)) {
        if (text.len > 0)
            strbuf_append(&text, "\n\n");
        strbuf_append(&text, suffix);
    }
    append_secrets(
        json_object_get(json_object_get(conversation->spec, "secret_registry"), "secret_sources"),
        &text);
    if (now != NULL)
        append_section(&text, "CURRENT_DATETIME", now);
    strbuf_append_bytes(out, text.text, text.len);
}
