#include "runtime/bwrap/bwrap_image.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/bwrap/bwrap_host.h"

#define HOST_FILES "host"

const char *bwrap_image_id(const struct bwrap_host *host)
{
    const char *root = host->settings.root;
    const char *last = strrchr(root, '/');

    if (root[0] == '\0')
        return HOST_FILES;
    return last != NULL ? last + 1 : root;
}

int bwrap_image_check(const struct bwrap_host *host, const char *image, struct error *err)
{
    if (text_equal(image, host->settings.image))
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "sandboxes run as processes of the host (DEFT_RUNTIME=process) and all use "
                     "the files of %.60s: the image %.60s needs a container engine",
                     host->settings.image, image);
}
