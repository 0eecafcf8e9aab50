# lib/model: the wire's events and objects, limits, state tables, tools, prompt; no I/O
noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
	lib/model/acp_fields.h \
	lib/model/agent_fields.c \
	lib/model/agent_profile.c lib/model/agent_profile.h \
	lib/model/agent_settings.c lib/model/agent_settings.h \
	lib/model/agent_spec.c lib/model/agent_spec.h \
	lib/model/browser_tools.c lib/model/browser_tools.h \
	lib/model/child.c lib/model/child.h \
	lib/model/child_tools.c lib/model/child_tools.h \
	lib/model/client_arguments.c lib/model/client_arguments.h \
	lib/model/client_tools.c lib/model/client_tools.h \
	lib/model/condenser_fields.h \
	lib/model/content.c \
	lib/model/goal.c lib/model/goal.h \
	lib/model/llm_switch.c lib/model/llm_switch.h \
	lib/model/conversation.c lib/model/conversation.h \
	lib/model/conversation_info.c \
	lib/model/event.c lib/model/event.h \
	lib/model/event_nulls.c \
	lib/model/event_text.c lib/model/event_text.h \
	lib/model/event_kind.c \
	lib/model/front_matter.c lib/model/front_matter.h \
	lib/model/hooks.c lib/model/hooks.h \
	lib/model/limits.h \
	lib/model/mask_forms.c lib/model/mask_forms.h \
	lib/model/mask_views.c lib/model/mask_views.h \
	lib/model/masker.c lib/model/masker.h \
	lib/model/mcp.c lib/model/mcp.h \
	lib/model/observation_text.c \
	lib/model/openai_answer.c lib/model/openai_answer.h \
	lib/model/openai_ask.c lib/model/openai_ask.h \
	lib/model/package.c lib/model/package.h \
	lib/model/pattern.c lib/model/pattern.h \
	lib/model/plain_line.c lib/model/plain_line.h \
	lib/model/plan.c \
	lib/model/policy.c lib/model/policy.h \
	lib/model/preview.c lib/model/preview.h \
	lib/model/preview_answer.c lib/model/preview_answer.h \
	lib/model/problem.c lib/model/problem.h \
	lib/model/progress.c lib/model/progress.h \
	lib/model/prompt.c lib/model/prompt.h \
	lib/model/prompt_text.c lib/model/prompt_text.h \
	lib/model/redact.c \
	lib/model/repository.c lib/model/repository.h \
	lib/model/secret_places.c lib/model/secret_places.h \
	lib/model/secret_registry.c lib/model/secret_registry.h \
	lib/model/secret_tables.c \
	lib/model/secret_walk.c lib/model/secret_walk.h \
	lib/model/settings_fields.c \
	lib/model/settings_schema.c lib/model/settings_schema.h \
	lib/model/shape.c lib/model/shape.h \
	lib/model/shape_schema.c \
	lib/model/shape_value.c lib/model/shape_value.h \
	lib/model/skill_file.c lib/model/skill_file.h \
	lib/model/skills.c lib/model/skills.h \
	lib/model/start_check.c lib/model/start_check.h \
	lib/model/start_fields.c lib/model/start_fields.h \
	lib/model/start_request.c \
	lib/model/source.c lib/model/source.h \
	lib/model/stats.c lib/model/stats.h \
	lib/model/status.c lib/model/status.h \
	lib/model/sub_agents.c lib/model/sub_agents.h \
	lib/model/task.c lib/model/task.h \
	lib/model/title.c lib/model/title.h \
	lib/model/tool_call.c \
	lib/model/tool_repair.c lib/model/tool_repair.h \
	lib/model/tool_table.c lib/model/tool_table.h \
	lib/model/tool_text.c lib/model/tool_text.h \
	lib/model/tools.c lib/model/tools.h \
	lib/model/vault.c lib/model/vault.h \
	lib/model/web_origin.c lib/model/web_origin.h \
	lib/model/webhook.c lib/model/webhook.h \
	lib/model/word_search.c lib/model/word_search.h \
	lib/model/worktree.c lib/model/worktree.h
libmodel_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PCRE2_CFLAGS)

MODEL_LIBS = libmodel.a $(BASE_LIBS) $(PCRE2_LIBS) -lm

check_PROGRAMS += model-test
model_test_SOURCES = \
	tests/unit/model/model_test.c \
	tests/unit/model/model_test.h \
	tests/unit/model/agent_spec_test.c \
	tests/unit/model/child_test.c \
	tests/unit/model/content_test.c \
	tests/unit/model/event_test.c \
	tests/unit/model/event_text_test.c \
	tests/unit/model/golden_test.c \
	tests/unit/model/masker_test.c \
	tests/unit/model/observation_test.c \
	tests/unit/model/package_test.c \
	tests/unit/model/pattern_test.c \
	tests/unit/model/plan_test.c \
	tests/unit/model/preview_answer_test.c tests/unit/model/preview_test.c \
	tests/unit/model/web_origin_test.c \
	tests/unit/model/prompt_test.c \
	tests/unit/model/redact_test.c \
	tests/unit/model/repository_test.c \
	tests/unit/model/secret_test.c \
	tests/unit/model/settings_test.c \
	tests/unit/model/shape_test.c \
	tests/unit/model/skill_file_test.c \
	tests/unit/model/skills_test.c \
	tests/unit/model/source_test.c \
	tests/unit/model/start_request_test.c \
	tests/unit/model/stats_test.c \
	tests/unit/model/status_test.c \
	tests/unit/model/title_test.c \
	tests/unit/model/tool_call_test.c \
	tests/unit/model/tools_test.c \
	tests/unit/model/webhook_test.c \
	tests/unit/model/word_search_test.c
model_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS) \
	-DDEFT_TEST_DATA='"$(abs_top_srcdir)/tests/data"'
model_test_LDADD = $(MODEL_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/data/golden
