/*
 * Dockerfiles: whatever the text, what is listed is a name without quotes and variables, and the
 * same text with other ends of lines fetches nothing else.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "json_setup.h"
#include "runtime/build/dockerfile.h"
#include "runtime/build/image_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const json_t *images)
{
    const json_t *image = NULL;
    size_t i = 0;

    json_array_foreach (images, i, image) {
        CLEANUP(strbuf_done) struct strbuf registry = STRBUF_INIT;
        const char *name = json_string_value(image);

        assert(name[0] != '\0' && strpbrk(name, "\"'`\\ \t\n$") == NULL);
        image_source_append(name, &registry);
        assert(registry.len > 0 || name[0] == '/');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    struct error err = ERROR_INIT;
    int rc = dockerfile_list_images((const char *)bytes, len, &images, &err);

    assert(rc == 0 || err.code == ERROR_INVALID);
    if (rc == 0) {
        check(images.bases);
        check(images.others);
    }
    return 0;
}
