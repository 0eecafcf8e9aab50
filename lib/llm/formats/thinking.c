#include "llm/formats/thinking.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"

static bool is_of_model(const json_t *block, const char *model)
{
    return json_is_object(block) && text_equal(json_text_or(block, "model", model), model);
}

bool thinking_has_model(const json_t *blocks, const char *model)
{
    const json_t *block = NULL;
    size_t i = 0;

    json_array_foreach (blocks, i, block) {
        if (is_of_model(block, model))
            return true;
    }
    return false;
}

json_t *thinking_of_model(const json_t *blocks, const char *model)
{
    json_t *own = json_array();
    const json_t *block = NULL;
    size_t i = 0;

    json_array_foreach (blocks, i, block) {
        json_t *copy = NULL;

        if (!is_of_model(block, model))
            continue;
        /* json_copy() takes a non-const pointer, though it only reads. */
        copy = json_copy((json_t *)(uintptr_t)block);
        (void)json_object_del(copy, "model");
        json_push(own, copy);
    }
    return own;
}
