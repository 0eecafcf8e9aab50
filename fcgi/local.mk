# fcgi: the REST handlers
FCGI_CORE = \
	fcgi/core/fcgi_context.c fcgi/core/fcgi_context.h \
	fcgi/core/cors.c fcgi/core/cors.h \
	fcgi/core/dispatch.c fcgi/core/dispatch.h \
	fcgi/core/deferred_init.c fcgi/core/deferred_init.h \
	fcgi/core/reply.c fcgi/core/reply.h \
	fcgi/core/request_defaults.c fcgi/core/request_defaults.h \
	fcgi/core/request.c fcgi/core/request.h fcgi/core/request_json.c fcgi/core/request_query.c \
	fcgi/core/router.c fcgi/core/router.h fcgi/routes.c \
	fcgi/sandbox/sandbox_response.c fcgi/sandbox/sandbox_response.h \
	fcgi/sandbox/sandbox_request.c fcgi/sandbox/sandbox_request.h \
	fcgi/core/sandbox_caller.c fcgi/core/sandbox_caller.h \
	fcgi/sandbox/sandbox_locate.c fcgi/sandbox/sandbox_locate.h \
	fcgi/sandbox/sandbox_proxy.c fcgi/sandbox/sandbox_proxy.h \
	fcgi/core/session_cookie.c fcgi/core/session_cookie.h \
	fcgi/core/wait_slots.c fcgi/core/wait_slots.h

FCGI_HANDLERS = \
	fcgi/agent/agent_api.c fcgi/agent/agent_api.h \
	fcgi/agent/workspace/bash_api.c \
	fcgi/agent/socket_access.c fcgi/agent/socket_access.h \
	fcgi/agent/conversation/conversation_edit.c fcgi/agent/conversation/conversation_edit.h \
	fcgi/agent/conversation/confirmation.c \
	fcgi/agent/conversation/conversation_ask.c \
	fcgi/agent/conversation/conversation_branch.c \
	fcgi/agent/conversation/conversation_change.c \
	fcgi/agent/conversation/conversation_children.c \
	fcgi/agent/conversation/conversation_create.c \
	fcgi/agent/conversation/conversation_goal.c \
	fcgi/agent/conversation/conversation_read.c \
	fcgi/agent/conversation/conversation_run.c \
	fcgi/agent/conversation/conversation_switch.c \
	fcgi/openapi/description.c \
	fcgi/agent/conversation/events.c \
	fcgi/agent/plugins/extension_api.c \
	fcgi/agent/workspace/execute_api.c \
	fcgi/agent/plugins/source_fetch.c fcgi/agent/plugins/source_fetch.h \
	fcgi/agent/workspace/file_api.c \
	fcgi/agent/conversation/final_response.c \
	fcgi/agent/workspace/git_api.c \
	fcgi/agent/health.c \
	fcgi/agent/workspace/hook_api.c \
	fcgi/agent/conversation/info.c fcgi/agent/conversation/info.h \
	fcgi/agent/init_api.c \
	fcgi/agent/plugins/install.c \
	fcgi/agent/plugins/installed.c fcgi/agent/plugins/installed.h \
	fcgi/agent/plugins/installed_kind.c fcgi/agent/plugins/installed_kind.h \
	fcgi/agent/mcp/mcp_api.c \
	fcgi/agent/conversation/knowledge_reload.c fcgi/agent/conversation/server_consents.c \
	fcgi/agent/mcp/mcp_return.c fcgi/agent/mcp/mcp_return.h \
	fcgi/agent/mcp/mcp_sign_in.c fcgi/agent/mcp/mcp_sign_in.h \
	fcgi/agent/mcp/mcp_token.c fcgi/agent/mcp/mcp_token.h \
	fcgi/agent/mcp/mcp_probe.c fcgi/agent/mcp/mcp_probe.h \
	fcgi/agent/conversation/tracing_headers.c fcgi/agent/conversation/tracing_headers.h \
	fcgi/agent/openai.c \
	fcgi/agent/streamed_turn.c fcgi/agent/streamed_turn.h \
	fcgi/agent/conversation/open_calls.c fcgi/agent/conversation/open_calls.h \
	fcgi/agent/conversation/seen_calls.c fcgi/agent/conversation/seen_calls.h \
	fcgi/agent/plugins/plugin_fetch.c \
	fcgi/agent/plugins/plugin_api.c \
	fcgi/agent/workspace/project_files.c fcgi/agent/workspace/project_files.h \
	fcgi/agent/workspace/previews.c \
	fcgi/agent/workspace/repository_api.c \
	fcgi/agent/conversation/runtime.c \
	fcgi/agent/workspace/sandbox_path.c fcgi/agent/workspace/sandbox_path.h \
	fcgi/agent/workspace/sandbox_notify.c fcgi/agent/workspace/sandbox_notify.h \
	fcgi/agent/plugins/skill_sources.c fcgi/agent/plugins/skill_sources.h \
	fcgi/agent/plugins/skill_api.c \
	fcgi/agent/tool_api.c \
	fcgi/agent/conversation/trajectory.c \
	fcgi/settings/unmasked_secrets.c fcgi/settings/unmasked_secrets.h \
	fcgi/agent/workspace/vscode_api.c \
	fcgi/agent/workspace/workspace.c \
	fcgi/agent/conversation/worktree.c fcgi/agent/conversation/worktree.h \
	fcgi/agent/workspace/workspace_path.c fcgi/agent/workspace/workspace_path.h \
	fcgi/app/app.h \
	fcgi/app/sandbox_info.c fcgi/app/sandbox_info.h \
	fcgi/app/sandbox_secrets.c \
	fcgi/app/sandbox_specs.c fcgi/app/sandbox_specs.h \
	fcgi/app/sandboxes.c \
	fcgi/app/sign_in.c

