#include "fcgi/openapi/operation.h"

#include "base/text.h"
#include "model/schema/shape.h"

static const struct field success_fields[] = {
    {.name = "success", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
const struct shape success_shape = SHAPE(success_fields);

const struct operation *const operation_tables[] = {
    server_operations,          conversations_operations,    sandbox_operations,
    catalogue_tools_operations, catalogue_models_operations, extensions_operations,
    settings_operations,        profiles_operations,         NULL,
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
