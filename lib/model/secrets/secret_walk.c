#include "model/secrets/secret_walk.h"

#include <string.h>

#include "base/error.h"
#include "base/fernet.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/schema/validation_error.h"

const char secret_marker[] = "**********";

struct secret_walk {
    const struct secret_place *place;
    const struct secret_visitor *visitor;
    struct strbuf where; /* the path so far */
};

static void walk_path(struct secret_walk *walk, json_t *node, const char *path);

static json_t *visit(const struct secret_walk *walk, const json_t *value)
{
    const char *text = json_string_value(value);

    if (text == NULL)
        return NULL;
    return walk->visitor->visit(walk->visitor->context, walk->place, walk->where.text, text);
}

/* One component of a path; not NUL-terminated. */
struct path_component {
    const char *name;
    size_t len;
};

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the paths of the tables */
static void walk_member(struct secret_walk *walk, json_t *parent, const struct path_component *step,
                        const char *rest)
{
    json_t *value = json_object_getn(parent, step->name, step->len);
    size_t len = walk->where.len;
    json_t *instead = NULL;

    if (len > 0)
        strbuf_append_char(&walk->where, '/');
    strbuf_append_bytes(&walk->where, step->name, step->len);
    if (rest != NULL)
        walk_path(walk, value, rest);
    else
        instead = visit(walk, value);
    if (instead != NULL)
        (void)json_object_setn_new(parent, step->name, step->len, instead);
    strbuf_truncate(&walk->where, len);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the paths of the tables */
static void walk_all(struct secret_walk *walk, json_t *node, const char *rest)
{
    const char *name = NULL;
    void *next = NULL;
    json_t *member = NULL;
    size_t len = walk->where.len;
    size_t i = 0;

    json_object_foreach_safe (node, next, name, member)
        walk_member(walk, node, &(struct path_component){name, strlen(name)}, rest);
    json_array_foreach (node, i, member) {
        strbuf_appendf(&walk->where, "/%zu", i);
        if (rest != NULL)
            walk_path(walk, member, rest);
        strbuf_truncate(&walk->where, len);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the paths of the tables */
static void walk_path(struct secret_walk *walk, json_t *node, const char *path)
{
    const struct path_component step = {path, strcspn(path, "/")};
    const char *rest = path[step.len] == '/' ? path + step.len + 1 : NULL;

    if (path[0] == '*')
        walk_all(walk, node, rest);
    else if (json_object_getn(node, step.name, step.len) != NULL)
        walk_member(walk, node, &step, rest);
}

void secret_walk(const struct secret_table *table, json_t *object,
                 const struct secret_visitor *visitor)
{
    struct secret_walk walk = {NULL, visitor, STRBUF_INIT};

    for (size_t i = 0; i < table->n; i++) {
        walk.place = &table->places[i];
        walk_path(&walk, object, walk.place->path);
    }
    strbuf_done(&walk.where);
}

/* An empty string becomes null, so that readers see that there is no secret. */
static json_t *take_secret(void *context, const struct secret_place *place, const char *where,
                           const char *text)
{
    if (text[0] == '\0' && place->is_blanked)
        return json_null();
    if (!text_equal(text, secret_marker))
        json_put_text(context, where, text);
    return json_text_of(secret_marker);
}

void secrets_take(const struct secret_table *table, json_t *object, json_t *members)
{
    secret_walk(table, object, &(struct secret_visitor){take_secret, members});
}

static json_t *restore(void *context, const struct secret_place *place, const char *where,
                       const char *text)
{
    json_t *value = json_object_get(context, where);

    if (!text_equal(text, secret_marker))
        return NULL;
    if (value != NULL)
        return json_incref(value);
    return place->is_blanked ? json_null() : json_text_of("");
}

void secrets_restore(const struct secret_table *table, json_t *object, const json_t *members)
{
    json_auto_t *readable = members != NULL ? json_deep_copy(members) : json_object();

    secret_walk(table, object, &(struct secret_visitor){restore, readable});
}

struct sealing {
    const unsigned char *key;
    json_t *problems; /* only for opening */
};

static json_t *seal(void *context, const struct secret_place *place, const char *where,
                    const char *text)
{
    const struct sealing *sealing = context;
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;

    (void)place;
    (void)where;
    secret_set(&plain, text);
    fernet_append(sealing->key, &plain, &token);
    return json_text_of(token.text);
}

void secrets_seal(const struct secret_table *table, json_t *object, const unsigned char *key)
{
    struct sealing sealing = {key, NULL};

    secret_walk(table, object, &(struct secret_visitor){seal, &sealing});
}

static json_t *open_token(void *context, const struct secret_place *place, const char *where,
                          const char *text)
{
    static const struct json_path body = {NULL, "body", 0};
    const struct sealing *sealing = context;
    const struct json_path at = {&body, where, 0};
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    struct error err = ERROR_INIT;

    (void)place;
    if (!fernet_is_token(text))
        return NULL;
    if (fernet_open(sealing->key, text, &plain, &err) == 0)
        return json_text(secret_reveal(&plain), plain.len);
    validation_error_add_value(sealing->problems, &at, "this server cannot open the sealed secret",
                               NULL);
    return NULL;
}

void secrets_open(const struct secret_table *table, json_t *object, const unsigned char *key,
                  json_t *problems)
{
    struct sealing sealing = {key, problems};

    secret_walk(table, object, &(struct secret_visitor){open_token, &sealing});
}
