/*
 * What a sandbox may read of its user's secrets, with its own key.
 */
#include "base/error.h"
#include "base/text.h"
#include "fcgi/app/app.h"
#include "fcgi/request.h"
#include "fcgi/settings/keep.h"

static int check_sandbox(const struct request *request, struct error *err)
{
    if (text_equal(request_path_text(request, "sandbox_id"), request->principal.runtime_id))
        return 0;
    return error_set(err, ERROR_FORBIDDEN, "Session API key does not match sandbox");
}

/* GET -> 200 {"secrets": [{"name", "description"}]} | 401 | 403 */
static int list(const struct request *request, struct reply *reply, struct error *err)
{
    return check_sandbox(request, err) < 0 ? -1 : keep_list_secrets(request, reply, err);
}

/* GET -> 200 the value as text | 401 | 403 | 404 */
static int get(const struct request *request, struct reply *reply, struct error *err)
{
    return check_sandbox(request, err) < 0 ? -1 : keep_get_secret(request, reply, err);
}

#define SECRETS "/api/v1/sandboxes/{sandbox_id}/settings/secrets"

const struct route sandbox_secret_routes[] = {
    {HTTP_GET, SECRETS, ORIGIN_APP, ACCESS_SANDBOX, 0, list},
    {HTTP_GET, SECRETS "/{name}", ORIGIN_APP, ACCESS_SANDBOX, 0, get},
    {.handle = NULL},
};
