# fcgi: the REST handlers
FCGI_CORE = \
	fcgi/context.c fcgi/context.h \
	fcgi/cors.c fcgi/cors.h \
	fcgi/dispatch.c fcgi/dispatch.h \
	fcgi/dormancy.c fcgi/dormancy.h \
	fcgi/pace.c fcgi/pace.h \
	fcgi/reply.c fcgi/reply.h \
	fcgi/request.c fcgi/request.h fcgi/request_json.c fcgi/request_query.c \
	fcgi/router.c fcgi/router.h fcgi/routes.c \
	fcgi/sandbox_answer.c fcgi/sandbox_answer.h \
	fcgi/sandbox_ask.c fcgi/sandbox_ask.h \
	fcgi/sandbox_caller.c fcgi/sandbox_caller.h \
	fcgi/sandbox_link.c fcgi/sandbox_link.h \
	fcgi/sandbox_proxy.c fcgi/sandbox_proxy.h \
	fcgi/session_cookie.c fcgi/session_cookie.h \
	fcgi/waits.c fcgi/waits.h

FCGI_HANDLERS = \
	fcgi/agent/agent.c fcgi/agent/agent.h \
	fcgi/agent/workspace/bash.c \
	fcgi/agent/conversation/change.c fcgi/agent/conversation/change.h \
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
	fcgi/agent/description.c \
	fcgi/agent/conversation/events.c \
	fcgi/agent/plugins/extensions.c \
	fcgi/agent/workspace/execute.c \
	fcgi/agent/plugins/fetch.c fcgi/agent/plugins/fetch.h \
	fcgi/agent/workspace/files.c \
	fcgi/agent/conversation/final_response.c \
	fcgi/agent/workspace/git.c \
	fcgi/agent/health.c \
	fcgi/agent/workspace/hooks.c \
	fcgi/agent/conversation/info.c fcgi/agent/conversation/info.h \
	fcgi/agent/init.c \
	fcgi/agent/plugins/install.c \
	fcgi/agent/plugins/installed.c fcgi/agent/plugins/installed.h \
	fcgi/agent/plugins/installed_kind.c fcgi/agent/plugins/installed_kind.h \
	fcgi/agent/conversation/launch.c fcgi/agent/conversation/launch.h \
	fcgi/agent/mcp/mcp.c \
	fcgi/agent/mcp/mcp_return.c fcgi/agent/mcp/mcp_return.h \
	fcgi/agent/mcp/mcp_sign_in.c fcgi/agent/mcp/mcp_sign_in.h \
	fcgi/agent/mcp/mcp_token.c fcgi/agent/mcp/mcp_token.h \
	fcgi/agent/mcp/mcp_trial.c fcgi/agent/mcp/mcp_trial.h \
	fcgi/agent/conversation/observability.c fcgi/agent/conversation/observability.h \
	fcgi/agent/openai.c \
	fcgi/agent/conversation/open_calls.c fcgi/agent/conversation/open_calls.h \
	fcgi/agent/conversation/seen_calls.c fcgi/agent/conversation/seen_calls.h \
	fcgi/agent/plugins/plugin_fetch.c \
	fcgi/agent/plugins/plugins.c \
	fcgi/agent/workspace/project_files.c fcgi/agent/workspace/project_files.h \
	fcgi/agent/workspace/previews.c \
	fcgi/agent/workspace/repository.c \
	fcgi/agent/conversation/runtime.c \
	fcgi/agent/workspace/sandbox_path.c fcgi/agent/workspace/sandbox_path.h \
	fcgi/agent/workspace/sandbox_tell.c fcgi/agent/workspace/sandbox_tell.h \
	fcgi/agent/plugins/skill_sources.c fcgi/agent/plugins/skill_sources.h \
	fcgi/agent/plugins/skills.c \
	fcgi/agent/tools.c \
	fcgi/agent/conversation/trajectory.c \
	fcgi/agent/unmasked.c \
	fcgi/agent/workspace/vscode.c \
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
	fcgi/preview/check.c fcgi/preview/check.h \
	fcgi/preview/cookies.c \
	fcgi/preview/editor.c fcgi/preview/enter.c \
	fcgi/preview/page.c \
	fcgi/preview/pass.c \
	fcgi/preview/place.c fcgi/preview/preview.h \
	fcgi/preview/urls.c

FCGI_SETTINGS = \
	fcgi/settings/agent_profile_default.c fcgi/settings/agent_profile_default.h \
	fcgi/settings/agent_profiles.c fcgi/settings/agent_profiles.h \
	fcgi/settings/connections.c \
	fcgi/settings/keep.c fcgi/settings/keep.h \
	fcgi/settings/llm_profiles.c \
	fcgi/settings/mcp_servers.c \
	fcgi/settings/meta_profiles.c \
	fcgi/settings/model_catalogue.c \
	fcgi/settings/model_probe.c fcgi/settings/model_probe.h \
	fcgi/settings/profile_resolve.c fcgi/settings/profile_resolve.h \
	fcgi/settings/schemas.c \
	fcgi/settings/sandbox_secret.c fcgi/settings/sandbox_secret.h \
	fcgi/settings/secrets.c \
	fcgi/settings/settings_patch.c \
	fcgi/settings/user_settings.c fcgi/settings/user_settings.h \
	fcgi/settings/workspace_places.c \
	fcgi/settings/workspace_session.c

FCGI_OPENAPI = \
	fcgi/openapi/catalogue_models.c \
	fcgi/openapi/catalogue_tools.c \
	fcgi/openapi/conversations.c \
	fcgi/openapi/document.c fcgi/openapi/openapi.h \
	fcgi/openapi/exchange.c fcgi/openapi/exchange.h \
	fcgi/openapi/extensions.c \
	fcgi/openapi/operation.c fcgi/openapi/operation.h \
	fcgi/openapi/profiles.c \
	fcgi/openapi/sandbox.c \
	fcgi/openapi/schema.c fcgi/openapi/schema.h \
	fcgi/openapi/server.c \
	fcgi/openapi/settings.c

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
	libfcgihandlers.a $(AUTH_LIBS) $(LLM_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(BASE_LIBS)

bin_PROGRAMS += deft-fcgi
deft_fcgi_SOURCES = fcgi/main.c fcgi/key_command.c fcgi/key_command.h fcgi/server.c fcgi/server.h
deft_fcgi_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS) \
	-DDEFT_DATA_DIR='"$(pkgdatadir)"'
deft_fcgi_LDADD = $(CONFINE_LIBS) $(FCGI_HANDLER_LIBS) $(FCGI_LIBS)
