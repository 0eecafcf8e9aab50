/*
 * Extensions of the canvas, their back ends, and automations: not implemented by deft, with the
 * replies that say so.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/schema/object_schema.h"

static const struct field backend_logs_query_fields[] = {
    {.name = "limit_bytes", .kind = FIELD_INT, .fallback = "65536"},
};
static const struct object_schema backend_logs_query = SCHEMA(backend_logs_query_fields);

static const struct field extension_list_fields[] = {
    {.name = "canvas_extensions", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct object_schema extension_list_schema = SCHEMA(extension_list_fields);

#define INSTALLED "/api/canvas-extensions/installed"
#define ONE INSTALLED "/{extension_name}"
#define BACKEND ONE "/backend"
#define SESSION "/app-backends/{extension_name}/session"
/* A row that always answers 501. */
#define REFUSED(method, pattern, summary)                                                          \
    OPERATION(method, pattern, summary, .answer_form = ANSWER_UNSUPPORTED)

/* clang-format off */
const struct operation extension_operations[] = {
    OPERATION(HTTP_GET, INSTALLED, "Installed extensions", .answer = {"CanvasExtensionList", &extension_list_schema}),
    REFUSED(HTTP_POST, "/api/canvas-extensions/install", "Install an extension of the canvas"),
    REFUSED(HTTP_GET, ONE, "One installed extension"),
    REFUSED(HTTP_PATCH, ONE, "Switch an extension on or off"),
    REFUSED(HTTP_DELETE, ONE, "Remove an extension"),
    REFUSED(HTTP_GET, BACKEND, "State of an extension's back end"),
    REFUSED(HTTP_POST, BACKEND "/prepare", "Prepare an extension's back end"),
    REFUSED(HTTP_POST, BACKEND "/start", "Start an extension's back end"),
    REFUSED(HTTP_POST, BACKEND "/stop", "Stop an extension's back end"),
    OPERATION(HTTP_GET, BACKEND "/logs", "Output of an extension's back end", .query = &backend_logs_query, .answer_form = ANSWER_UNSUPPORTED),
    REFUSED(HTTP_DELETE, BACKEND "/data", "Delete the data of an extension's back end"),
    REFUSED(HTTP_GET, ONE "/bundle", "An extension's script"),
    REFUSED(HTTP_GET, ONE "/icon", "An extension's icon"),
    REFUSED(HTTP_POST, SESSION, "Start a session with an extension's pages"),
    REFUSED(HTTP_DELETE, SESSION, "End that session"),
    OPERATION(HTTP_GET, "/api/automation/health", "Health of automations"),
    OPERATION(HTTP_GET, "/api/automation/sdk-version", "Version of automations"),
    OPERATION(HTTP_GET, "/api/automation/v1", "Automations: none"),
    OPERATION(HTTP_POST, "/api/automation/v1/telemetry/consent", "Consent to telemetry (deft sends none)"),
    {.pattern = NULL},
};
/* clang-format on */
