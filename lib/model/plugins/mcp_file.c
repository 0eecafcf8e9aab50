#include "model/plugins/mcp_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { NAME_MAX_BYTES = 64, ITEMS_MAX = 64, SERVER_MAX_BYTES = 4 * 1024, PROBLEMS_MAX = 10 };

/* --- texts --- */

/* First and last of characters that are not shown, or change the direction of others. */
static const char *const unseen[][2] = {
    {"\xc2\x80", "\xc2\x9f"},                 /* controls */
    {"\xc2\xad", "\xc2\xad"},                 /* soft hyphen */
    {"\xd8\x9c", "\xd8\x9c"},                 /* U+061C */
    {"\xe1\x85\x9f", "\xe1\x85\xa0"},         /* Hangul fillers */
    {"\xe1\xa0\x8b", "\xe1\xa0\x8f"},         /* U+180B to U+180F */
    {"\xe2\x80\x8b", "\xe2\x80\x8f"},         /* U+200B to U+200F */
    {"\xe2\x80\xa8", "\xe2\x80\xae"},         /* U+2028 to U+202E */
    {"\xe2\x81\xa0", "\xe2\x81\xaf"},         /* U+2060 to U+206F */
    {"\xe3\x85\xa4", "\xe3\x85\xa4"},         /* U+3164, a filler */
    {"\xef\xb8\x80", "\xef\xb8\x8f"},         /* variation selectors */
    {"\xef\xbb\xbf", "\xef\xbb\xbf"},         /* U+FEFF */
    {"\xef\xbe\xa0", "\xef\xbe\xa0"},         /* U+FFA0, a filler */
    {"\xf3\xa0\x80\x80", "\xf3\xa0\x87\xaf"}, /* tags, and more selectors */
};

/* UTF-8 sorts as the characters do. */
static bool is_unseen(const char *at)
{
    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++) {
        size_t len = strlen(unseen[i][0]);

        if (strncmp(at, unseen[i][0], len) >= 0 && strncmp(at, unseen[i][1], len) <= 0)
            return true;
    }
    return false;
}

/* True if a user who reads the text sees all of it. */
static bool is_plain(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f || is_unseen(at))
            return false;
    }
    return true;
}

static bool is_name(const char *text)
{
    size_t len = strnlen(text, NAME_MAX_BYTES + 1);

    if (len == 0 || len > NAME_MAX_BYTES)
        return false;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~')
            return false;
    }
    return true;
}

/* --- members --- */

static bool is_text(const json_t *value)
{
    return json_is_string(value) && is_plain(json_string_value(value));
}

/* Letters of other scripts could look like those of another address. */
static bool is_url(const json_t *value)
{
    const char *text = json_string_value(value);

    for (; text != NULL && *text != '\0'; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return text != NULL;
}

static bool is_texts(const json_t *value)
{
    size_t i = 0;
    const json_t *item = NULL;

    if (!json_is_array(value) || json_array_size(value) > ITEMS_MAX)
        return false;
    json_array_foreach (value, i, item) {
        if (!is_text(item))
            return false;
    }
    return true;
}

static bool is_text_map(const json_t *value)
{
    const char *name = NULL;
    json_t *item = NULL;

    if (!json_is_object(value) || json_object_size(value) > ITEMS_MAX)
        return false;
    json_object_foreach ((json_t *)(uintptr_t)value, name, item) {
        if (name[0] == '\0' || !is_plain(name) || !is_text(item))
            return false;
    }
    return true;
}

static bool is_number(const json_t *value)
{
    return json_is_number(value);
}

/* A sign-in cannot be named by a file: its tokens are the user's. */
static bool is_auth(const json_t *value)
{
    static const char *const strategies[] = {"none", "api_key", "bearer", "basic", "header"};
    const char *strategy = json_text_or(value, "strategy", "");
    const char *name = NULL;
    json_t *member = NULL;

    json_object_foreach ((json_t *)(uintptr_t)value, name, member) {
        if (!is_plain(name) || !(is_text(member) || is_text_map(member)))
            return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
        if (text_equal(strategy, strategies[i]))
            return true;
    }
    return false;
}

enum reached { BY_URL = 1, BY_COMMAND = 2, BY_BOTH = 3 };

/* Members of a server, in the order in which they are kept. */
static const struct server_member {
    const char *name;
    bool (*is_valid)(const json_t *value);
    enum reached of;
} members[] = {
    {"url", is_url, BY_URL},        {"headers", is_text_map, BY_URL},
    {"auth", is_auth, BY_URL},      {"command", is_text, BY_COMMAND},
    {"args", is_texts, BY_COMMAND}, {"env", is_text_map, BY_COMMAND},
    {"cwd", is_text, BY_COMMAND},   {"timeout", is_number, BY_BOTH},
};

static bool has_text(const json_t *server, const char *name)
{
    return json_text_or(server, name, "")[0] != '\0';
}

/* The transport by its usual name; NULL: it is none of this kind of server. "": not said. */
static const char *transport_of(const json_t *server, enum reached how)
{
    static const char *const names[][2] = {
        {"http", "http"}, {"shttp", "http"}, {"streamable-http", "http"}, {"sse", "sse"}};
    const char *given = json_text_or(server, "transport", json_text_or(server, "type", ""));

    if (given[0] == '\0' || (how == BY_COMMAND && text_equal(given, "stdio")))
        return "";
    for (size_t i = 0; i < ARRAY_SIZE(names) && how == BY_URL; i++) {
        if (text_equal(given, names[i][0]))
            return names[i][1];
    }
    return NULL;
}

/* Copies what is used of the server; returns why it cannot be used, NULL: it can. */
static const char *take_members(const json_t *server, enum reached how, json_t *kept)
{
    const char *transport = transport_of(server, how);

    if (transport == NULL)
        return "its transport is not known";
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(server, members[i].name);

        if (value == NULL || json_is_null(value) || (members[i].of & how) == 0)
            continue;
        if (!members[i].is_valid(value))
            return "one of its members is of another kind, too large, or has characters that "
                   "cannot be seen";
        json_put(kept, members[i].name, json_incref(value));
    }
    json_put_text(kept, "transport", transport[0] != '\0' ? transport : NULL);
    return NULL;
}

