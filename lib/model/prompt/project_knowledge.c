#include "model/prompt/project_knowledge.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/agent/hooks.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/plugins/project_files.h"
#include "model/plugins/project_skills.h"
#include "model/plugins/skill_file.h"
#include "model/prompt/prompt_context.h"
#include "model/prompt/skills.h"
#include "model/tools/project_servers.h"

enum {
    SKILLS_MAX = 300,
    SKILL_MAX_BYTES = 64 * 1024,
    RULES_MAX = 100,
    KEPT_MAX_BYTES = 256 * 1024, /* of all skills in the specification */
    PATHS_MAX = 32,              /* of one skill */
    TRIGGERS_MAX = 100,
    SHOWN_MAX = 10,         /* paths and triggers in the event */
    SHOWN_MAX_CHARS = 200,  /* of a description, a path or a trigger there */
    REASON_MAX_BYTES = 200, /* of the sandbox's words */
    SKIPPED_MAX = 2 * PROJECT_FILES_SKIPPED_MAX,
    SUMMARY_MAX_BYTES = 1024, /* of one member */
};

#define MEMBER "project_knowledge"

/* Files being read. */
struct reading {
    const struct catalogue *catalogue;
    const struct conversation *conversation;
    const json_t *context; /* the agent's */
    const char *model;
    bool with_skills_of_user;
    bool with_skills_of_project;
    bool with_memory;
    json_t *skills; /* name: skill */
    size_t n_rules;
    json_t *skipped;
    const char *soul; /* borrowed from the reply, as all below */
    const char *user_memory;
    const char *project_memory;
    json_t *hooks; /* of the last file, or NULL */
    json_t *servers;
};

void project_knowledge_done(struct project_knowledge *knowledge)
{
    if (knowledge == NULL)
        return;
    json_decref(knowledge->value);
    json_decref(knowledge->skills);
    json_decref(knowledge->activated);
    json_decref(knowledge->hooks);
    json_decref(knowledge->servers);
    *knowledge = (struct project_knowledge)PROJECT_KNOWLEDGE_INIT;
}

static bool flag(const json_t *context, const char *name)
{
    return json_bool_or(context, name, 0) != 0;
}

static const json_t *context_of(const struct conversation *conversation)
{
    return json_object_get(conversation_agent(conversation), "agent_context");
}

static struct project_question question_of(const struct conversation *conversation)
{
    const json_t *context = context_of(conversation);
    bool with_memory = flag(context, "load_memory");

    return (struct project_question){
        .places = skill_places,
        .n_places = knowledge_places_n,
        .project_dir = conversation_working_dir(conversation),
        .with_user = with_memory || flag(context, "load_user_skills"),
        .with_clone = true,
        .with_summary = true,
    };
}

json_t *project_knowledge_request(const struct conversation *conversation)
{
    const struct project_question question = question_of(conversation);

    return project_files_request(&question);
}

/* --- skills --- */

static void skip(struct reading *reading, const char *path, const char *reason)
{
    json_t *entry = NULL;

    if (json_array_size(reading->skipped) >= SKIPPED_MAX)
        return;
    entry = json_object();
    json_put_text(entry, "path", path);
    json_put_text(entry, "reason", reason);
    json_push(reading->skipped, entry);
}

/* A file for one family of models is not for others. */
static bool is_for_model(const char *skill, const char *model)
{
    if (text_equal(skill, "claude") || text_equal(skill, "gemini"))
        return strstr(model, skill) != NULL;
    return true;
}

static bool has_given(const struct reading *reading, const char *name)
{
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(reading->context, "skills"), i, skill) {
        if (text_equal(json_text_or(skill, "name", ""), name))
            return true;
    }
    return false;
}

/* The first items of a list. */
static json_t *first_of(const json_t *list, size_t n_max)
{
    json_t *first = json_array();

    for (size_t i = 0; i < json_array_size(list) && i < n_max; i++)
        json_push(first, json_incref(json_array_get(list, i)));
    return first;
}

