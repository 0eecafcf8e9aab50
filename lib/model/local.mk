# lib/model: the wire's events and objects, limits, state tables, tools, prompt; no I/O
noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	lib/model/agent/acp_fields.h \
	lib/model/agent/agent_fields.c lib/model/agent/agent_fields.h \
	lib/model/agent/agent_profile.c lib/model/agent/agent_profile.h \
	lib/model/agent/agent_settings.c lib/model/agent/agent_settings.h \
	lib/model/agent/condenser_spec.c lib/model/agent/condenser_spec.h \
	lib/model/agent/conversation_defaults.h \
	lib/model/agent/llm_spec.c lib/model/agent/llm_spec.h \
	lib/model/agent/agent_spec.c lib/model/agent/agent_spec.h \
	lib/model/agent/analyzer_spec.c lib/model/agent/analyzer_spec.h \
	lib/model/tools/agent_tool.h \
	lib/model/tools/browser_tools.c lib/model/tools/browser_tools.h \
	lib/model/conversation/child_conversation.c lib/model/conversation/child_conversation.h \
	lib/model/tools/child_tools.c lib/model/tools/child_tools.h \
	lib/model/schema/client_arguments.c lib/model/schema/client_arguments.h \
	lib/model/tools/catalogue_tools.c lib/model/tools/catalogue_tools.h \
	lib/model/tools/client_tools.c lib/model/tools/client_tools.h \
	lib/model/agent/condenser_fields.h \
	lib/model/event/content.c \
	lib/model/catalogue/catalogue.c lib/model/catalogue/catalogue.h \
	lib/model/catalogue/catalogue_texts.c lib/model/catalogue/catalogue_texts.h \
	lib/model/catalogue/model_families.c lib/model/catalogue/model_families.h \
	lib/model/catalogue/model_features.c lib/model/catalogue/model_features.h \
	lib/model/catalogue/model_table.c lib/model/catalogue/model_table.h \
	lib/model/catalogue/text_template.c lib/model/catalogue/text_template.h \
	lib/model/catalogue/tsv.c lib/model/catalogue/tsv.h \
	lib/model/conversation/goal.c lib/model/conversation/goal.h \
	lib/model/conversation/llm_switch.c lib/model/conversation/llm_switch.h \
	lib/model/conversation/conversation.c lib/model/conversation/conversation.h \
	lib/model/conversation/conversation_info.c \
	lib/model/event/error_class.c lib/model/event/error_class.h \
	lib/model/event/event.c lib/model/event/event.h \
	lib/model/event/event_nulls.c \
	lib/model/masking/event_text.c lib/model/masking/event_text.h \
	lib/model/event/event_kind.c \
	lib/model/plugins/front_matter.c lib/model/plugins/front_matter.h \
	lib/model/agent/hook_match.c lib/model/agent/hook_match.h \
	lib/model/agent/hook_verdict.c lib/model/agent/hook_verdict.h \
	lib/model/agent/hooks.c lib/model/agent/hooks.h \
	lib/model/limits.h \
	lib/model/markdown_line.c lib/model/markdown_line.h \
	lib/model/masking/mask_escapes.c lib/model/masking/mask_escapes.h \
	lib/model/masking/mask_forms.c lib/model/masking/mask_forms.h \
	lib/model/masking/mask_omission.c lib/model/masking/mask_omission.h \
	lib/model/masking/masker.c lib/model/masking/masker.h \
	lib/model/tools/mcp.c lib/model/tools/mcp.h \
	lib/model/tools/mcp_listing.c lib/model/tools/mcp_listing.h \
	lib/model/tools/mcp_observation.c lib/model/tools/mcp_observation.h \
	lib/model/tools/mcp_progress.c lib/model/tools/mcp_progress.h \
	lib/model/tools/mcp_config.c lib/model/tools/mcp_config.h \
	lib/model/tools/mcp_tools.c lib/model/tools/mcp_tools.h \
	lib/model/tools/project_servers.c lib/model/tools/project_servers.h \
	lib/model/start/memory_size.c lib/model/start/memory_size.h \
	lib/model/event/observation_text.c lib/model/event/observation_text.h \
	lib/model/openai/openai_answer.c lib/model/openai/openai_answer.h \
	lib/model/openai/openai_stream.c lib/model/openai/openai_stream.h \
	lib/model/openai/openai_request.c lib/model/openai/openai_request.h \
	lib/model/plugins/plugin_folder.c lib/model/plugins/plugin_folder.h \
	lib/model/schema/regex.c lib/model/schema/regex.h \
	lib/model/prompt/path_rules.c lib/model/prompt/path_rules.h \
	lib/model/prompt/planned_events.c lib/model/prompt/planned_events.h \
	lib/model/agent/policy.c lib/model/agent/policy.h \
	lib/model/conversation/preview.c lib/model/conversation/preview.h \
	lib/model/conversation/preview_answer.c lib/model/conversation/preview_answer.h \
	lib/model/schema/validation_error.c lib/model/schema/validation_error.h \
	lib/model/event/progress.c lib/model/event/progress.h \
	lib/model/prompt/knowledge_change.c lib/model/prompt/knowledge_change.h \
	lib/model/prompt/knowledge_request.c lib/model/prompt/knowledge_request.h \
	lib/model/prompt/project_knowledge.c lib/model/prompt/project_knowledge.h \
	lib/model/prompt/prompt.c lib/model/prompt/prompt.h \
	lib/model/prompt/prompt_context.c lib/model/prompt/prompt_context.h \
	lib/model/schema/redact.c \
	lib/model/plugins/repository.c lib/model/plugins/repository.h \
	lib/model/secrets/secret_paths.h \
	lib/model/secrets/secret_places.c lib/model/secrets/secret_places.h \
	lib/model/secrets/secret_length.c lib/model/secrets/secret_length.h \
	lib/model/secrets/secret_reference.c lib/model/secrets/secret_reference.h \
	lib/model/secrets/secret_registry.c lib/model/secrets/secret_registry.h \
	lib/model/secrets/secret_tables.c \
	lib/model/secrets/secret_walk.c lib/model/secrets/secret_walk.h \
	lib/model/security/call_text.c lib/model/security/call_text.h \
	lib/model/security/risk_text.c lib/model/security/risk_text.h \
	lib/model/security/policy_risk.c lib/model/security/policy_risk.h \
	lib/model/security/security_analyzer.c lib/model/security/security_analyzer.h \
	lib/model/security/shell_command.c lib/model/security/shell_command.h \
	lib/model/security/shell_reader.c lib/model/security/shell_reader.h \
	lib/model/security/shell_text.c lib/model/security/shell_text.h \
	lib/model/security/shell_words.c lib/model/security/shell_words.h \
	lib/model/security/text_patterns.c lib/model/security/text_patterns.h \
	lib/model/security/security_call.h \
	lib/model/agent/settings_fields.c \
	lib/model/agent/settings_schema.c lib/model/agent/settings_schema.h \
	lib/model/schema/field.h \
	lib/model/schema/words.c lib/model/schema/words.h \
	lib/model/schema/object_schema.c lib/model/schema/object_schema.h \
	lib/model/schema/object_schema_json.c \
	lib/model/schema/field_value.c lib/model/schema/field_value.h \
	lib/model/plugins/mcp_file.c lib/model/plugins/mcp_file.h \
	lib/model/plugins/project_files.c lib/model/plugins/project_files.h \
	lib/model/plugins/project_skills.c lib/model/plugins/project_skills.h \
	lib/model/plugins/skill_file.c lib/model/plugins/skill_file.h \
	lib/model/prompt/skills.c lib/model/prompt/skills.h \
	lib/model/start/start_check.c lib/model/start/start_check.h \
	lib/model/schema/start_fields.c lib/model/schema/start_fields.h \
	lib/model/start/start_request.c \
	lib/model/plugins/plugin_source.c lib/model/plugins/plugin_source.h \
	lib/model/event/stats.c lib/model/event/stats.h \
	lib/model/event/status.c lib/model/event/status.h \
	lib/model/tools/resource_keys.c lib/model/tools/resource_keys.h \
	lib/model/tools/sub_agents.c lib/model/tools/sub_agents.h \
	lib/model/conversation/task.c lib/model/conversation/task.h \
	lib/model/event/title.c lib/model/event/title.h \
	lib/model/tools/tool_alias.c lib/model/tools/tool_alias.h \
	lib/model/tools/tool_call.c lib/model/tools/tool_call.h \
	lib/model/tools/tool_check.c lib/model/tools/tool_check.h \
	lib/model/tools/tool_repair.c lib/model/tools/tool_repair.h \
	lib/model/tools/tool.h \
	lib/model/tools/tool_table.c lib/model/tools/tool_table.h \
	lib/model/tools/tools.c lib/model/tools/tools.h \
	lib/model/tools/toolset.c lib/model/tools/toolset.h \
	lib/model/conversation/sealed_secrets.c lib/model/conversation/sealed_secrets.h \
	lib/model/web_origin.c lib/model/web_origin.h \
	lib/model/conversation/webhook.c lib/model/conversation/webhook.h \
	lib/model/word_search.c lib/model/word_search.h \
	lib/model/conversation/file_restore.c lib/model/conversation/file_restore.h \
	lib/model/conversation/worktree.c lib/model/conversation/worktree.h
