#include "llm/formats/gemini_schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/formats/schema_ref.h"

enum { DEPTH_MAX = 16, FACETS_MAX = 16, WORDS_MAX_BYTES = 1000 };

/*
 * References can make a small schema large without end: a result has at most as many values as
 * these, and one more for every two bytes of the schema. A text counts by its length, too, and so
 * does each entry of a list that is read, since many nodes may refer to one list.
 */
enum { VALUES_AT_LEAST = 1000, BYTES_PER_VALUE = 2, TEXT_BYTES_PER_VALUE = 32 };

static const struct {
    const char *theirs; /* of JSON Schema */
    const char *ours;
} types[] = {
    {"string", "STRING"},   {"number", "NUMBER"}, {"integer", "INTEGER"},
    {"boolean", "BOOLEAN"}, {"array", "ARRAY"},   {"object", "OBJECT"},
};

/* A schema to convert, and the object that it becomes. */
struct node {
    const json_t *source; /* without $ref; NULL or no object: any value */
    json_t *target;       /* borrowed from its parent's */
    const char *type;     /* in place of the source's; NULL: none */
    size_t parent;        /* its own number for the root */
    size_t depth;
};

struct schema_walk {
    const json_t *root;
    struct node *nodes;
    size_t n;
    size_t size;
    size_t n_left; /* values that may be added or read */
};

/* A schema and those that it is the sum of: allOf, or the only alternative. */
struct facets {
    const json_t *items[FACETS_MAX];
    size_t n;
    bool is_nullable;
};

/* --- the list of nodes --- */

static bool is_within(const struct schema_walk *walk, size_t parent, const json_t *source)
{
    size_t i = parent;

    while (walk->nodes[i].source != source && walk->nodes[i].parent != i)
        i = walk->nodes[i].parent;
    return walk->nodes[i].source == source;
}

static void add_node(struct schema_walk *walk, const struct node *node)
{
    if (walk->n == walk->size) {
        walk->size = walk->size == 0 ? 64 : 2 * walk->size;
        walk->nodes = mem_resize(walk->nodes, walk->size * sizeof(*walk->nodes));
    }
    walk->nodes[walk->n++] = *node;
}

/* False if there is no room for n more values. */
static bool spend(struct schema_walk *walk, size_t n)
{
    if (walk->n_left < n)
        return false;
    walk->n_left -= n;
    return true;
}

/* As spend(), for a value that is a text, or for the name of one. */
static bool spend_text(struct schema_walk *walk, size_t len)
{
    return spend(walk, 1 + len / TEXT_BYTES_PER_VALUE);
}

/*
 * A new object for a schema within that of a node; NULL if there is no room. One that is too deep,
 * or within itself, is not described further.
 */
static json_t *child_new(struct schema_walk *walk, size_t parent, const json_t *schema,
                         const char *type)
{
    struct node node = {.source = schema_resolve(walk->root, schema),
                        .type = type,
                        .parent = parent,
                        .depth = walk->nodes[parent].depth + 1};

    if (!spend(walk, 1))
        return NULL;
    node.target = json_object();
    if (node.depth >= DEPTH_MAX || (type == NULL && is_within(walk, parent, node.source)))
        json_put_text(node.target, "type", "OBJECT");
    else
        add_node(walk, &node);
    return node.target;
}

/* --- facets --- */

static bool is_null(const json_t *schema)
{
    return text_equal(json_text_or(schema, "type", ""), "null") ||
           json_is_null(json_object_get(schema, "const"));
}

static void add_facet(struct facets *facets, const json_t *schema)
{
    if (json_is_object(schema) && facets->n < FACETS_MAX)
        facets->items[facets->n++] = schema;
}

/* The member of the first facet that has it. */
static json_t *facet_member(const struct facets *facets, const char *key)
{
    for (size_t i = 0; i < facets->n; i++) {
        json_t *value = json_object_get(facets->items[i], key);

        if (value != NULL)
            return value;
    }
    return NULL;
}

static const json_t *alternatives_of(const struct facets *facets)
{
    const json_t *list = facet_member(facets, "anyOf");

    return list != NULL ? list : facet_member(facets, "oneOf");
}

