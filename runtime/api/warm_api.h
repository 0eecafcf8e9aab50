/* Runtime API routes of the warm pool. */
#ifndef DEFT_RUNTIME_API_WARM_API_H
#define DEFT_RUNTIME_API_WARM_API_H

#include "runtime/api/http_front.h"

/* GET /api/warm-runtime-configs -> 200 {"configs"}: from settings and from the administrator */
front_handle warm_handle_list;
/* PUT /api/admin/warm-runtime-configs/{name} -> 200 the configuration | 400 | 429 */
front_handle warm_handle_put;
/* DELETE /api/admin/warm-runtime-configs/{name} -> 200 {"message"} | 404 */
front_handle warm_handle_delete;

#endif
