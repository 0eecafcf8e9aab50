/*
 * Extensions of the canvas, and their back ends.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/shape.h"

static const struct field backend_logs_query_fields[] = {
    {.name = "limit_bytes", .kind = FIELD_INT, .fallback = "65536"},
};
static const struct shape backend_logs_query = SHAPE(backend_logs_query_fields);

static const struct field app_backend_session_fields[] = {
    {.name = "ingress_url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "expires_at", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "iframe_sandbox", .kind = FIELD_TEXT},
};
static const struct shape app_backend_session_shape = SHAPE(app_backend_session_fields);

static const struct field install_skill_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "force", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct shape install_skill_shape = SHAPE(install_skill_fields);

static const struct field installed_canvas_extension_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "version", .kind = FIELD_TEXT},
    {.name = "description", .kind = FIELD_TEXT},
    {.name = "enabled", .kind = FIELD_BOOL},
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "requested_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "resolved_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "installed_at", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "install_path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "manifest", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct shape installed_canvas_extension_shape =
    SHAPE(installed_canvas_extension_fields);

static const struct field installed_canvas_extensions_list_fields[] = {
    {.name = "canvas_extensions", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct shape installed_canvas_extensions_list_shape =
    SHAPE(installed_canvas_extensions_list_fields);

static const struct field skill_switch_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct shape skill_switch_shape = SHAPE(skill_switch_fields);

static const struct field update_skill_state_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "enabled", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct shape update_skill_state_shape = SHAPE(update_skill_state_fields);

static const struct field uninstall_skill_fields[] = {
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape uninstall_skill_shape = SHAPE(uninstall_skill_fields);

static const struct field backend_status_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "state",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "missing|stopped|starting|ready|unhealthy|unsupported"},
    {.name = "revision", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "prepared_revision", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "pid", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "port", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "detail", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape backend_status_shape = SHAPE(backend_status_fields);

static const struct field backend_revision_fields[] = {
    {.name = "revision", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape backend_revision_shape = SHAPE(backend_revision_fields);

static const struct field backend_logs_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "logs", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "truncated", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct shape backend_logs_shape = SHAPE(backend_logs_fields);

/* clang-format off */
const struct operation extensions_operations[] = {
    OPERATION(HTTP_POST, "/app-backends/{extension_name}/session", "A session with an extension's pages", .answer = {"AppBackendSessionResponse", &app_backend_session_shape}),
    OPERATION(HTTP_DELETE, "/app-backends/{extension_name}/session", "End that session", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_POST, "/api/canvas-extensions/install", "Install an extension of the canvas", .body = {"InstallSkillRequest", &install_skill_shape}, .answer = {"InstalledCanvasExtensionResponse", &installed_canvas_extension_shape}),
    OPERATION(HTTP_GET, "/api/canvas-extensions/installed", "Installed extensions", .answer = {"InstalledCanvasExtensionsListResponse", &installed_canvas_extensions_list_shape}),
    OPERATION(HTTP_GET, "/api/canvas-extensions/installed/{extension_name}", "One installed extension", .answer = {"InstalledCanvasExtensionResponse", &installed_canvas_extension_shape}),
    OPERATION(HTTP_PATCH, "/api/canvas-extensions/installed/{extension_name}", "Switch an extension on or off", .body = {"UpdateSkillStateRequest", &skill_switch_shape}, .answer = {"UpdateSkillStateResponse", &update_skill_state_shape}),
    OPERATION(HTTP_DELETE, "/api/canvas-extensions/installed/{extension_name}", "Remove an extension", .answer = {"UninstallSkillResponse", &uninstall_skill_shape}),
    OPERATION(HTTP_GET, "/api/canvas-extensions/installed/{extension_name}/backend", "State of an extension's back end", .answer = {"BackendStatus", &backend_status_shape}),
    OPERATION(HTTP_POST, "/api/canvas-extensions/installed/{extension_name}/backend/prepare", "Prepare an extension's back end", .body = {"BackendRevisionRequest", &backend_revision_shape}, .answer = {"BackendStatus", &backend_status_shape}),
    OPERATION(HTTP_POST, "/api/canvas-extensions/installed/{extension_name}/backend/start", "Start an extension's back end", .body = {"BackendRevisionRequest", &backend_revision_shape}, .answer = {"BackendStatus", &backend_status_shape}),
    OPERATION(HTTP_POST, "/api/canvas-extensions/installed/{extension_name}/backend/stop", "Stop an extension's back end", .answer = {"BackendStatus", &backend_status_shape}),
    OPERATION(HTTP_GET, "/api/canvas-extensions/installed/{extension_name}/backend/logs", "Output of an extension's back end", .query = &backend_logs_query, .answer = {"BackendLogs", &backend_logs_shape}),
    OPERATION(HTTP_DELETE, "/api/canvas-extensions/installed/{extension_name}/backend/data", "Delete what an extension's back end keeps", .answer = {"BackendStatus", &backend_status_shape}),
    OPERATION(HTTP_GET, "/api/canvas-extensions/installed/{extension_name}/bundle", "An extension's script", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, "/api/canvas-extensions/installed/{extension_name}/icon", "An extension's picture", .answer_form = ANSWER_BYTES),
    {.pattern = NULL},
};
/* clang-format on */
