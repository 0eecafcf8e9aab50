#include "model/word_search.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/* Maximum size of one batch of words, in bytes: each byte needs a node of 20 bytes. */
enum { TOGETHER_MAX_BYTES = 1 << 20 };

/*
 * A symbol is a character and, for WORD_ALONE, whether a word may begin or end there, that is,
 * whether the adjacent character is not a letter or digit. So matching symbols is sufficient.
 */
enum { MAY_BEGIN = 0x100, MAY_END = 0x200, N_SYMBOLS = 0x400, CHARACTER = 0xFF };

/* A prefix of one or more words. Index 0 is the root, and means "none" in links. */
struct word_node {
    uint32_t child;
    uint32_t sibling;
    uint32_t suffix; /* the longest proper suffix that is a prefix, too */
    uint32_t word;   /* the first unfound word from here along suffixes */
    uint16_t symbol;
    bool is_word;
    bool is_found;
};

struct word_search {
    const char *text;
    enum word_place place;
    struct word_node *nodes;
    size_t n_nodes;
    size_t nodes_size;
    uint32_t first[N_SYMBOLS]; /* children of the root */
    uint32_t *places;          /* per word: its node; once settled, whether it was found */
    size_t n_words;
    size_t words_size;
    size_t n_settled; /* words already searched for */
};

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Returns the symbol of a character of the text or of a word. */
static uint16_t symbol_at(const struct word_search *search, const char *text, size_t at)
{
    unsigned symbol = (unsigned)tolower((unsigned char)text[at]) & CHARACTER;

    if (search->place == WORD_ANYWHERE)
        return (uint16_t)symbol;
    if (at == 0 || !is_word_character(text[at - 1]))
        symbol |= MAY_BEGIN;
    if (!is_word_character(text[at + 1]))
        symbol |= MAY_END;
    return (uint16_t)symbol;
}

static void forget_nodes(struct word_search *search)
{
    memset(search->first, 0, sizeof(search->first));
    search->n_nodes = 1;
}

struct word_search *word_search_new(const char *text, enum word_place place)
{
    struct word_search *search = NEW(struct word_search);

    search->text = text;
    search->place = place;
    forget_nodes(search);
    return search;
}

void word_search_free(struct word_search *search)
{
    if (search == NULL)
        return;
    mem_free(search->nodes);
    mem_free(search->places);
    mem_free(search);
}

void word_search_freep(struct word_search **search)
{
    word_search_free(*search);
}

/* --- the tree --- */

static uint32_t child_of(const struct word_search *search, uint32_t node, uint16_t symbol)
{
    uint32_t child = 0;

    if (node == 0)
        return search->first[symbol];
    child = search->nodes[node].child;
    while (child != 0 && search->nodes[child].symbol != symbol)
        child = search->nodes[child].sibling;
    return child;
}

static uint32_t add_child(struct word_search *search, uint32_t node, uint16_t symbol)
{
    uint32_t child = (uint32_t)search->n_nodes;

    if (search->n_nodes + 1 > search->nodes_size) {
        search->nodes_size = 2 * search->n_nodes + 64;
        search->nodes = mem_resize(search->nodes, search->nodes_size * sizeof(*search->nodes));
        search->nodes[0] = (struct word_node){.child = 0};
    }
    search->n_nodes++;
    search->nodes[child] = (struct word_node){.symbol = symbol};
    if (node == 0) {
        search->first[symbol] = child;
    } else {
        search->nodes[child].sibling = search->nodes[node].child;
        search->nodes[node].child = child;
    }
    return child;
}

/* Returns the node of the word; 0 if it cannot be in the text. */
static uint32_t add_to_tree(struct word_search *search, const char *word)
{
    size_t len = strlen(word);
    uint32_t node = 0;

    if (strnlen(search->text, len) < len)
        return 0;
    for (size_t i = 0; i < len; i++) {
        uint16_t symbol = symbol_at(search, word, i);
        uint32_t child = child_of(search, node, symbol);

        node = child != 0 ? child : add_child(search, node, symbol);
    }
    if (node != 0)
        search->nodes[node].is_word = true;
    return node;
}

/* Returns the node of the longest suffix of the text read that is a prefix of a word. */
static uint32_t next_node(const struct word_search *search, uint32_t node, uint16_t symbol)
{
    uint32_t child = child_of(search, node, symbol);

    while (child == 0 && node != 0) {
        node = search->nodes[node].suffix;
        child = child_of(search, node, symbol);
    }
    return child;
}

/* Appends a node's children to the queue, beginning with first. Returns the queue's new length. */
static size_t enqueue(const struct word_search *search, uint32_t first, uint32_t *queue, size_t n)
{
    for (uint32_t child = first; child != 0; child = search->nodes[child].sibling)
        queue[n++] = child;
    return n;
}

static void link_children(struct word_search *search, uint32_t node)
{
    uint32_t child = search->nodes[node].child;

    for (; child != 0; child = search->nodes[child].sibling) {
        struct word_node *one = &search->nodes[child];

        one->suffix = next_node(search, search->nodes[node].suffix, one->symbol);
    }
}

/* Breadth first: suffixes are shorter, so their links are already set. */
static void link_nodes(struct word_search *search)
{
    uint32_t *queue = mem_alloc_array(search->n_nodes, sizeof(*queue));
    size_t n = 0;

    for (size_t symbol = 0; symbol < N_SYMBOLS; symbol++)
        n = enqueue(search, search->first[symbol], queue, n);
    for (size_t i = 0; i < n; i++) {
        struct word_node *node = &search->nodes[queue[i]];

        node->word = node->is_word ? queue[i] : search->nodes[node->suffix].word;
        link_children(search, queue[i]);
        n = enqueue(search, node->child, queue, n);
    }
    mem_free(queue);
}

/* --- the search --- */

/* Returns the first unfound word along the suffixes, and shortens the path to it. */
static uint32_t first_unfound(struct word_search *search, uint32_t node)
{
    struct word_node *nodes = search->nodes;
    uint32_t word = nodes[node].word;

    while (word != 0 && nodes[word].is_found)
        word = nodes[nodes[word].suffix].word;
    while (nodes[node].word != word) {
        uint32_t passed = nodes[node].word;

        nodes[node].word = word;
        node = nodes[passed].suffix;
    }
    return word;
}

static void read_text(struct word_search *search)
{
    const char *text = search->text;
    uint32_t node = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        uint32_t word = 0;

        node = next_node(search, node, symbol_at(search, text, i));
        for (word = first_unfound(search, node); word != 0; word = first_unfound(search, node))
            search->nodes[word].is_found = true;
    }
}

/* Searches for the words added since the last call. */
static void settle(struct word_search *search)
{
    if (search->n_nodes > 1) {
        link_nodes(search);
        read_text(search);
    }
    for (; search->n_settled < search->n_words; search->n_settled++) {
        uint32_t *place = &search->places[search->n_settled];

        *place = *place != 0 && search->nodes[*place].is_found;
    }
    forget_nodes(search);
}

size_t word_search_add(struct word_search *search, const char *word)
{
    if (search->n_nodes + strlen(word) > TOGETHER_MAX_BYTES)
        settle(search);
    if (search->n_words == search->words_size) {
        search->words_size = 2 * search->n_words + 16;
        search->places = mem_resize(search->places, search->words_size * sizeof(*search->places));
    }
    search->places[search->n_words] = add_to_tree(search, word);
    return search->n_words++;
}

bool word_search_has(struct word_search *search, size_t number)
{
    if (number >= search->n_settled)
        settle(search);
    return search->places[number] != 0;
}
