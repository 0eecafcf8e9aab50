#include "start/installed_skills.h"

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

bool installed_is_on(const struct document *document)
{
    return json_bool_or(document->body, "enabled", 1) != 0;
}

int installed_skills_add(const struct document_scope *scope, enum collection collection,
                         json_t *skills, struct error *err)
{
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;

    if (document_store_list(scope, collection, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        if (installed_is_on(&list.items[i]) &&
            json_array_extend(skills, json_object_get(list.items[i].body, "skills")) < 0)
            return error_set(err, ERROR_INTERNAL, "the skills of %s are not a list",
                             list.items[i].name);
    }
    return 0;
}
