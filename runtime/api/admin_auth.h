/*
 * Sign-in of the Runtime API's administrator. The password is never sent: the client answers a
 * challenge with a hash of both and gets a token that expires. Challenges and tokens carry their
 * expiry time and a signature with the instance's key, so any process accepts those of another.
 */
#ifndef DEFT_RUNTIME_API_ADMIN_AUTH_H
#define DEFT_RUNTIME_API_ADMIN_AUTH_H

#include "base/attr.h"
#include "runtime/api/front_route.h"

struct error;
struct service;

/*
 * Checks the "Authorization" header (NULL: none): a token, or the administrator's key.
 * ERROR_UNAUTHENTICATED for anything else, ERROR_FORBIDDEN if neither key nor password is set.
 */
int admin_check(const struct service *service, const char *authorization, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

/* GET /api/admin/challenge -> 200 {"challenge","salt","iterations"} | 403 */
front_handle admin_handle_challenge;
/* POST /api/admin/login {"challenge","hash"} -> 200 {"token"} | 400 | 401 | 403 | 429 */
front_handle admin_handle_login;
/* GET /api/admin/api-keys -> 200 [key, …] | 401 | 403 */
front_handle admin_handle_keys;

#endif