/* The form of an agent's context: the trigger words become its trigger. */
static json_t *skill_for_context(const json_t *read)
{
    static const char *const members[] = {"name",
                                          "content",
                                          "source",
                                          "description",
                                          "is_agentskills_format",
                                          "disable_model_invocation"};
    const json_t *words = json_object_get(read, "triggers");
    json_t *skill = json_object();
    json_t *trigger = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(read, members[i]);

        if (value != NULL)
            json_put(skill, members[i], json_incref(value));
    }
    if (json_array_size(words) > 0) {
        trigger = json_object();
        json_put_text(trigger, "type", "keyword");
        json_put(trigger, "keywords", first_of(words, TRIGGERS_MAX));
    }
    json_put(skill, "paths", first_of(json_object_get(read, "paths"), PATHS_MAX));
    json_put(skill, "trigger", trigger != NULL ? trigger : json_null());
    return skill;
}

enum skill_level { LEVEL_USER, LEVEL_PROJECT };

/* The creator's skills replace the user's of the same name; the project's replace both. */
static void add_skill(struct reading *reading, const json_t *read, enum skill_level level)
{
    const char *name = json_text_or(read, "name", "");
    const char *path = json_text_or(read, "source", "");

    if (!is_for_model(name, reading->model) ||
        prompt_skill_is_disabled(reading->conversation, name) ||
        (level == LEVEL_USER && has_given(reading, name)))
        return;
    if (strlen(json_text_or(read, "content", "")) > SKILL_MAX_BYTES) {
        skip(reading, path, "it is larger than 64 KiB");
        return;
    }
    if (json_array_size(json_object_get(read, "paths")) > 0 && ++reading->n_rules > RULES_MAX) {
        skip(reading, path, "there are too many rules for paths");
        return;
    }
    if (json_object_size(reading->skills) >= SKILLS_MAX) {
        skip(reading, path, "there are too many skills");
        return;
    }
    json_put(reading->skills, name, skill_for_context(read));
}

static void add_file_skill(struct reading *reading, const struct project_file *file)
{
    const char *problem = NULL;
    json_auto_t *skill = project_skill_read(file, &problem);

    if (problem != NULL)
        skip(reading, file->path, problem);
    if (skill != NULL)
        add_skill(reading, skill, file->is_users ? LEVEL_USER : LEVEL_PROJECT);
}

/* Appends a file's folder, relative to the working directory if it is below it. */
static void append_rule_folder(const struct reading *reading, const char *folder,
                               struct strbuf *out)
{
    const char *base = conversation_working_dir(reading->conversation);
    size_t len = strlen(base);

    if (text_starts_with(folder, base) && folder[len] == '/')
        strbuf_append(out, folder + len + 1);
    else
        strbuf_append(out, folder);
}

/* A repository's file in a nested folder is a rule for that folder. */
static void add_rule(struct reading *reading, const struct project_file *file)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    json_auto_t *skill = skill_from_file(SKILL_MEMORY, file->path, file->text);
    const char *slash = strrchr(file->path, '/');
    json_t *paths = NULL;

    if (skill == NULL || slash == NULL ||
        !is_for_model(json_text_or(skill, "name", ""), reading->model))
        return;
    strbuf_append_bytes(&folder, file->path, (size_t)(slash - file->path));
    strbuf_appendf(&name, "%s:", json_text_or(skill, "name", ""));
    append_rule_folder(reading, folder.text, &name);
    strbuf_append(&folder, "/**");
    paths = json_array();
    json_push(paths, json_text(folder.text, folder.len));
    json_put(skill, "paths", paths);
    json_put_text(skill, "name", name.text);
    add_skill(reading, skill, LEVEL_PROJECT);
}

/* A project's file comes after the user's. */
static void add_hooks(struct reading *reading, const struct project_file *file)
{
    json_t *config = NULL;
    struct error err = ERROR_INIT;

    if (hooks_read(file->text, &config, &err) < 0) {
        skip(reading, file->path, err.message);
        return;
    }
    json_decref(reading->hooks);
    reading->hooks = config;
}

static void add_servers(struct reading *reading, const struct project_file *file)
{
    json_auto_t *problems = json_array();

    project_servers_read(reading->conversation, file, reading->servers, problems);
    for (size_t i = 0; i < json_array_size(problems); i++)
        skip(reading, file->path, json_string_value(json_array_get(problems, i)));
}

static void add_file(struct reading *reading, const struct project_file *file)
{
    bool with_skills =
        file->is_users ? reading->with_skills_of_user : reading->with_skills_of_project;

    if (file->place->form == FORM_MEMORY_INDEX && reading->with_memory)
        *(file->is_users ? &reading->user_memory : &reading->project_memory) = file->text;
    if (file->place->form == FORM_SOUL && file->is_users && with_skills)
        reading->soul = file->text;
    if (file->place->form == FORM_HOOKS && with_skills)
        add_hooks(reading, file);
    if (file->place->form == FORM_SERVERS)
        add_servers(reading, file);
    if (file->place->form == FORM_RULE && with_skills)
        add_rule(reading, file);
    if (file->place->form < FORM_RULE && with_skills)
        add_file_skill(reading, file);
}

