#include "fcgi/openapi/operation.h"

#include "base/text.h"

const struct operation *const operation_tables[] = {
    server_operations,   conversation_operations, sandbox_operations,
    tool_operations,     model_operations,        extension_operations,
    settings_operations, profile_operations,      NULL,
};

const struct operation *operation_find(const struct route *route)
{
    for (const struct operation *const *table = operation_tables; *table != NULL; table++) {
        for (const struct operation *operation = *table; operation->pattern != NULL; operation++) {
            if (operation->method == route->method &&
                text_equal(operation->pattern, route->pattern))
                return operation;
        }
    }
    return NULL;
}
