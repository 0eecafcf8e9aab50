#include "fcgi/context.h"

#include "base/error.h"
#include "base/text.h"

static const char scripted_model[] = "scripted/hello";

const char *context_model(const struct fcgi_context *context)
{
    return context->settings->model[0] != '\0' ? context->settings->model : scripted_model;
}

bool context_is_scripted(const struct fcgi_context *context)
{
    return text_starts_with(context_model(context), "scripted/");
}

int context_begin_wait(const struct fcgi_context *context, struct error *err)
{
    int64_t most = (context->settings->n_threads + 1) / 2;

    if (atomic_fetch_add(context->n_waiting, 1) < most)
        return 0;
    context_end_wait(context);
    return error_set(err, ERROR_UNAVAILABLE, "too many requests wait already");
}

void context_end_wait(const struct fcgi_context *context)
{
    (void)atomic_fetch_sub(context->n_waiting, 1);
}
