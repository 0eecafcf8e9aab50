# catalogue: texts that models read; what is known of models; names of models that the page offers
catalogue_promptdir = $(pkgdatadir)/catalogue/prompt
dist_catalogue_prompt_DATA = \
	catalogue/prompt/available_skills.txt \
	catalogue/prompt/browser_tools.txt \
	catalogue/prompt/code_quality.txt \
	catalogue/prompt/custom_secrets.txt \
	catalogue/prompt/cut.txt \
	catalogue/prompt/efficiency.txt \
	catalogue/prompt/environment.txt \
	catalogue/prompt/environment_setup.txt \
	catalogue/prompt/external_services.txt \
	catalogue/prompt/extra_info.txt \
	catalogue/prompt/extra_info_file.txt \
	catalogue/prompt/families.tsv \
	catalogue/prompt/file_system_guidelines.txt \
	catalogue/prompt/important_claude.txt \
	catalogue/prompt/important_gemini.txt \
	catalogue/prompt/important_gpt_5.txt \
	catalogue/prompt/important_gpt_5_codex.txt \
	catalogue/prompt/memory.txt \
	catalogue/prompt/memory_context.txt \
	catalogue/prompt/memory_tiers.txt \
	catalogue/prompt/own_soul.txt \
	catalogue/prompt/path_rule.txt \
	catalogue/prompt/problem_solving_workflow.txt \
	catalogue/prompt/process_management.txt \
	catalogue/prompt/pull_requests.txt \
	catalogue/prompt/role.txt \
	catalogue/prompt/security.txt \
	catalogue/prompt/security_risk_always_high.txt \
	catalogue/prompt/security_risk_assessment.txt \
	catalogue/prompt/security_risk_assessment_sandbox.txt \
	catalogue/prompt/self_documentation.txt \
	catalogue/prompt/soul.txt \
	catalogue/prompt/troubleshooting.txt \
	catalogue/prompt/untrusted_content.txt \
	catalogue/prompt/version_control.txt
catalogue_toolsdir = $(pkgdatadir)/catalogue/tools
dist_catalogue_tools_DATA = \
	catalogue/tools/all_tools.txt \
	catalogue/tools/apply_patch.txt \
	catalogue/tools/browser_click.txt \
	catalogue/tools/browser_close_tab.txt \
	catalogue/tools/browser_get_content.txt \
	catalogue/tools/browser_get_state.txt \
	catalogue/tools/browser_get_storage.txt \
	catalogue/tools/browser_go_back.txt \
	catalogue/tools/browser_list_tabs.txt \
	catalogue/tools/browser_navigate.txt \
	catalogue/tools/browser_scroll.txt \
	catalogue/tools/browser_set_storage.txt \
	catalogue/tools/browser_switch_tab.txt \
	catalogue/tools/browser_type.txt \
	catalogue/tools/delegate.txt \
	catalogue/tools/edit.txt \
	catalogue/tools/file_editor.txt \
	catalogue/tools/finish.txt \
	catalogue/tools/glob.txt \
	catalogue/tools/grep.txt \
	catalogue/tools/list_directory.txt \
	catalogue/tools/read_file.txt \
	catalogue/tools/invoke_skill.txt \
	catalogue/tools/start_child_conversation.txt \
	catalogue/tools/task.txt \
	catalogue/tools/task_tracker.txt \
	catalogue/tools/terminal.txt \
	catalogue/tools/think.txt \
	catalogue/tools/write_file.txt
catalogue_sub_agentsdir = $(pkgdatadir)/catalogue/sub_agents
dist_catalogue_sub_agents_DATA = \
	catalogue/sub_agents/bash_runner.txt \
	catalogue/sub_agents/code_explorer.txt \
	catalogue/sub_agents/general_purpose.txt \
	catalogue/sub_agents/role.txt \
	catalogue/sub_agents/web_researcher.txt
catalogue_instructionsdir = $(pkgdatadir)/catalogue/instructions
dist_catalogue_instructions_DATA = \
	catalogue/instructions/cut_answer.txt \
	catalogue/instructions/empty_answer.txt \
	catalogue/instructions/goal.txt \
	catalogue/instructions/guard.txt \
	catalogue/instructions/hook.txt \
	catalogue/instructions/no_vision.txt \
	catalogue/instructions/opened_skill.txt \
	catalogue/instructions/rephrase.txt \
	catalogue/instructions/side_question.txt \
	catalogue/instructions/summary.txt \
	catalogue/instructions/text_calls.txt \
	catalogue/instructions/title.txt
cataloguedir = $(pkgdatadir)/catalogue
dist_catalogue_DATA = catalogue/model_features.tsv catalogue/model_names.tsv catalogue/models.tsv
EXTRA_DIST += catalogue/README.md catalogue/update_models.py
dist_pkgdata_DATA += catalogue/models.json
