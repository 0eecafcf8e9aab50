#include "model/prompt/skills.h"

#include <stdbool.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/word_search.h"

void skill_texts_done(struct skill_texts *texts)
{
    if (texts == NULL)
        return;
    json_decref(texts->names);
    json_decref(texts->parts);
    *texts = (struct skill_texts)SKILL_TEXTS_INIT;
}

/* Adds the strings of a list to a set, since searching the list would be too slow. */
static void add_to_set(json_t *set, const json_t *list)
{
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        if (json_is_string(item))
            json_put(set, json_string_value(item), json_true());
    }
}

/* Returns the words of a skill's trigger. */
static const json_t *words_of(const json_t *skill)
{
    const json_t *trigger = json_object_get(skill, "trigger");
    const json_t *words = json_object_get(trigger, "keywords");

    return words != NULL ? words : json_object_get(trigger, "triggers");
}

static bool is_passed(const json_t *passed, const json_t *skill)
{
    return json_object_get(passed, json_text_or(skill, "name", "")) != NULL;
}

/* Adds the words of all skills to the search; passed: names of skills to skip. */
static void ask_for_words(struct word_search *search, const json_t *skills, const json_t *passed)
{
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill) {
        const json_t *words = is_passed(passed, skill) ? NULL : words_of(skill);
        json_t *word = NULL;
        size_t k = 0;

        json_array_foreach (words, k, word) {
            if (json_is_string(word))
                (void)word_search_add(search, json_string_value(word));
        }
    }
}

/* Returns the first word of a skill that the text has, or NULL. number_io: number of the skill's
 * first word in the search, advanced to the next skill's. Borrowed. */
static const char *matching_word(const json_t *skill, struct word_search *search, size_t *number_io)
{
    const char *found = NULL;
    json_t *word = NULL;
    size_t i = 0;

    json_array_foreach (words_of(skill), i, word) {
        if (!json_is_string(word))
            continue;
        if (word_search_has(search, *number_io) && found == NULL)
            found = json_string_value(word);
        *number_io += 1;
    }
    return found;
}

static json_t *skill_part(const struct catalogue *catalogue, enum catalogue_text kind,
                          const json_t *skill, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct text_value values[] = {{"word", word},
                                        {"content", json_text_or(skill, "content", "")},
                                        {"source", json_text_or(skill, "source", "")}};

    catalogue_append(catalogue, kind, "", values, ARRAY_SIZE(values), &text);
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

/* A message's text, and what its skills add. */
struct message_skills {
    const struct catalogue *catalogue;
    const char *text;
    const json_t *passed; /* names of skills to skip */
    struct skill_texts *texts;
};

/* Adds the skills that the text triggers, each name once; kind: of the texts that they add. */
static void add_skills(const struct message_skills *message, const json_t *skills,
                       enum catalogue_text kind)
{
    const json_t *passed = message->passed;
    CLEANUP(word_search_freep) struct word_search *search =
        word_search_new(message->text, WORD_ALONE);
    json_auto_t *added = json_object();
    json_t *skill = NULL;
    size_t number = 0;
    size_t i = 0;

    ask_for_words(search, skills, passed);
    json_array_foreach (skills, i, skill) {
        const char *word = is_passed(passed, skill) ? NULL : matching_word(skill, search, &number);

        if (word == NULL || is_passed(added, skill))
            continue;
        json_put(added, json_text_or(skill, "name", ""), json_true());
        json_push(message->texts->names, json_text_of(json_text_or(skill, "name", "")));
        json_push(message->texts->parts, skill_part(message->catalogue, kind, skill, word));
    }
}

/* set: the names in known. */
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

/* The names of skills that no message activates (any more). */
static json_t *passed_of(const struct conversation *conversation, const json_t *context)
{
    json_t *passed = json_object();

    add_to_set(passed, json_object_get(conversation->spec, "activated_knowledge_skills"));
    add_to_set(passed, json_object_get(context, "disabled_skills"));
    return passed;
}

static void pass_found(json_t *passed, const json_t *found)
{
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (found, i, skill)
        json_put(passed, json_text_or(skill, "name", ""), json_true());
}

void skills_for_message(const struct catalogue *catalogue, const struct conversation *conversation,
                        json_t *content, struct skill_texts *texts_out)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    const json_t *found = json_object_get(conversation->spec, PROJECT_SKILLS);
    json_auto_t *passed = passed_of(conversation, context);
    const char *suffix = json_text_or(context, "user_message_suffix", "");
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct message_skills message = {.catalogue = catalogue, .passed = passed, .texts = texts_out};

    *texts_out = (struct skill_texts){json_array(), json_array()};
    append_content_text(content, &text);
    message.text = text.text;
    add_skills(&message, found, TEXT_EXTRA_INFO_FILE);
    pass_found(passed, found);
    add_skills(&message, json_object_get(context, "skills"), TEXT_EXTRA_INFO);
    if (!text_is_blank(suffix))
        json_push(texts_out->parts, text_content(suffix));
}

void skills_found_for(const struct catalogue *catalogue, const struct conversation *conversation,
                      const json_t *found, const json_t *known, const json_t *content,
                      struct skill_texts *texts_out)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");
    json_auto_t *passed = passed_of(conversation, context);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct message_skills message = {.catalogue = catalogue, .passed = passed, .texts = texts_out};

    *texts_out = (struct skill_texts){json_array(), json_array()};
    add_to_set(passed, known);
    append_content_text(content, &text);
    message.text = text.text;
    add_skills(&message, found, TEXT_EXTRA_INFO_FILE);
}