libmodel_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PCRE2_CFLAGS) $(YAML_CFLAGS)

MODEL_LIBS = libmodel.a $(BASE_LIBS) $(PCRE2_LIBS) $(YAML_LIBS) -lm

check_PROGRAMS += model-test
model_test_SOURCES = \
	tests/unit/model/model_test.c \
	tests/unit/model/model_test.h \
	tests/unit/model/agent/agent_profile_test.c tests/unit/model/agent/agent_spec_test.c \
	tests/unit/model/agent/hook_match_test.c tests/unit/model/agent/hook_verdict_test.c \
	tests/unit/model/agent/hooks_test.c \
	tests/unit/model/agent/analyzer_spec_test.c tests/unit/model/agent/policy_test.c \
	tests/unit/model/agent/settings_schema_test.c \
	tests/unit/model/catalogue/catalogue_test.c \
	tests/unit/model/catalogue/model_table_test.c \
	tests/unit/model/conversation/child_conversation_test.c \
	tests/unit/model/conversation/conversation_info_test.c tests/unit/model/conversation/conversation_test.c \
	tests/unit/model/conversation/goal_test.c tests/unit/model/conversation/llm_switch_test.c \
	tests/unit/model/conversation/task_test.c \
	tests/unit/model/event/content_test.c \
	tests/unit/model/event/event_builders_test.c tests/unit/model/event/event_kinds_test.c \
	tests/unit/model/event/error_class_test.c \
	tests/unit/model/event/event_test.c \
	tests/unit/model/event/progress_test.c \
	tests/unit/model/openai/openai_answer_test.c tests/unit/model/openai/openai_request_test.c \
	tests/unit/model/openai/openai_stream_test.c \
	tests/unit/model/masking/event_text_test.c \
	tests/unit/model/golden_test.c \
	tests/unit/model/masking/mask_escapes_test.c tests/unit/model/masking/masker_test.c \
	tests/unit/model/event/observation_test.c \
	tests/unit/model/plugins/mcp_file_test.c tests/unit/model/plugins/plugin_folder_test.c \
	tests/unit/model/schema/regex_test.c \
	tests/unit/model/prompt/planned_events_test.c \
	tests/unit/model/conversation/preview_answer_test.c tests/unit/model/conversation/preview_test.c \
	tests/unit/model/web_origin_test.c \
	tests/unit/model/prompt/knowledge_change_test.c tests/unit/model/prompt/project_knowledge_test.c \
	tests/unit/model/prompt/prompt_forms_test.c tests/unit/model/prompt/prompt_test.c \
	tests/unit/model/schema/client_arguments_test.c tests/unit/model/schema/members_test.c tests/unit/model/schema/redact_test.c \
	tests/unit/model/plugins/repository_steps_test.c tests/unit/model/plugins/repository_test.c \
	tests/unit/model/security/risk_text_test.c \
	tests/unit/model/security/security_analyzer_test.c \
	tests/unit/model/secrets/secret_places_test.c tests/unit/model/secrets/secret_test.c \
	tests/unit/model/agent/settings_test.c \
	tests/unit/model/schema/object_schema_test.c \
	tests/unit/model/plugins/skill_file_test.c tests/unit/model/plugins/skill_members_test.c \
	tests/unit/model/prompt/skills_test.c \
	tests/unit/model/plugins/plugin_source_test.c \
	tests/unit/model/start/start_members_test.c tests/unit/model/start/start_request_test.c \
	tests/unit/model/event/stats_test.c \
	tests/unit/model/event/status_test.c \
	tests/unit/model/event/title_test.c \
	tests/unit/model/tools/resource_keys_test.c \
	tests/unit/model/tools/mcp_config_test.c tests/unit/model/tools/mcp_listing_test.c \
	tests/unit/model/tools/mcp_progress_test.c tests/unit/model/tools/mcp_test.c tests/unit/model/tools/mcp_tools_test.c \
	tests/unit/model/tools/project_servers_test.c tests/unit/model/tools/sub_agents_test.c \
	tests/unit/model/tools/tool_call_test.c tests/unit/model/tools/tool_list_test.c \
	tests/unit/model/tools/tool_repair_test.c \
	tests/unit/model/tools/tools_test.c \
	tests/unit/model/conversation/webhook_test.c \
	tests/unit/model/word_search_test.c
model_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS) \
	-DDEFT_TEST_DATA='"$(abs_top_srcdir)/tests/data"' -DTEST_CATALOGUE_DIR='"$(abs_top_srcdir)/catalogue"'
model_test_LDADD = libtestsupport.a libtestcatalogue.a $(MODEL_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/data/golden tests/data/members.txt tests/data/settings_form.txt tests/data/tools.txt
