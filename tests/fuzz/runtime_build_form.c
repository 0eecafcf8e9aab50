/*
 * Requests to build an image: the form, and the archive in it with its Dockerfile. The first line
 * of the input is the content type.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "json_setup.h"
#include "runtime/build/build_context.h"
#include "runtime/build/build_form.h"
#include "runtime/build/dockerfile.h"

enum { UNPACKED_MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static int count(void *owner, const unsigned char *bytes, size_t len, struct error *err)
{
    (void)bytes;
    (void)err;
    *(size_t *)owner += len;
    return 0;
}

static void use_context(const struct strbuf *context)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    struct error err = ERROR_INIT;
    size_t n_bytes = 0;
    const struct unpack_sink sink = {count, &n_bytes};

    if (build_form_unpack(context, UNPACKED_MAX_BYTES, &sink, &err) < 0)
        assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
    assert(n_bytes <= UNPACKED_MAX_BYTES);
    if (build_context_list_images(context, UNPACKED_MAX_BYTES, &images, &err) < 0)
        assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
}

static void use_form(const struct build_form *form)
{
    const json_t *name = NULL;
    size_t i = 0;

    assert(json_array_size(form->names) <= BUILD_TAGS_MAX);
    json_array_foreach (form->names, i, name)
        assert(json_is_string(name));
    use_context(&form->context);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(build_form_done) struct build_form form = BUILD_FORM_INIT;
    CLEANUP(strbuf_done) struct strbuf type = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    const uint8_t *end = len > 0 ? memchr(bytes, '\n', len) : NULL;
    struct error err = ERROR_INIT;

    if (end == NULL)
        return 0;
    strbuf_append_bytes(&type, bytes, (size_t)(end - bytes));
    strbuf_append_bytes(&body, end + 1, len - (size_t)(end + 1 - bytes));
    if (build_form_read(type.text, &body, &form, &err) == 0)
        use_form(&form);
    else
        assert(err.code == ERROR_INVALID);
    /* The archive as it is, too: few changes of base64 text leave one. */
    use_context(&body);
    return 0;
}
