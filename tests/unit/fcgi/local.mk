# Tests of fcgi
check_LIBRARIES += libfcgifixture.a
libfcgifixture_a_SOURCES = \
	tests/unit/fcgi/fake_sandbox.c tests/unit/fcgi/fake_sandbox.h tests/unit/fcgi/fixture.c tests/unit/fcgi/fixture.h \
	tests/unit/client/test_server.c tests/unit/client/test_server.h
libfcgifixture_a_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)

FCGI_TEST_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir) -I$(top_srcdir)/tests/unit/fcgi \
	-DTEST_MODELS_FILE='"$(abs_top_srcdir)/catalogue/models.json"'
FCGI_TEST_LIBS = \
	libfcgifixture.a libtestsupport.a libtestcatalogue.a $(FCGI_HANDLER_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += \
	fcgi_process_test fcgi_sandbox_retry_test fcgi_conversation_refusals_test fcgi_conversation_run_test fcgi_conversations_test fcgi_dispatch_test fcgi_events_test fcgi_init_test fcgi_request_test \
	fcgi_openai_test fcgi_openapi_test fcgi_preview_check_test fcgi_router_test fcgi_sandbox_test fcgi_sandbox_key_test fcgi_sandboxes_test fcgi_settings_test fcgi_socket_access_test fcgi_wait_slots_test fcgi_workspace_path_test \
	fcgi_choices_test fcgi_profiles_test fcgi_settings_patch_test fcgi_conversation_parts_test fcgi_sandbox_orders_test fcgi_request_values_test fcgi_server_test fcgi_preview_way_test fcgi_listing_test fcgi_reply_test fcgi_same_origin_test fcgi_install_test fcgi_mcp_probe_test fcgi_mcp_sign_in_test fcgi_mcp_token_test fcgi_plugins_test fcgi_repository_test fcgi_skills_test fcgi_workspace_calls_test fcgi_workspace_test
fcgi_conversations_test_SOURCES = tests/unit/fcgi/agent/conversation/conversations_test.c
fcgi_conversations_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_conversations_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_conversation_run_test_SOURCES = tests/unit/fcgi/agent/conversation/conversation_run_test.c
fcgi_conversation_run_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_conversation_run_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_init_test_SOURCES = tests/unit/fcgi/agent/init_api_test.c
fcgi_init_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_init_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_openai_test_SOURCES = tests/unit/fcgi/agent/openai_test.c
fcgi_openai_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_openai_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_openapi_test_SOURCES = tests/unit/fcgi/openapi/openapi_test.c
fcgi_openapi_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_openapi_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_preview_check_test_SOURCES = tests/unit/fcgi/preview/preview_check_test.c
fcgi_preview_check_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_preview_check_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_request_test_SOURCES = tests/unit/fcgi/core/request_test.c
fcgi_request_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_request_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_router_test_SOURCES = tests/unit/fcgi/core/router_test.c tests/unit/fcgi/contract_paths.h
fcgi_router_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_router_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_workspace_path_test_SOURCES = tests/unit/fcgi/agent/workspace/workspace_path_test.c
fcgi_workspace_path_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_workspace_path_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_dispatch_test_SOURCES = tests/unit/fcgi/core/dispatch_test.c
fcgi_dispatch_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_dispatch_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_socket_access_test_SOURCES = tests/unit/fcgi/agent/socket_access_test.c
fcgi_socket_access_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_socket_access_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_settings_test_SOURCES = tests/unit/fcgi/settings/settings_test.c
fcgi_settings_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_settings_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_events_test_SOURCES = tests/unit/fcgi/agent/conversation/events_test.c
fcgi_events_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_events_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_sandbox_test_SOURCES = tests/unit/fcgi/sandbox/sandbox_test.c
fcgi_sandbox_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_sandbox_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_sandboxes_test_SOURCES = tests/unit/fcgi/app/sandboxes_test.c
fcgi_sandboxes_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_sandboxes_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_sandbox_key_test_SOURCES = tests/unit/fcgi/core/sandbox_key_test.c
fcgi_sandbox_key_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_sandbox_key_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_wait_slots_test_SOURCES = tests/unit/fcgi/core/wait_slots_test.c
fcgi_wait_slots_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_wait_slots_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_workspace_calls_test_SOURCES = tests/unit/fcgi/agent/workspace/workspace_calls_test.c
fcgi_workspace_calls_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_workspace_calls_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_workspace_test_SOURCES = tests/unit/fcgi/agent/workspace/workspace_test.c
fcgi_workspace_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_workspace_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_repository_test_SOURCES = tests/unit/fcgi/agent/workspace/repository_test.c
fcgi_repository_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_repository_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_install_test_SOURCES = tests/unit/fcgi/agent/plugins/install_test.c
fcgi_install_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_install_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_skills_test_SOURCES = tests/unit/fcgi/agent/plugins/skills_test.c
fcgi_skills_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_skills_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_plugins_test_SOURCES = tests/unit/fcgi/agent/plugins/plugins_test.c
fcgi_plugins_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_plugins_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_mcp_probe_test_SOURCES = tests/unit/fcgi/agent/mcp/mcp_probe_test.c
fcgi_mcp_probe_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_mcp_probe_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_mcp_sign_in_test_SOURCES = \
	tests/unit/fcgi/agent/mcp/mcp_sign_in_test.c tests/unit/fcgi/agent/mcp/mcp_site.c tests/unit/fcgi/agent/mcp/mcp_site.h
fcgi_mcp_sign_in_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_mcp_sign_in_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_mcp_token_test_SOURCES = \
	tests/unit/fcgi/agent/mcp/mcp_token_test.c tests/unit/fcgi/agent/mcp/mcp_site.c tests/unit/fcgi/agent/mcp/mcp_site.h
fcgi_mcp_token_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_mcp_token_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_choices_test_SOURCES = tests/unit/fcgi/settings/choices_test.c
fcgi_choices_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_choices_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_profiles_test_SOURCES = tests/unit/fcgi/settings/profiles_test.c
fcgi_profiles_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_profiles_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_settings_patch_test_SOURCES = tests/unit/fcgi/settings/settings_patch_test.c
fcgi_settings_patch_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_settings_patch_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_conversation_parts_test_SOURCES = tests/unit/fcgi/agent/conversation/conversation_parts_test.c
fcgi_conversation_parts_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_conversation_parts_test_LDADD = $(FCGI_TEST_LIBS)
EXTRA_DIST += tests/unit/fcgi/openapi/document.txt
CLEANFILES += openapi-document.txt
fcgi_sandbox_orders_test_SOURCES = tests/unit/fcgi/app/sandbox_orders_test.c
fcgi_sandbox_orders_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_sandbox_orders_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_request_values_test_SOURCES = tests/unit/fcgi/core/request_values_test.c
fcgi_request_values_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_request_values_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_server_test_SOURCES = tests/unit/fcgi/agent/server_test.c
fcgi_server_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_server_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_preview_way_test_SOURCES = tests/unit/fcgi/preview/preview_way_test.c
fcgi_preview_way_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_preview_way_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_listing_test_SOURCES = tests/unit/fcgi/agent/conversation/listing_test.c
fcgi_listing_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_listing_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_reply_test_SOURCES = tests/unit/fcgi/core/reply_test.c
fcgi_reply_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_reply_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_same_origin_test_SOURCES = tests/unit/fcgi/core/same_origin_test.c
fcgi_same_origin_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_same_origin_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_process_test_SOURCES = tests/unit/fcgi/process_test.c \
	tests/unit/support/fastcgi_client.c tests/unit/support/fastcgi_client.h \
	tests/unit/support/program.c tests/unit/support/program.h
fcgi_process_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS) -DDEFT_FCGI='"$(abs_top_builddir)/deft-fcgi"'
fcgi_process_test_LDADD = $(FCGI_TEST_LIBS)
EXTRA_fcgi_process_test_DEPENDENCIES = deft-fcgi$(EXEEXT)
fcgi_conversation_refusals_test_SOURCES = tests/unit/fcgi/agent/conversation/conversation_refusals_test.c
fcgi_conversation_refusals_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_conversation_refusals_test_LDADD = $(FCGI_TEST_LIBS)
fcgi_sandbox_retry_test_SOURCES = tests/unit/fcgi/sandbox/sandbox_retry_test.c
fcgi_sandbox_retry_test_CPPFLAGS = $(FCGI_TEST_CPPFLAGS)
fcgi_sandbox_retry_test_LDADD = $(FCGI_TEST_LIBS)