/* The number of alternatives but null; *only_out is the last of them. */
static size_t count_alternatives(struct schema_walk *walk, struct facets *facets,
                                 const json_t **only_out)
{
    const json_t *schema = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (alternatives_of(facets), i, schema) {
        const json_t *resolved = NULL;

        if (!spend(walk, 1))
            break;
        resolved = schema_resolve(walk->root, schema);
        if (is_null(resolved)) {
            facets->is_nullable = true;
            continue;
        }
        *only_out = resolved;
        n++;
    }
    return n;
}

/* The list grows as it is walked: a part may have parts of its own. */
static struct facets facets_of(struct schema_walk *walk, const json_t *source)
{
    struct facets facets = {.n = 0};
    const json_t *only = NULL;

    add_facet(&facets, source);
    for (size_t k = 0; k < facets.n; k++) {
        const json_t *part = NULL;
        size_t i = 0;

        json_array_foreach (json_object_get(facets.items[k], "allOf"), i, part) {
            if (!spend(walk, 1))
                break;
            add_facet(&facets, schema_resolve(walk->root, part));
        }
    }
    if (count_alternatives(walk, &facets, &only) == 1)
        add_facet(&facets, only);
    return facets;
}

/* --- types --- */

static const char *our_type(const char *type)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (text_equal(types[i].theirs, type))
            return types[i].ours;
    }
    return NULL;
}

static const char *type_of_value(const json_t *value)
{
    if (json_is_string(value))
        return "STRING";
    if (json_is_integer(value))
        return "INTEGER";
    if (json_is_number(value))
        return "NUMBER";
    return json_is_boolean(value) ? "BOOLEAN" : NULL;
}

/* What the schema is about, if it does not say its type. */
static const char *implied_type(const struct facets *facets)
{
    const json_t *values = facet_member(facets, "enum");
    const json_t *constant = facet_member(facets, "const");

    if (facet_member(facets, "properties") != NULL)
        return "OBJECT";
    if (facet_member(facets, "items") != NULL)
        return "ARRAY";
    return type_of_value(constant != NULL ? constant : json_array_get(values, 0));
}

/* Its only type, or NULL. Of a list of types, *several_out is the list. */
static const char *read_type(struct schema_walk *walk, struct facets *facets,
                             const json_t **several_out)
{
    const json_t *type = facet_member(facets, "type");
    const json_t *entry = NULL;
    const char *only = NULL;
    size_t n = 0;
    size_t i = 0;

    if (json_is_string(type))
        return our_type(json_string_value(type));
    json_array_foreach (type, i, entry) {
        const char *name = json_string_value(entry);

        if (!spend(walk, 1))
            break;
        if (name != NULL && our_type(name) != NULL) {
            only = our_type(name);
            n++;
        }
        facets->is_nullable = facets->is_nullable || (name != NULL && text_equal(name, "null"));
    }
    if (n > 1)
        *several_out = type;
    return n == 1 ? only : NULL;
}

/* --- keywords --- */

static void add_words(struct strbuf *out, const char *words)
{
    if (words[0] == '\0')
        return;
    if (out->len > 0)
        strbuf_append_char(out, '\n');
    strbuf_append(out, words);
}

static void append_value(struct strbuf *out, const json_t *value)
{
    if (json_is_object(value) || json_is_array(value) ||
        json_string_length(value) > WORDS_MAX_BYTES)
        strbuf_append(out, "...");
    else
        json_append_text(out, value);
}

/* The values that are allowed, as a sentence. */
static void describe_values(const json_t *values, struct strbuf *out)
{
    const json_t *value = NULL;
    size_t begin = out->len;
    size_t i = 0;

    json_array_foreach (values, i, value) {
        add_words(out, i == 0 ? "One of: " : "");
        if (i > 0)
            strbuf_append(out, ", ");
        append_value(out, value);
        if (out->len > begin + WORDS_MAX_BYTES)
            break;
    }
    if (json_array_size(values) > 0 && i < json_array_size(values))
        strbuf_append(out, ", ...");
}

