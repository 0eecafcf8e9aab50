#include "model/schema/words.h"

#include <string.h>

#include "base/json.h"

bool words_contain(const char *words, const char *word)
{
    size_t len = strlen(word);

    if (strchr(word, '|') != NULL)
        return false;
    for (const char *p = words; p != NULL; p = strchr(p, '|')) {
        if (*p == '|')
            p++;
        if (strncmp(p, word, len) == 0 && (p[len] == '|' || p[len] == '\0'))
            return true;
    }
    return false;
}

json_t *words_to_json(const char *words)
{
    json_t *list = json_array();
    const char *p = words;

    while (p != NULL) {
        const char *end = strchr(p, '|');

        json_push(list, json_text(p, end != NULL ? (size_t)(end - p) : strlen(p)));
        p = end != NULL ? end + 1 : NULL;
    }
    return list;
}
