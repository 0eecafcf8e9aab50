/*
 * Finds a member of a JSON text by its path.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_path.h"

enum { MAX_NAME = 200 };

/* Takes one step, which it removes from *path; NULL if there is no such member. */
static const json_t *step(const json_t *value, const char **path)
{
    char name[MAX_NAME] = "";
    size_t len = 0;

    if (**path == '[') {
        char *end = NULL;
        size_t index = strtoul(*path + 1, &end, 10);

        *path = *end == ']' ? end + 1 : end;
        return json_array_get(value, index);
    }
    if (**path == '.')
        (*path)++;
    len = strcspn(*path, ".[");
    (void)snprintf(name, sizeof(name), "%.*s", (int)len, *path);
    *path += len;
    return json_object_get(value, name);
}

void assert_json_at_line(const char *text, const char *path, const char *expected, const char *file,
                         int line)
{
    json_auto_t *whole = json_loads(text, JSON_DECODE_ANY, NULL);
    json_auto_t *wanted = expected == NULL ? NULL : json_loads(expected, JSON_DECODE_ANY, NULL);
    const json_t *value = whole;
    const char *rest = path;

    if (whole == NULL || (expected != NULL && wanted == NULL)) {
        print_error("no JSON: %.300s\n", whole == NULL ? text : expected);
        _fail(file, line);
    }
    while (value != NULL && *rest != '\0')
        value = step(value, &rest);
    if (expected == NULL ? value == NULL : json_equal(value, wanted))
        return;
    print_error("expected %s at '%s' of %.1000s\n", expected == NULL ? "nothing" : expected, path,
                text);
    _fail(file, line);
}
