/*
 * The tests of the editor, of ports and of the server itself, a group per subject.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_TOOLS_TESTS_H
#define DEFT_TESTS_UNIT_SANDBOX_TOOLS_TESTS_H

int editor_commands_tests(void);
int mcp_program_tests(void);
int mcp_programs_tests(void);
int mcp_replies_tests(void);
int mcp_reports_tests(void);
int ports_routes_tests(void);
int preview_connections_tests(void);
int server_status_tests(void);
int action_config_tests(void);

#endif