/* As above, for the whole of it. */
static const char *take_server(const json_t *server, json_t *kept)
{
    const char *url = json_text_or(server, "url", "");
    const char *problem = NULL;
    CLEANUP(mem_freep) char *text = NULL;

    /* The user is shown one of them. */
    if (!json_is_object(server) || has_text(server, "url") == has_text(server, "command"))
        return "it needs either a url or a command";
    if (url[0] != '\0' && !text_starts_with(url, "https://") && !text_starts_with(url, "http://"))
        return "its url does not begin with https://";
    problem = take_members(server, url[0] != '\0' ? BY_URL : BY_COMMAND, kept);
    if (problem != NULL)
        return problem;
    text = json_to_text(kept);
    return strlen(text) > SERVER_MAX_BYTES ? "it is larger than 4 KiB" : NULL;
}

/* --- files --- */

static void note(json_t *problems, const char *name, const char *problem)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (json_array_size(problems) >= PROBLEMS_MAX)
        return;
    if (name != NULL)
        strbuf_appendf(&text, "%s: ", name);
    strbuf_append(&text, problem);
    json_push(problems, json_text(text.text, text.len));
}

static json_t *new_entry(const char *name, json_t *server, const char *path)
{
    json_auto_t *exact = json_array();
    json_t *entry = json_object();
    CLEANUP(mem_freep) char *text = NULL;
    char digest[CRYPTO_HASH_HEX_BYTES];

    json_push(exact, json_text_of(name));
    json_push(exact, json_incref(server));
    text = json_to_text(exact);
    crypto_sha256_hex(text, strlen(text), digest);
    json_put(entry, "server", json_incref(server));
    json_put_text(entry, "source", path);
    json_put_text(entry, "digest", digest);
    return entry;
}

static bool is_off(const json_t *server)
{
    return json_bool_or(server, "enabled", 1) == 0 || json_bool_or(server, "disabled", 0) != 0;
}

static void add_server(const char *name, const json_t *server, const char *path, json_t *found,
                       json_t *problems)
{
    json_auto_t *kept = json_object();
    const char *problem = take_server(server, kept);

    if (problem != NULL)
        note(problems, name, problem);
    else
        json_put(found, name, new_entry(name, kept, path));
}

static void add_servers(json_t *servers, const char *path, const json_t *taken, json_t *found,
                        json_t *problems)
{
    const char *name = NULL;
    json_t *server = NULL;

    json_object_foreach (servers, name, server) {
        if (is_off(server))
            continue;
        if (!is_name(name)) {
            note(problems, NULL, "a server's name is not one of 1 to 64 printable characters");
        } else if (json_object_get(taken, name) != NULL) {
            note(problems, name, "the agent has a server of this name");
        } else if (json_object_size(found) >= MCP_FILE_SERVERS_MAX &&
                   json_object_get(found, name) == NULL) {
            note(problems, NULL, "there are more than 16 servers");
            return;
        } else {
            add_server(name, server, path, found, problems);
        }
    }
}

void mcp_file_read(const char *text, const char *path, const json_t *taken, json_t *found,
                   json_t *problems)
{
    json_auto_t *file = NULL;
    json_t *servers = NULL;
    struct error err = ERROR_INIT;

    if (json_parse(text, strlen(text), &file, &err) < 0) {
        note(problems, NULL, err.message);
        return;
    }
    servers = json_object_get(file, "mcpServers");
    if (servers == NULL)
        servers = file;
    if (json_is_object(servers))
        add_servers(servers, path, taken, found, problems);
    else
        note(problems, NULL, "it is not a map of MCP servers");
}
