/*
 * The tables of the app origin's own API.
 */
#ifndef DEFT_FCGI_APP_APP_H
#define DEFT_FCGI_APP_APP_H

#include "fcgi/router.h"

extern const struct route sign_in_routes[];

#endif