static void add_files(struct reading *reading, const json_t *files)
{
    const struct project_question question = question_of(reading->conversation);
    struct project_file file;

    for (size_t i = 0; i < json_array_size(files); i++) {
        if (project_files_get(&question, files, i, &file))
            add_file(reading, &file);
    }
}

static void add_skipped(struct reading *reading, const json_t *skipped)
{
    json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach (skipped, i, entry) {
        const char *path = json_text_or(entry, "path", "");
        const char *reason = json_text_or(entry, "reason", "");

        if (i < PROJECT_FILES_SKIPPED_MAX && project_path_is_valid(path) &&
            strlen(reason) <= REASON_MAX_BYTES)
            skip(reading, path, reason);
    }
}

static void add_installed(struct reading *reading, const json_t *installed)
{
    json_t *skill = NULL;
    size_t i = 0;

    json_array_foreach (installed, i, skill)
        add_skill(reading, skill, LEVEL_USER);
}

/* --- the result --- */

/* True for a skill that later messages, calls or the model can bring in. */
static bool is_kept(const json_t *skill)
{
    return !json_is_null(json_object_get(skill, "trigger")) ||
           json_bool_or(skill, "is_agentskills_format", 0) != 0 ||
           json_array_size(json_object_get(skill, "paths")) > 0;
}

/* One that only stands in the prompt keeps its name: it replaces a skill of the creator. */
static json_t *name_only(const json_t *skill)
{
    json_t *bare = json_object();

    json_put_text(bare, "name", json_text_or(skill, "name", ""));
    return bare;
}

static void keep_skills(struct reading *reading, json_t *list)
{
    size_t n_bytes = 0;
    const char *name = NULL;
    json_t *skill = NULL;
    void *next = NULL;

    json_object_foreach_safe (reading->skills, next, name, skill) {
        size_t len = json_dumpb(skill, NULL, 0, JSON_COMPACT);

        if (!is_kept(skill)) {
            json_push(list, name_only(skill));
        } else if (n_bytes + len > KEPT_MAX_BYTES) {
            skip(reading, json_text_or(skill, "source", ""), "the skills are too large together");
            (void)json_object_del(reading->skills, name);
        } else {
            n_bytes += len;
            json_push(list, json_incref(skill));
        }
    }
}

static const char *type_of(const json_t *skill)
{
    if (json_bool_or(skill, "is_agentskills_format", 0) != 0)
        return "agentskills";
    if (json_array_size(json_object_get(skill, "paths")) > 0)
        return "rule";
    return json_is_null(json_object_get(skill, "trigger")) ? "repo" : "knowledge";
}

static json_t *shown_text(const char *text)
{
    return json_text(text, utf8_offset(text, strlen(text), SHOWN_MAX_CHARS));
}

static json_t *shown_list(const json_t *texts)
{
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(texts) && i < SHOWN_MAX; i++) {
        const char *text = json_string_value(json_array_get(texts, i));

        json_push(list, shown_text(text != NULL ? text : ""));
    }
    return list;
}

static json_t *shown_skills(json_t *skills)
{
    json_t *list = json_array();
    const char *name = NULL;
    json_t *skill = NULL;

    json_object_foreach (skills, name, skill) {
        const json_t *trigger = json_object_get(skill, "trigger");
        json_t *shown = json_object();

        json_put_text(shown, "name", name);
        json_put_text(shown, "type", type_of(skill));
        json_put_text(shown, "source", json_text_or(skill, "source", ""));
        json_put(shown, "description", shown_text(json_text_or(skill, "description", "")));
        json_put(shown, "triggers", shown_list(json_object_get(trigger, "keywords")));
        json_put(shown, "paths", shown_list(json_object_get(skill, "paths")));
        json_push(list, shown);
    }
    return list;
}

static json_t *environment_of(const struct conversation *conversation, const json_t *summary)
{
    static const char *const members[] = {"repository", "branch", "commit", "system",
                                          "image",      "egress", "ports"};
    json_t *environment = json_object();

    json_put_text(environment, "working_dir", conversation_working_dir(conversation));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *value = json_text_or(summary, members[i], "");

        /* Line breaks would let a branch's name write other lines. */
        if (value[0] != '\0' && strlen(value) <= SUMMARY_MAX_BYTES &&
            strpbrk(value, "\r\n`") == NULL)
            json_put_text(environment, members[i], value);
    }
    return environment;
}

