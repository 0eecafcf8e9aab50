#include "model/skills.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation.h"
#include "model/event.h"

void skill_texts_done(struct skill_texts *texts)
{
    if (texts == NULL)
        return;
    json_decref(texts->names);
    json_decref(texts->parts);
    *texts = (struct skill_texts)SKILL_TEXTS_INIT;
}

static bool list_has(const json_t *list, const char *name)
{
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        if (json_is_string(item) && text_equal(json_string_value(item), name))
            return true;
    }
    return false;
}

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* True when word stands in text by itself: "git" is in "use git!", not in "digital". */
static bool text_has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    const char *p = len > 0 ? strcasestr(text, word) : NULL;

    for (; p != NULL; p = strcasestr(p + 1, word)) {
        if ((p == text || !is_word_character(p[-1])) && !is_word_character(p[len]))
            return true;
    }
    return false;
}

/* The word of a skill's trigger that text has; NULL when it has none. Borrowed. */
static const char *matching_word(const json_t *skill, const char *text)
{
    const json_t *trigger = json_object_get(skill, "trigger");
    const json_t *words = json_object_get(trigger, "keywords");
    json_t *word = NULL;
    size_t i = 0;

    if (words == NULL)
        words = json_object_get(trigger, "triggers");
    json_array_foreach (words, i, word) {
        if (json_is_string(word) && text_has_word(text, json_string_value(word)))
            return json_string_value(word);
    }
    return NULL;
}

static json_t *skill_part(const json_t *skill, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text,
                   "<EXTRA_INFO>\nThis comes with the message because it says \"%s\". It may or may"
                   " not matter for the task.\n\n%s\n</EXTRA_INFO>",
                   word, json_text_or(skill, "content", ""));
    return text_content(text.text);
}

static void append_content_text(const json_t *content, struct strbuf *out)
{
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (content, i, part) {
        strbuf_append(out, json_text_or(part, "text", ""));
        strbuf_append_char(out, '\n');
    }
}

static void add_skill(const json_t *skill, const char *text, struct skill_texts *texts)
{
    const char *name = json_text_or(skill, "name", "");
    const char *word = matching_word(skill, text);

    if (word == NULL || list_has(texts->names, name))
        return;
    json_push(texts->names, json_string(name));
    json_push(texts->parts, skill_part(skill, word));
}

static bool add_names(json_t *known, const json_t *names)
{
    bool has_changed = false;
    json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (names, i, name) {
        if (!json_is_string(name) || list_has(known, json_string_value(name)))
            continue;
        json_push(known, json_incref(name));
        has_changed = true;
    }
    return has_changed;
}

bool conversation_note_skills(struct conversation *conversation, const struct event_list *events)
{
    json_t *known = json_object_get(conversation->spec, "activated_knowledge_skills");
    bool has_changed = false;

    if (conversation->spec == NULL)
        return false;
    if (!json_is_array(known)) {
        known = json_array();
        json_put(conversation->spec, "activated_knowledge_skills", known);
    }
    for (size_t i = 0; i < events->n; i++) {
        if (add_names(known, json_object_get(events->items[i].json, "activated_skills")))
            has_changed = true;
    }
    return has_changed;
}

void skills_for_message(const struct conversation *conversation, json_t *content,
                        struct skill_texts *texts_out)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    const json_t *known = json_object_get(conversation->spec, "activated_knowledge_skills");
    const json_t *disabled = json_object_get(context, "disabled_skills");
    const char *suffix = json_text_or(context, "user_message_suffix", "");
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *skill = NULL;
    size_t i = 0;

    *texts_out = (struct skill_texts){json_array(), json_array()};
    append_content_text(content, &text);
    json_array_foreach (json_object_get(context, "skills"), i, skill) {
        const char *name = json_text_or(skill, "name", "");

        if (!list_has(known, name) && !list_has(disabled, name))
            add_skill(skill, text.text, texts_out);
    }
    if (!text_is_blank(suffix))
        json_push(texts_out->parts, text_content(suffix));
}
