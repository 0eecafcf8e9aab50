#include "model/prompt/knowledge_change.h"

#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "model/conversation/conversation.h"

#define HOOK_CONFIG "hook_config"

/* {name: text} */
static json_t *texts_of(const json_t *skills)
{
    json_t *texts = json_object();
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (skills, i, skill)
        json_put_text(texts, json_text_or(skill, "name", ""), json_text_or(skill, "content", ""));
    return texts;
}

static bool has_changed(const json_t *before, const json_t *found, const char *name)
{
    const char *was = json_text_or(before, name, NULL);
    const char *is = json_text_or(found, name, NULL);

    return was != NULL && (is == NULL || !text_equal(was, is));
}

void knowledge_change_forget(json_t *names, const json_t *before, const json_t *found)
{
    json_auto_t *texts_before = texts_of(before);
    json_auto_t *texts_found = texts_of(found);
    json_auto_t *kept = json_array();
    json_t *name = NULL;
    size_t i = 0;

    json_array_foreach (names, i, name) {
        if (!json_is_string(name) ||
            !has_changed(texts_before, texts_found, json_string_value(name)))
            json_push(kept, json_incref(name));
    }
    (void)json_array_clear(names);
    (void)json_array_extend(names, kept);
}

bool knowledge_change_hooks(json_t *spec, const json_t *hooks)
{
    bool was_set = json_bool_or(spec, PROJECT_HOOKS, 0) != 0;

    if (hooks == NULL) {
        if (!was_set)
            return false;
        json_put(spec, HOOK_CONFIG, json_null());
        (void)json_object_del(spec, PROJECT_HOOKS);
        return true;
    }
    if (was_set && json_equal(hooks, json_object_get(spec, HOOK_CONFIG)))
        return false;
    json_put(spec, HOOK_CONFIG, json_deep_copy(hooks));
    json_put(spec, PROJECT_HOOKS, json_true());
    return true;
}
