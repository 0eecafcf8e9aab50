#include "model/prompt/prompt.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/tools/tools.h"

enum prompt_when {
    PROMPT_ALWAYS,
    PROMPT_WITHOUT_PERSONA,
    PROMPT_MEMORY,  /* always, in one of two forms */
    PROMPT_POLICY,  /* unless the agent has no security policy */
    PROMPT_RISK,    /* if the model rates security_risk; in one of two forms */
    PROMPT_BROWSER, /* if the agent has the browser tools */
};

/* In order; the section of the model's family follows. */
static const struct prompt_section {
    const char *tag;
    enum prompt_when when;
    enum catalogue_text text;
} sections[] = {
    {"SOUL", PROMPT_WITHOUT_PERSONA, TEXT_SOUL},
    {"ROLE", PROMPT_WITHOUT_PERSONA, TEXT_ROLE},
    {"MEMORY", PROMPT_MEMORY, TEXT_MEMORY},
    {"EFFICIENCY", PROMPT_WITHOUT_PERSONA, TEXT_EFFICIENCY},
    {"FILE_SYSTEM_GUIDELINES", PROMPT_WITHOUT_PERSONA, TEXT_FILE_SYSTEM},
    {"CODE_QUALITY", PROMPT_WITHOUT_PERSONA, TEXT_CODE_QUALITY},
    {"VERSION_CONTROL", PROMPT_WITHOUT_PERSONA, TEXT_VERSION_CONTROL},
    {"PULL_REQUESTS", PROMPT_WITHOUT_PERSONA, TEXT_PULL_REQUESTS},
    {"PROBLEM_SOLVING_WORKFLOW", PROMPT_WITHOUT_PERSONA, TEXT_WORKFLOW},
    {"SELF_DOCUMENTATION", PROMPT_WITHOUT_PERSONA, TEXT_SELF_DOCUMENTATION},
    {"SECURITY", PROMPT_POLICY, TEXT_SECURITY},
    {"SECURITY_RISK_ASSESSMENT", PROMPT_RISK, TEXT_RISK},
    {"BROWSER_TOOLS", PROMPT_BROWSER, TEXT_BROWSER},
    {"EXTERNAL_SERVICES", PROMPT_ALWAYS, TEXT_EXTERNAL_SERVICES},
    {"ENVIRONMENT_SETUP", PROMPT_WITHOUT_PERSONA, TEXT_ENVIRONMENT_SETUP},
    {"TROUBLESHOOTING", PROMPT_WITHOUT_PERSONA, TEXT_TROUBLESHOOTING},
    {"PROCESS_MANAGEMENT", PROMPT_ALWAYS, TEXT_PROCESS_MANAGEMENT},
};

#define FAMILY_TAG "IMPORTANT"

/* Determines which sections a prompt has. */
struct prompt_view {
    const struct catalogue *catalogue;
    json_t *agent;
    bool has_persona;
    bool loads_memory;
    bool wants_policy;
    bool wants_risk;
    bool is_on_users_machine;
    bool has_browser;
    const char *family; /* text for the model's family; "" for most */
};

static struct prompt_view view_of(const struct catalogue *catalogue,
                                  const struct conversation *conversation)
{
    json_t *agent = conversation_agent(conversation);
    json_t *arguments = json_object_get(agent, "system_prompt_kwargs");
    json_t *llm = conversation_llm(conversation);
    const char *model = catalogue_model_name(llm);

    return (struct prompt_view){
        .catalogue = catalogue,
        .agent = agent,
        .has_persona = json_text_or(agent, "persona", NULL) != NULL,
        .loads_memory = json_bool_or(json_object_get(agent, "agent_context"), "load_memory", 0),
        .wants_policy = json_text_or(agent, "security_policy_filename", "-")[0] != '\0',
        .wants_risk = json_bool_or(arguments, "llm_security_analyzer", 1),
        .is_on_users_machine = json_bool_or(arguments, "cli_mode", 1),
        .has_browser = tools_have_browser(conversation),
        .family = catalogue_family_text(catalogue, model),
    };
}

static bool is_included(const struct prompt_section *section, const struct prompt_view *view)
{
    switch (section->when) {
    case PROMPT_ALWAYS:
    case PROMPT_MEMORY:
        return true;
    case PROMPT_WITHOUT_PERSONA:
        return !view->has_persona;
    case PROMPT_POLICY:
        return view->wants_policy;
    case PROMPT_RISK:
        return view->wants_risk;
    case PROMPT_BROWSER:
        return view->has_browser;
    }
    return false;
}

/* The form of the section's text in this prompt. */
static enum catalogue_text form_of(const struct prompt_section *section,
                                   const struct prompt_view *view)
{
    if (section->when == PROMPT_MEMORY && view->loads_memory)
        return TEXT_MEMORY_TIERS;
    if (section->when == PROMPT_RISK && !view->is_on_users_machine)
        return TEXT_RISK_SANDBOX;
    return section->text;
}

static void append_tagged(struct strbuf *out, const char *tag, const char *text)
{
    if (out->len > 0)
        strbuf_append(out, "\n\n");
    strbuf_appendf(out, "<%s>\n%s\n</%s>", tag, text, tag);
}

static void append_section(const struct prompt_section *section, const struct prompt_view *view,
                           struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct text_value values[] = {
        {"always_high", catalogue_text(view->catalogue, TEXT_RISK_ALWAYS_HIGH)}};

    catalogue_append(view->catalogue, form_of(section, view), "", values, ARRAY_SIZE(values),
                     &text);
    append_tagged(out, section->tag, text.text);
}

void prompt_append(const struct catalogue *catalogue, const struct conversation *conversation,
                   struct strbuf *out)
{
    struct prompt_view view = view_of(catalogue, conversation);
    const char *override = json_text_or(view.agent, "system_prompt", NULL);
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;

    if (override != NULL) {
        strbuf_append(out, override);
        return;
    }
    if (view.has_persona)
        strbuf_append(&prompt, json_text_or(view.agent, "persona", ""));
    for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
        if (is_included(&sections[i], &view))
            append_section(&sections[i], &view, &prompt);
    }
    if (view.family[0] != '\0')
        append_tagged(&prompt, FAMILY_TAG, view.family);
    strbuf_append_bytes(out, prompt.text, prompt.len);
}
