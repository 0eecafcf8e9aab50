#include "sandbox/core/memory_kills.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { MAX_EVENTS_BYTES = 4096 };

static const char *const places[] = {"/sys/fs/cgroup/memory.events",
                                     "/sys/fs/cgroup/memory/memory.oom_control"};
static const char counter[] = "oom_kill ";

int64_t memory_kills(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct error ignored = ERROR_INIT;
        const char *at = NULL;

        if (file_read(places[i], MAX_EVENTS_BYTES, &text, &ignored) < 0)
            continue;
        at = strstr(text.text, counter);
        if (at != NULL)
            return strtoll(at + strlen(counter), NULL, 10);
    }
    return 0;
}
