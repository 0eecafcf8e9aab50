/*
 * /api/budget: what a user may spend on models, and the extension of a day's budget.
 *
 * Decision: docs/decisions/0095-budgets-of-users.md
 */
#include "auth/principal.h"
#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "model/event/stats.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "store/user/spending_store.h"

static const struct field extension_fields[] = {
    {.name = "amount", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED},
};
const struct object_schema budget_extension_schema = SCHEMA(extension_fields);

static json_t *dollars(int64_t nanos)
{
    return json_real((double)nanos / NANOS_PER_DOLLAR);
}

static json_t *budget_of(int64_t limit_nanos, int64_t spent_nanos)
{
    json_t *json = json_object();

    json_put(json, "limit", limit_nanos > 0 ? dollars(limit_nanos) : json_null());
    json_put(json, "spent", limit_nanos > 0 ? dollars(spent_nanos) : json_null());
    return json;
}

static int reply_budget(const struct request *request, struct reply *reply, struct error *err)
{
    const struct fcgi_settings *settings = request->context->settings;
    const struct budget_limits limits = {settings->budget_per_user_cents,
                                         settings->budget_per_day_cents};
    struct spending spending = {.user_limit_nanos = 0};
    json_auto_t *json = json_object();
    json_t *day = NULL;

    if (spending_store_read(request->context->db, &request->principal.user_id, &limits, &spending,
                            err) < 0)
        return -1;
    day = budget_of(spending.day_limit_nanos, spending.day_nanos);
    json_put(day, "extended_by", dollars(spending.extension_nanos));
    json_put(json, "per_user", budget_of(spending.user_limit_nanos, spending.user_nanos));
    json_put(json, "per_day", day);
    return reply_json(reply, 200, json);
}

/* GET -> 200 {"per_user": {"limit", "spent"}, "per_day": {"limit", "spent", "extended_by"}} */
static int budget_read(const struct request *request, struct reply *reply, struct error *err)
{
    return reply_budget(request, reply, err);
}

/* POST {"amount": dollars} -> 200 as above | 422 */
static int budget_extend(const struct request *request, struct reply *reply, struct error *err)
{
    const struct validation_error not_amount = {
        "greater_than", "Input should be an amount above 0, up to a million", NULL};
    json_auto_t *values = NULL;
    double amount = 0;

    if (request_json_schema(request, &budget_extension_schema, &values, err) < 0)
        return -1;
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    amount = json_number_or(values, "amount", 0);
    if (cost_to_nanos(amount) == 0 || cost_to_nanos(amount) > EXTENSION_MAX_NANOS)
        return request_problem(request, REQUEST_JSON_PATH("body", "amount"), &not_amount,
                               json_object_get(values, "amount"), err);
    if (spending_store_extend(request->context->db, &request->principal.user_id,
                              cost_to_nanos(amount), err) < 0)
        return -1;
    return reply_budget(request, reply, err);
}

const struct route user_budget_routes[] = {
    {HTTP_GET, "/api/budget", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, 0, budget_read},
    {HTTP_POST, "/api/budget/extend", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     budget_extend},
    {.handle = NULL},
};
