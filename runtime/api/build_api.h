/* Runtime API routes for building images from a posted context. */
#ifndef DEFT_RUNTIME_API_BUILD_API_H
#define DEFT_RUNTIME_API_BUILD_API_H

#include "runtime/api/front_route.h"

/* POST /build, a form -> 200 {"build_id"} | 400 | 413 | 429 | 501 | 503 */
front_handle build_handle_post;
/* GET /build_status?build_id= -> 200 {"status", "image", "error"} | 404 */
front_handle build_handle_status;

#endif
