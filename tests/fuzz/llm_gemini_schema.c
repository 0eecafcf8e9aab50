/* A JSON Schema of a tool, as a server of tools sends it, in Gemini's form. */
#include "llm/formats/gemini_schema.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "json_setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *schema = NULL;
    json_auto_t *form = NULL;

    if (json_parse((const char *)bytes, len, &schema, &err) < 0)
        return 0;
    form = gemini_schema_new(schema);
    assert(form == NULL || text_equal(json_text_or(form, "type", ""), "OBJECT"));
    assert(form == NULL || json_object_size(json_object_get(form, "properties")) > 0);
    return 0;
}
