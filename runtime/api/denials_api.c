#include "runtime/api/denials_api.h"

#include "base/error.h"
#include "base/json.h"
#include "runtime/core/service.h"
#include "runtime/core/tenant.h"
#include "runtime/egress/egress_denials.h"
#include "store/runtime/refusal_store.h"
#include "store/runtime/runtime_store.h"

int denials_handle_list(struct service *service, const struct front_request *request,
                        json_t **reply_out, struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    json_auto_t *list = NULL;
    struct error why = ERROR_INIT;
    const char *detail = NULL;

    if (runtime_store_get(service->db, request->id, &runtime, err) < 0 ||
        tenant_check(request->tenant, &runtime, err) < 0 ||
        egress_denials_flush(service, err) < 0 ||
        refusal_store_list(service->db, runtime.id, &list, err) < 0)
        return -1;
    if (egress_denials_check(service->denials, &runtime, &why) < 0)
        detail = why.message;
    *reply_out = json_build(err, "{s:b, s:s?, s:O}", "logged", detail == NULL, "detail", detail,
                            "refusals", list);
    return *reply_out != NULL ? 0 : -1;
}
