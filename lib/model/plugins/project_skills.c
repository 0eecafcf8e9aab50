#include "model/plugins/project_skills.h"

#include "model/plugins/skill_file.h"

/* Folders above a rule's file. */
enum { RULE_DEPTH = 4 };

static const char *const folder_names[] = {"SKILL.md", NULL};
static const char *const file_names[] = {"*.md", NULL};
static const char *const memory_names[] = {"AGENTS.md", "AGENT.md",     "CLAUDE.md",
                                           "GEMINI.md", ".cursorrules", NULL};
static const char *const index_names[] = {"MEMORY.md", NULL};
static const char *const soul_names[] = {"SOUL.md", NULL};
static const char *const hook_names[] = {"hooks.json", NULL};
static const char *const server_names[] = {".mcp.json", NULL};

enum { SERVER_PLACES_AT = 9, SERVER_PLACES_N = 3 };

const struct file_place skill_places[] = {
    {".openhands/microagents", file_names, 1, SKILL_FILE, false},
    {".openhands/skills", file_names, 1, SKILL_FILE, false},
    {".openhands/skills", folder_names, 2, SKILL_FOLDER, false},
    {".agents/skills", file_names, 1, SKILL_FILE, false},
    {".agents/skills", folder_names, 2, SKILL_FOLDER, false},
    {"", memory_names, 1, SKILL_MEMORY, false},
    {".openhands/memory", index_names, 1, FORM_MEMORY_INDEX, false},
    {".openhands", soul_names, 1, FORM_SOUL, false},
    {".openhands", hook_names, 1, FORM_HOOKS, false},
    {"", server_names, 1, FORM_SERVERS, false},
    {".openhands/skills", server_names, 2, FORM_SERVERS, false},
    {".agents/skills", server_names, 2, FORM_SERVERS, false},
    /* The last: it looks at the most entries, whose number is limited. */
    {"", memory_names, RULE_DEPTH, FORM_RULE, true},
};
const size_t skill_places_n = 6;
const struct file_place *const server_places = &skill_places[SERVER_PLACES_AT];
const size_t server_places_n = SERVER_PLACES_N;
const size_t knowledge_places_n = sizeof(skill_places) / sizeof(skill_places[0]);

json_t *project_skill_read(const struct project_file *file, const char **problem_out)
{
    *problem_out = NULL;
    if (file->is_users && file->place->form == SKILL_MEMORY)
        return NULL;
    return skill_from_file_whole((enum skill_form)file->place->form, file->path, file->text,
                                 problem_out);
}