FCGI_PREVIEW = \
	fcgi/preview/preview_check.c fcgi/preview/preview_check.h \
	fcgi/preview/cookies.c \
	fcgi/preview/page.c \
	fcgi/preview/pass.c \
	fcgi/preview/preview_editor.c \
	fcgi/preview/preview_origin.c fcgi/preview/preview_origin.h \
	fcgi/preview/sign_in_redirect.c \
	fcgi/preview/urls.c

FCGI_SETTINGS = \
	fcgi/settings/agent_profile_default.c fcgi/settings/agent_profile_default.h \
	fcgi/settings/agent_profiles.c \
	fcgi/settings/provider_connections.c \
	fcgi/settings/user_documents.c fcgi/settings/user_documents.h \
	fcgi/settings/llm_profiles.c \
	fcgi/settings/mcp_servers.c \
	fcgi/settings/meta_profiles.c \
	fcgi/settings/model_catalogue.c \
	fcgi/settings/user_budget.c \
	fcgi/settings/model_probe.c fcgi/settings/model_probe.h \
	fcgi/settings/schemas.c \
	fcgi/settings/secrets.c \
	fcgi/settings/settings_patch.c \
	fcgi/settings/user_settings.c fcgi/settings/user_settings.h \
	fcgi/settings/workspace_places.c \
	fcgi/settings/workspace_session.c

FCGI_OPENAPI = \
	fcgi/openapi/model_operations.c \
	fcgi/openapi/tool_operations.c \
	fcgi/openapi/conversation_operations.c \
	fcgi/openapi/openapi_document.c fcgi/openapi/openapi_document.h \
	fcgi/openapi/operation_object.c fcgi/openapi/operation_object.h \
	fcgi/openapi/extension_operations.c \
	fcgi/openapi/operation.c fcgi/openapi/operation.h \
	fcgi/openapi/profile_operations.c \
	fcgi/openapi/sandbox_operations.c \
	fcgi/openapi/schema_object.c fcgi/openapi/schema_object.h \
	fcgi/openapi/server_operations.c \
	fcgi/openapi/settings_operations.c \
	fcgi/openapi/success_schema.c fcgi/openapi/success_schema.h

# The page that shows the description; nginx serves it.
apipagedir = $(pkgdatadir)/docs
dist_apipage_DATA = \
	fcgi/openapi/page/docs.css \
	fcgi/openapi/page/docs.js \
	fcgi/openapi/page/index.html

# A library, so that the tests dispatch requests through the same code.
noinst_LIBRARIES += libfcgihandlers.a
libfcgihandlers_a_SOURCES = $(FCGI_CORE) $(FCGI_HANDLERS) $(FCGI_PREVIEW) $(FCGI_SETTINGS) $(FCGI_OPENAPI)
libfcgihandlers_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS)

FCGI_HANDLER_LIBS = \
	libfcgihandlers.a libweb.a $(START_LIBS) $(AUTH_LIBS) $(LLM_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS)

bin_PROGRAMS += deft-fcgi
deft_fcgi_SOURCES = fcgi/main.c fcgi/key_command.c fcgi/key_command.h fcgi/listeners.c fcgi/listeners.h
deft_fcgi_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS) \
	-DDEFT_DATA_DIR='"$(pkgdatadir)"'
deft_fcgi_LDADD = $(CONFINE_LIBS) $(FCGI_HANDLER_LIBS) $(FCGI_LIBS)