/* Only texts can be listed, and no empty one. */
static bool put_enum(struct schema_walk *walk, json_t *target, const char *type,
                     const json_t *values)
{
    json_t *own = NULL;
    json_t *value = NULL;
    bool is_whole = text_equal(type, "STRING");
    size_t i = 0;

    if (!is_whole)
        return false;
    own = json_array();
    json_array_foreach (values, i, value) {
        size_t len = json_string_length(value);

        is_whole = spend_text(walk, len) && (len > 0 || json_is_null(value));
        if (!is_whole)
            break;
        if (len > 0)
            json_push(own, json_incref(value));
    }
    is_whole = is_whole && json_array_size(own) > 0;
    if (is_whole)
        json_put(target, "enum", json_incref(own));
    json_decref(own);
    return is_whole;
}

static void put_values(struct schema_walk *walk, json_t *target, const struct facets *facets,
                       const char *type, struct strbuf *words)
{
    json_t *constant = facet_member(facets, "const");
    json_auto_t *values = NULL;

    if (constant != NULL) {
        values = json_array();
        json_push(values, json_incref(constant));
    } else {
        values = json_incref(facet_member(facets, "enum"));
    }
    if (json_array_size(values) > 0 && !put_enum(walk, target, type, values))
        describe_values(values, words);
}

static void copy_numbers(json_t *target, const struct facets *facets, const char *const *keys,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = facet_member(facets, keys[i]);

        if (json_is_number(value))
            json_put(target, keys[i], json_incref(value));
    }
}

static void put_limits(json_t *target, const struct facets *facets, const char *type)
{
    static const char *const of_numbers[] = {"minimum", "maximum"};
    static const char *const of_texts[] = {"minLength", "maxLength"};
    static const char *const of_arrays[] = {"minItems", "maxItems"};

    if (text_equal(type, "INTEGER") || text_equal(type, "NUMBER"))
        copy_numbers(target, facets, of_numbers, ARRAY_SIZE(of_numbers));
    else if (text_equal(type, "STRING"))
        copy_numbers(target, facets, of_texts, ARRAY_SIZE(of_texts));
    else if (text_equal(type, "ARRAY"))
        copy_numbers(target, facets, of_arrays, ARRAY_SIZE(of_arrays));
}

/* The only format of texts that the server knows. */
static void put_format(json_t *target, const struct facets *facets, const char *type)
{
    const char *format = json_string_value(facet_member(facets, "format"));

    if (text_equal(type, "STRING") && format != NULL && text_equal(format, "date-time"))
        json_put_text(target, "format", format);
}

/* --- objects and arrays --- */

/* A name that is required must be one of the properties. */
static void put_required(struct schema_walk *walk, json_t *target, const json_t *properties,
                         const struct facets *facets)
{
    json_t *required = json_array();

    for (size_t k = 0; k < facets->n; k++) {
        json_t *name = NULL;
        size_t i = 0;

        json_array_foreach (json_object_get(facets->items[k], "required"), i, name) {
            if (!spend_text(walk, json_string_length(name)))
                break;
            if (json_is_string(name) &&
                json_object_get(properties, json_string_value(name)) != NULL)
                json_push(required, json_incref(name));
        }
    }
    if (json_array_size(required) > 0)
        json_put(target, "required", json_incref(required));
    json_decref(required);
}

static void put_properties(struct schema_walk *walk, size_t index, const struct facets *facets)
{
    json_t *target = walk->nodes[index].target;
    json_t *properties = json_object();

    for (size_t k = 0; k < facets->n; k++) {
        json_t *members = json_object_get(facets->items[k], "properties");
        const char *name = NULL;
        json_t *schema = NULL;

        json_object_foreach (members, name, schema) {
            if (!spend_text(walk, strlen(name)))
                break;
            if (json_object_get(properties, name) == NULL)
                json_put(properties, name, child_new(walk, index, schema, NULL));
        }
    }
    put_required(walk, target, properties, facets);
    if (json_object_size(properties) > 0)
        json_put(target, "properties", json_incref(properties));
    json_decref(properties);
}

/* They must be described. */
static void put_items(struct schema_walk *walk, size_t index, const struct facets *facets)
{
    json_t *items = child_new(walk, index, facet_member(facets, "items"), NULL);

    if (items == NULL) {
        items = json_object();
        json_put_text(items, "type", "STRING");
    }
    json_put(walk->nodes[index].target, "items", items);
}

/* --- a node --- */

