#include "fcgi/core/deferred_init.h"

#include <stdatomic.h>

#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "store/user/init_store.h"

int deferred_init_is_dormant(const struct fcgi_context *context, bool *is_dormant_out,
                             struct error *err)
{
    bool has_begun = false;

    *is_dormant_out = false;
    if (context->settings->deferred_init == 0 || atomic_load(context->has_begun))
        return 0;
    if (init_store_has_begun(context->db, &has_begun, err) < 0)
        return -1;
    atomic_store(context->has_begun, has_begun);
    *is_dormant_out = !has_begun;
    return 0;
}

/* Health, versions and the description stay available; routes that act for a caller do not. */
static bool is_deferrable(const char *pattern)
{
    return !text_equal(pattern, "/api/init") &&
           (text_starts_with(pattern, "/api/") || text_starts_with(pattern, "/v1/"));
}

int deferred_init_blocks(const struct request *request, bool *is_blocked_out, struct error *err)
{
    *is_blocked_out = false;
    if (!is_deferrable(request->route->pattern))
        return 0;
    return deferred_init_is_dormant(request->context, is_blocked_out, err);
}
