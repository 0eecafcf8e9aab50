#include "model/tools/project_servers.h"

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/plugins/mcp_file.h"
#include "model/plugins/project_files.h"
#include "model/plugins/project_skills.h"
#include "model/secrets/secret_reference.h"

#define FOUND "found"
#define CONSENTS "consents"

static json_t *member_of(const json_t *spec, const char *name)
{
    return json_object_get(json_object_get(spec, PROJECT_SERVERS), name);
}

/* --- reading --- */

static bool flag(const struct conversation *conversation, const char *name)
{
    const json_t *context = json_object_get(conversation_agent(conversation), "agent_context");

    return json_bool_or(context, name, 0) != 0;
}

void project_servers_read(const struct conversation *conversation, const struct project_file *file,
                          json_t *found, json_t *problems)
{
    const json_t *own = json_object_get(conversation_agent(conversation), "mcp_config");

    if (flag(conversation, file->is_users ? "load_user_skills" : "load_project_skills"))
        mcp_file_read(file->text, file->path, own, found, problems);
}

static struct project_question question_of(const struct conversation *conversation)
{
    return (struct project_question){
        .places = server_places,
        .n_places = server_places_n,
        .project_dir = flag(conversation, "load_project_skills")
                           ? conversation_working_dir(conversation)
                           : NULL,
        .with_user = flag(conversation, "load_user_skills"),
        .with_clone = true,
    };
}

json_t *project_servers_request(const struct conversation *conversation)
{
    const struct project_question question = question_of(conversation);

    return project_files_request(&question);
}

json_t *project_servers_find(const struct conversation *conversation, const json_t *reply)
{
    const struct project_question question = question_of(conversation);
    const json_t *files = json_object_get(reply, "files");
    json_auto_t *problems = json_array();
    json_t *found = json_object();
    struct project_file file;

    for (size_t i = 0; i < json_array_size(files); i++) {
        if (project_files_get(&question, files, i, &file))
            project_servers_read(conversation, &file, found, problems);
    }
    return found;
}

/* --- showing --- */

static json_t *names_of(const json_t *map)
{
    json_t *names = json_array();
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)map, name, value)
        json_push(names, json_text_of(name));
    return names;
}

/* The program and its arguments. */
static json_t *command_of(const json_t *server)
{
    json_t *command = json_array();

    json_push(command, json_incref(json_object_get(server, "command")));
    (void)json_array_extend(command, json_object_get(server, "args"));
    return command;
}

json_t *project_servers_show(const char *name, const json_t *entry)
{
    const json_t *server = json_object_get(entry, "server");
    const char *url = json_text_or(server, "url", NULL);
    json_auto_t *secrets = json_object();
    json_t *shown = json_object();

    secret_reference_add_names(server, secrets);
    json_put_text(shown, "name", name);
    json_put_text(shown, "digest", json_text_or(entry, "digest", ""));
    json_put_text(shown, "source", json_text_or(entry, "source", ""));
    json_put_text(shown, "url", url);
    if (url == NULL)
        json_put(shown, "command", command_of(server));
    json_put_text(shown, "cwd", json_text_or(server, "cwd", NULL));
    json_put(shown, "env", names_of(json_object_get(server, "env")));
    json_put(shown, "headers", names_of(json_object_get(server, "headers")));
    json_put_text(shown, "auth", json_text_or(json_object_get(server, "auth"), "strategy", NULL));
    json_put(shown, "secrets", names_of(secrets));
    return shown;
}

/* --- what is known --- */

bool project_servers_were_found(const json_t *spec)
{
    return json_object_get(spec, PROJECT_SERVERS) != NULL;
}

static const char *digest_of(const json_t *found, const char *name)
{
    return json_text_or(json_object_get(found, name), "digest", "");
}

bool project_servers_are(const json_t *spec, const json_t *found)
{
    const json_t *known = member_of(spec, FOUND);
    const char *name = NULL;
    json_t *entry = NULL;

    if (json_object_size(known) != json_object_size(found))
        return false;
    json_object_foreach ((json_t *)(uintptr_t)found, name, entry) {
        if (!text_equal(digest_of(known, name), json_text_or(entry, "digest", "")))
            return false;
    }
    return true;
}

static bool is_consented(const json_t *spec, const char *name)
{
    const char *digest = json_text_or(member_of(spec, CONSENTS), name, "");

    return digest[0] != '\0' && text_equal(digest, digest_of(member_of(spec, FOUND), name));
}

void project_servers_set(json_t *spec, json_t *found)
{
    json_t *own = NULL;
    json_t *consents = NULL;
    const char *name = NULL;
    json_t *digest = NULL;
    void *next = NULL;

    if (json_object_get(spec, PROJECT_SERVERS) == NULL && json_object_size(found) == 0)
        return;
    own = json_need_object(spec, PROJECT_SERVERS);
    json_put(own, FOUND, json_incref(found));
    consents = json_need_object(own, CONSENTS);
    json_object_foreach_safe (consents, next, name, digest) {
        if (!is_consented(spec, name))
            (void)json_object_del(consents, name);
    }
}

json_t *project_servers_event_value(const json_t *spec)
{
    json_t *list = json_array();
    json_t *value = json_object();
    const char *name = NULL;
    json_t *entry = NULL;

    json_object_foreach (member_of(spec, FOUND), name, entry) {
        json_t *shown = json_deep_copy(json_object_get(entry, "shown"));

        json_put(shown, "is_consented", json_boolean(is_consented(spec, name)));
        json_push(list, shown);
    }
    json_put(value, "project_mcp_servers", list);
    return value;
}

/* --- consents --- */

int project_servers_consent(json_t *spec, const char *name, const char *digest, struct error *err)
{
    const json_t *entry = json_object_get(member_of(spec, FOUND), name);

    if (entry == NULL)
        return error_set(err, ERROR_NOT_FOUND, "The workspace names no MCP server of that name");
    if (!text_equal(json_text_or(entry, "digest", ""), digest))
        return error_set(err, ERROR_CONFLICT,
                         "The workspace's file has changed: look at the MCP server again");
    json_put_text(json_need_object(json_object_get(spec, PROJECT_SERVERS), CONSENTS), name, digest);
    return 0;
}

void project_servers_withdraw(json_t *spec, const char *name)
{
    (void)json_object_del(member_of(spec, CONSENTS), name);
}

void project_servers_withdraw_all(json_t *spec)
{
    (void)json_object_clear(member_of(spec, CONSENTS));
}

json_t *project_servers_consented(const json_t *spec)
{
    json_t *servers = json_object();
    const char *name = NULL;
    json_t *entry = NULL;

    json_object_foreach (member_of(spec, FOUND), name, entry) {
        if (is_consented(spec, name))
            json_put(servers, name, json_incref(json_object_get(entry, "server")));
    }
    return servers;
}

json_t *project_servers_digests(const json_t *spec)
{
    json_t *digests = json_object();
    const char *name = NULL;
    json_t *entry = NULL;

    json_object_foreach (member_of(spec, FOUND), name, entry) {
        if (is_consented(spec, name))
            json_put(digests, name, json_incref(json_object_get(entry, "digest")));
    }
    return digests;
}