static json_t *value_of(struct reading *reading, const json_t *summary)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *environment = environment_of(reading->conversation, summary);
    const struct prompt_findings findings = {
        .skills = reading->skills,
        .environment = environment,
        .soul = reading->soul,
        .user_memory = reading->user_memory,
        .project_memory = reading->project_memory,
        .skipped = reading->skipped,
    };
    json_t *knowledge = json_object();
    json_t *value = json_object();

    prompt_append_found_context(reading->catalogue, reading->conversation, &findings, &text);
    json_put(knowledge, "dynamic_context", json_text(text.text, text.len));
    json_put(knowledge, "skills", shown_skills(reading->skills));
    json_put(knowledge, "skipped", json_incref(reading->skipped));
    json_put(knowledge, "environment", json_incref(environment));
    json_put(knowledge, "messages", json_object());
    json_put(value, MEMBER, knowledge);
    return value;
}

void project_knowledge_read(const struct catalogue *catalogue,
                            const struct conversation *conversation,
                            const struct project_sources *sources,
                            struct project_knowledge *knowledge_out)
{
    const json_t *context = context_of(conversation);
    json_auto_t *skills = json_object();
    json_auto_t *skipped = json_array();
    json_auto_t *servers = json_object();
    struct reading reading = {
        .catalogue = catalogue,
        .conversation = conversation,
        .context = context,
        .model = catalogue_model_name(conversation_llm(conversation)),
        .with_skills_of_user = flag(context, "load_user_skills"),
        .with_skills_of_project = flag(context, "load_project_skills"),
        .with_memory = flag(context, "load_memory"),
        .skills = skills,
        .skipped = skipped,
        .servers = servers,
    };

    add_skipped(&reading, json_object_get(sources->reply, "skipped"));
    add_installed(&reading, sources->installed);
    add_files(&reading, json_object_get(sources->reply, "files"));
    *knowledge_out = (struct project_knowledge){
        .skills = json_array(), .activated = json_array(), .servers = json_incref(servers)};
    keep_skills(&reading, knowledge_out->skills);
    /* What the creator has given is not changed by a repository. */
    if (json_is_object(json_object_get(conversation->spec, "hook_config")) &&
        json_bool_or(conversation->spec, PROJECT_HOOKS, 0) == 0)
        json_decref(reading.hooks);
    else
        knowledge_out->hooks = reading.hooks;
    knowledge_out->value = value_of(&reading, json_object_get(sources->reply, "summary"));
}

void project_knowledge_add_message(struct project_knowledge *knowledge,
                                   const struct catalogue *catalogue,
                                   const struct conversation *conversation, const char *event_id,
                                   const json_t *content)
{
    CLEANUP(skill_texts_done) struct skill_texts texts = SKILL_TEXTS_INIT;
    json_t *messages = json_object_get(json_object_get(knowledge->value, MEMBER), "messages");
    json_t *message = NULL;

    skills_found_for(catalogue, conversation, knowledge->skills, knowledge->activated, content,
                     &texts);
    if (json_array_size(texts.names) == 0)
        return;
    json_array_extend(knowledge->activated, texts.names);
    message = json_object();
    json_put(message, "activated_skills", json_incref(texts.names));
    json_put(message, "extended_content", json_incref(texts.parts));
    json_put(messages, event_id, message);
}

const json_t *project_knowledge_of(const json_t *event)
{
    if (!text_equal(json_text_or(event, "key", ""), PROJECT_KNOWLEDGE_KEY))
        return NULL;
    return json_object_get(json_object_get(event, "value"), MEMBER);
}

json_t *project_knowledge_context(const json_t *knowledge)
{
    json_t *text = json_object_get(knowledge, "dynamic_context");

    return json_is_string(text) ? text : NULL;
}

const json_t *project_knowledge_extra(const json_t *knowledge, const char *event_id)
{
    const json_t *messages = json_object_get(knowledge, "messages");

    return json_object_get(json_object_get(messages, event_id), "extended_content");
}

bool project_knowledge_has_extra(const json_t *knowledge)
{
    return json_object_size(json_object_get(knowledge, "messages")) > 0;
}
