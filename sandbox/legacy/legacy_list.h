/*
 * The small routes of the older action API: listing a folder, and stubs for features that this
 * server lacks.
 * Source: docs/api/action-execution.md
 */
#ifndef DEFT_SANDBOX_LEGACY_LEGACY_LIST_H
#define DEFT_SANDBOX_LEGACY_LEGACY_LIST_H

#include "base/attr.h"

struct server_request;

/* POST {"path": null or text} -> 200 [name, …]: folders first, with a slash; [] when unreadable */
void legacy_list_handle(struct server_request *request) NONNULL;
/* GET -> 200 {"token": null}: editors are reached by their preview, without a token of ours */
void legacy_editor_handle(struct server_request *request) NONNULL;
/* POST [server, …] -> 200 {"detail", "router_error_log"} | 400 */
void legacy_mcp_handle(struct server_request *request) NONNULL;

#endif
