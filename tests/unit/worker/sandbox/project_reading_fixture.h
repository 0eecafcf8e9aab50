/*
 * Conversations that ask for what their workspace says, and the files that its sandbox answers
 * with.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_SANDBOX_PROJECT_READING_FIXTURE_H
#define DEFT_TESTS_UNIT_WORKER_SANDBOX_PROJECT_READING_FIXTURE_H

struct claimed_agent;

#define SAYS "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"
#define ASKS                                                                                       \
    "{\"agent\": {\"agent_context\": {\"load_project_skills\": true, \"load_memory\": true,"       \
    " \"current_datetime\": \"now\"}}}"
#define FIRST "SystemPrompt Message(user) S(last_user_message_id) S(running) "

/* Places 14 and 18 of the request: the project's .openhands/skills/ and its AGENTS.md. */
#define FILES                                                                                      \
    "{\"files\": [{\"place\": 18, \"path\": \"/workspace/project/AGENTS.md\","                     \
    " \"text\": \"Use ninja, not opensesame.\"}, {\"place\": 14,"                                  \
    " \"path\": \"/workspace/project/.openhands/skills/going.md\","                                \
    " \"text\": \"---\\ntriggers: [go]\\n---\\nGo with opensesame.\"}]}"

/* Reads the workspace if that is due; fails on an error. */
void reading_settle(struct claimed_agent *claimed);
/* Reads what others have written to the log. */
void reading_hear(struct claimed_agent *claimed);

#endif
