#include "start/start.h"

#include "base/error.h"
#include "base/json.h"
#include "start/start_context.h"
#include "start/start_expand.h"
#include "start/start_place.h"
#include "store/conversation/conversation_store.h"

void start_done(struct start *start)
{
    start_plan_done(&start->plan);
    start_request_done(&start->request);
}

int start_find_existing(const struct start_context *context, const json_t *body, bool *is_found_out,
                        struct conversation *conversation_out, struct error *err)
{
    struct error missing = ERROR_INIT;
    struct uuid id = UUID_INIT;

    *is_found_out = false;
    if (!uuid_parse(json_text_or(body, "conversation_id", ""), &id))
        return 0;
    if (conversation_store_load(context->db, &context->caller.scope, &id, conversation_out,
                                &missing) == 0) {
        *is_found_out = true;
        return 0;
    }
    if (missing.code == ERROR_NOT_FOUND)
        return 0;
    *err = missing;
    return -1;
}

int start_prepare(const struct start_context *context, json_t *body, json_t *tracing,
                  struct start *start, struct error *err)
{
    if (start_parse(context, body, tracing, &start->request, err) < 0 ||
        start_expand(context, &start->request, err) < 0 ||
        start_validate(context, &start->request, &start->plan, err) < 0)
        return -1;
    return start_place(context, &start->plan.conversation, err);
}
