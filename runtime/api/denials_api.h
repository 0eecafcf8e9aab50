/* Runtime API route for a sandbox's refused connections. */
#ifndef DEFT_RUNTIME_API_DENIALS_API_H
#define DEFT_RUNTIME_API_DENIALS_API_H

#include "runtime/api/http_front.h"

/* GET /egress_refusals/{id} -> 200 {"logged", "detail", "refusals"} | 404 */
front_handle denials_handle_list;

#endif
