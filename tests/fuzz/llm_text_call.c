/* A call that a model writes as text: whatever it is, it is read to valid JSON or to a problem. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "json_setup.h"
#include "llm/text_call.h"

#define FUNCTIONS                                                                                  \
    "[{\"function\":{\"name\":\"f\",\"parameters\":{\"required\":[\"a\"],\"properties\":"          \
    "{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\"},\"c\":{\"type\":\"number\"},"       \
    "\"d\":{\"type\":\"boolean\"},\"e\":{\"type\":\"array\"},"                                     \
    "\"g\":{\"enum\":[\"x\",\"y\"]}}}}}]"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct text_call *call, enum text_call_kind kind)
{
    json_auto_t *arguments = NULL;
    struct error err = ERROR_INIT;

    assert((kind == TEXT_CALL_BAD) == (call->problem.len > 0));
    assert(call->name.len <= TEXT_CALL_NAME_MAX_BYTES);
    if (kind != TEXT_CALL_READ)
        return;
    assert(json_parse(call->arguments.text, call->arguments.len, &arguments, &err) == 0);
    assert(json_is_object(arguments));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;
    json_auto_t *functions = NULL;
    struct error err = ERROR_INIT;

    if (json_parse(FUNCTIONS, strlen(FUNCTIONS), &functions, &err) < 0)
        return 0;
    /* As a reply's text is. */
    utf8_append_repaired(&text, (const char *)bytes, len);
    check(&call, text_call_read(functions, text.text, text.len, &call));
    return 0;
}
