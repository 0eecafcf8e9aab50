/*
 * The administrator of the Runtime API signs in by a password that is never sent: a challenge is
 * answered by a hash of both, and for that there is a token for a time. Challenges and tokens say
 * themselves until when they hold, sealed by the instance's key: any process takes what another
 * gave.
 */
#ifndef DEFT_RUNTIME_API_ADMIN_H
#define DEFT_RUNTIME_API_ADMIN_H

#include "base/attr.h"
#include "runtime/api/front_route.h"

struct error;
struct service;

/*
 * Checks what came as "Authorization" (NULL: nothing did): a token, or the administrator's key.
 * ERROR_UNAUTHENTICATED for any other, ERROR_FORBIDDEN when there is neither key nor password.
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
