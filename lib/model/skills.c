#include "model/skills.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
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

/* Adds the texts of a list to a set of names, which look-ups in a list would be too slow for. */
static void add_to_set(json_t *set, const json_t *list)
{
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        if (json_is_string(item))
            json_put(set, json_string_value(item), json_true());
    }
}

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static int lower(char c)
{
    return tolower((unsigned char)c);
}

/*
 * For each beginning of the word, how long the longest shorter one is that it ends with: where a
 * search goes on when the next character differs (Knuth, Morris, Pratt). mem_free() it.
 */
static size_t *borders_of(const char *word, size_t len)
{
    size_t *borders = mem_alloc_array(len + 1, sizeof(*borders));
    size_t n = 0;

    for (size_t i = 1; i < len; i++) {
        while (n > 0 && lower(word[i]) != lower(word[n]))
            n = borders[n];
        n += lower(word[i]) == lower(word[n]);
        borders[i + 1] = n;
    }
    return borders;
}

/* True when word stands in text by itself: "git" is in "use git!", not in "digital". Takes time in
 * proportion to both, however often the word almost occurs. */
static bool text_has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    size_t *borders = len > 0 ? borders_of(word, len) : NULL;
    bool has_word = false;
    size_t n = 0;

    for (size_t i = 0; len > 0 && !has_word && text[i] != '\0'; i++) {
        while (n > 0 && (n == len || lower(text[i]) != lower(word[n])))
            n = borders[n];
        n += lower(text[i]) == lower(word[n]);
        has_word = n == len && (i + 1 == len || !is_word_character(text[i - len])) &&
                   !is_word_character(text[i + 1]);
    }
    mem_free(borders);
    return has_word;
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

/* passed: names of skills that are not added, this one among them afterwards. */
static void add_skill(const json_t *skill, const char *text, json_t *passed,
                      struct skill_texts *texts)
{
    const char *name = json_text_or(skill, "name", "");
    const char *word = json_object_get(passed, name) == NULL ? matching_word(skill, text) : NULL;

    if (word == NULL)
        return;
    json_put(passed, name, json_true());
    json_push(texts->names, json_text_of(name));
    json_push(texts->parts, skill_part(skill, word));
}

/* set: what known has. */
static bool add_names(json_t *known, json_t *set, const json_t *names)
{
    bool has_changed = false;
    json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (names, i, name) {
        if (!json_is_string(name) || json_object_get(set, json_string_value(name)) != NULL)
            continue;
        json_put(set, json_string_value(name), json_true());
        json_push(known, json_incref(name));
        has_changed = true;
    }
    return has_changed;
}

bool conversation_note_skills(struct conversation *conversation, const struct event_list *events)
{
    json_t *known = json_object_get(conversation->spec, "activated_knowledge_skills");
    json_auto_t *set = json_object();
    bool has_changed = false;

    if (conversation->spec == NULL)
        return false;
    if (!json_is_array(known)) {
        known = json_array();
        json_put(conversation->spec, "activated_knowledge_skills", known);
    }
    add_to_set(set, known);
    for (size_t i = 0; i < events->n; i++) {
        if (add_names(known, set, json_object_get(events->items[i].json, "activated_skills")))
            has_changed = true;
    }
    return has_changed;
}

void skills_for_message(const struct conversation *conversation, json_t *content,
                        struct skill_texts *texts_out)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    json_auto_t *passed = json_object();
    const char *suffix = json_text_or(context, "user_message_suffix", "");
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *skill = NULL;
    size_t i = 0;

    *texts_out = (struct skill_texts){json_array(), json_array()};
    add_to_set(passed, json_object_get(conversation->spec, "activated_knowledge_skills"));
    add_to_set(passed, json_object_get(context, "disabled_skills"));
    append_content_text(content, &text);
    json_array_foreach (json_object_get(context, "skills"), i, skill)
        add_skill(skill, text.text, passed, texts_out);
    if (!text_is_blank(suffix))
        json_push(texts_out->parts, text_content(suffix));
}
