#include "fcgi/core/fcgi_context.h"

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
