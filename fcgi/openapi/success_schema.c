#include "fcgi/openapi/success_schema.h"

#include "base/attr.h"
#include "model/schema/object_schema.h"

static const struct field success_fields[] = {
    {.name = "success", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
const struct object_schema success_schema = SCHEMA(success_fields);
