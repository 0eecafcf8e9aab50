#include "model/agent/hook_match.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/schema/regex.h"

/* Longer patterns than any list of tools needs are not compiled. */
enum { MATCHER_MAX_BYTES = 1000 };

#define META_CHARACTERS "^$.*+?()[]{}|\\"

const char *hook_event_name(enum hook_event event)
{
#define X(constant, name, member) [constant] = (name),
    static const char *const names[HOOK_N_EVENTS] = {HOOK_EVENTS(X)};
#undef X

    return names[event];
}

const char *hook_event_member(enum hook_event event)
{
#define X(constant, name, member) [constant] = (member),
    static const char *const members[HOOK_N_EVENTS] = {HOOK_EVENTS(X)};
#undef X

    return members[event];
}

/* Appends the pattern of a matcher; false if it is a plain name. */
static bool append_pattern(const char *matcher, struct strbuf *out)
{
    size_t len = strlen(matcher);

    if (len > 2 && matcher[0] == '/' && matcher[len - 1] == '/') {
        strbuf_append_bytes(out, matcher + 1, len - 2);
        return true;
    }
    if (strpbrk(matcher, META_CHARACTERS) == NULL)
        return false;
    strbuf_append(out, matcher);
    return true;
}

static bool matches(const char *matcher, const char *tool_name)
{
    CLEANUP(strbuf_done) struct strbuf pattern = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(regex_freep) struct regex *regex = NULL;
    struct error err = ERROR_INIT;

    if (matcher[0] == '\0' || text_equal(matcher, "*") || tool_name == NULL)
        return true;
    if (strlen(matcher) > MATCHER_MAX_BYTES)
        return false;
    if (!append_pattern(matcher, &pattern))
        return text_equal(matcher, tool_name);
    strbuf_appendf(&whole, "(?:%s)\\z", pattern.text);
    return regex_new(whole.text, &regex, &err) == 0 && regex_matches(regex, tool_name);
}

json_t *hooks_find(const json_t *config, enum hook_event event, const char *tool_name)
{
    const json_t *groups = json_object_get(config, hook_event_member(event));
    json_t *found = json_array();
    const json_t *group = NULL;
    size_t i = 0;

    json_array_foreach (groups, i, group) {
        if (matches(json_text_or(group, "matcher", "*"), tool_name))
            json_array_extend(found, json_object_get(group, "hooks"));
    }
    return found;
}

bool hooks_has(const json_t *config, enum hook_event event)
{
    json_auto_t *found = hooks_find(config, event, NULL);

    return json_array_size(found) > 0;
}

bool hooks_has_any(const json_t *config)
{
    for (int event = 0; event < HOOK_N_EVENTS; event++) {
        if (hooks_has(config, (enum hook_event)event))
            return true;
    }
    return false;
}
