/*
 * Route tables of the app origin's own API.
 */
#ifndef DEFT_FCGI_APP_APP_H
#define DEFT_FCGI_APP_APP_H

#include "fcgi/core/router.h"

extern const struct route sandbox_routes[];
extern const struct route sandbox_secret_routes[];
extern const struct route sandbox_spec_routes[];
extern const struct route sign_in_routes[];

#endif