static void put_alternatives(struct schema_walk *walk, size_t index, const json_t *list)
{
    json_t *target = walk->nodes[index].target;
    json_t *own = json_array();
    json_t *schema = NULL;
    size_t i = 0;

    json_array_foreach (list, i, schema) {
        json_t *child = NULL;

        if (!is_null(schema_resolve(walk->root, schema)))
            child = child_new(walk, index, schema, NULL);
        if (child != NULL)
            json_push(own, child);
    }
    json_put(target, "anyOf", own);
}

/* One alternative per type, of the same schema. */
static void put_types(struct schema_walk *walk, size_t index, const json_t *list)
{
    json_t *target = walk->nodes[index].target;
    const json_t *source = walk->nodes[index].source;
    json_t *own = json_array();
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach (list, i, entry) {
        const char *type = json_is_string(entry) ? our_type(json_string_value(entry)) : NULL;

        json_t *child = type != NULL ? child_new(walk, index, source, type) : NULL;

        if (child != NULL)
            json_push(own, child);
    }
    json_put(target, "anyOf", own);
}

/* The format has no word for it. */
static void put_any(json_t *target)
{
    static const char *const any[] = {"STRING", "NUMBER", "BOOLEAN", "OBJECT"};
    json_t *own = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(any); i++) {
        json_t *type = json_object();

        json_put_text(type, "type", any[i]);
        json_push(own, type);
    }
    json_put(target, "anyOf", own);
}

static void put_type(struct schema_walk *walk, size_t index, const struct facets *facets,
                     const char *type, struct strbuf *words)
{
    json_t *target = walk->nodes[index].target;

    json_put_text(target, "type", type);
    put_values(walk, target, facets, type, words);
    put_limits(target, facets, type);
    put_format(target, facets, type);
    if (text_equal(type, "OBJECT"))
        put_properties(walk, index, facets);
    if (text_equal(type, "ARRAY"))
        put_items(walk, index, facets);
}

/* Of the alternatives of a list of types, the list's own node has it. */
static void put_description(struct schema_walk *walk, const struct node *node,
                            const struct facets *facets, const struct strbuf *values)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    bool is_shown = node->type == NULL || node->depth == 0;
    const json_t *own = is_shown ? facet_member(facets, "description") : NULL;

    if (!spend_text(walk, json_string_length(own) + values->len))
        return;
    if (json_is_string(own))
        add_words(&words, json_string_value(own));
    add_words(&words, values->text);
    if (words.len > 0)
        json_put(node->target, "description", json_text(words.text, words.len));
}

static void convert(struct schema_walk *walk, size_t index)
{
    CLEANUP(strbuf_done) struct strbuf values = STRBUF_INIT;
    const struct node node = walk->nodes[index];
    struct facets facets = facets_of(walk, node.source);
    const json_t *several = NULL;
    const json_t *only = NULL;
    const char *type = node.type != NULL ? node.type : read_type(walk, &facets, &several);
    size_t n = count_alternatives(walk, &facets, &only);

    if (type == NULL && several == NULL && (n < 2 || facet_member(&facets, "properties") != NULL))
        type = implied_type(&facets);
    if (type != NULL)
        put_type(walk, index, &facets, type, &values);
    else if (several != NULL)
        put_types(walk, index, several);
    else if (n > 1)
        put_alternatives(walk, index, alternatives_of(&facets));
    else
        put_any(node.target);
    if (facets.is_nullable && node.type == NULL)
        json_put(node.target, "nullable", json_true());
    put_description(walk, &node, &facets, &values);
}

static size_t values_max(const json_t *schema)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (schema != NULL)
        json_append_text(&text, schema);
    return VALUES_AT_LEAST + text.len / BYTES_PER_VALUE;
}

json_t *gemini_schema_new(const json_t *schema)
{
    struct schema_walk walk = {.root = schema, .n_left = values_max(schema)};
    json_t *root = json_object();

    add_node(
        &walk,
        &(struct node){.source = schema_resolve(schema, schema), .target = root, .type = "OBJECT"});
    for (size_t i = 0; i < walk.n; i++)
        convert(&walk, i);
    mem_free(walk.nodes);
    if (json_object_get(root, "properties") != NULL)
        return root;
    json_decref(root);
    return NULL;
}
