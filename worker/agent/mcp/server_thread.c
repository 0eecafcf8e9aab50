#include "worker/agent/mcp/server_thread.h"

#include <stddef.h>

#include "base/error.h"
#include "worker/context.h"

static int start(const struct worker_context *context, pthread_t *thread_out,
                 void *(*run)(void *what), void *what)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);

    if (rc != 0)
        return rc;
    rc = pthread_attr_setstacksize(&attr, (size_t)context->settings.stack_bytes);
    if (rc == 0)
        rc = pthread_create(thread_out, &attr, run, what);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

int server_thread_start(const struct worker_context *context, pthread_t *thread_out,
                        void *(*run)(void *what), void *what, struct error *err)
{
    if (start(context, thread_out, run, what) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "The worker has no thread to ask it");
    return 0;
}
