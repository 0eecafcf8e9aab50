#include "model/masking/mask_forms.h"

#include <string.h>

#include "base/encode.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "model/masking/mask_escapes.h"

enum { ALL_VIEWS = (1 << VIEW_N) - 1, FIRST_NODES = 256 };

/* A match of this length with white space left out is no coincidence. */
enum { UNWRAPPED_MIN_BYTES = 24 };

static void strbuf_wipe(struct strbuf *text)
{
    explicit_bzero(text->text, text->len);
    strbuf_done(text);
}

static const char skipped_bytes[] = " \t\r\n:";

void mask_forms_begin(struct mask_forms *forms)
{
    *forms = (struct mask_forms){.size = FIRST_NODES, .n_nodes = 1};
    forms->nodes = mem_alloc_array(forms->size, sizeof(*forms->nodes));
}

void mask_forms_done(struct mask_forms *forms)
{
    for (size_t i = 0; i < forms->n_tails; i++)
        secret_done(&forms->tails[i].bytes);
    mem_free(forms->tails);
    explicit_bzero(forms->nodes, forms->n_nodes * sizeof(*forms->nodes));
    mem_free(forms->nodes);
}

uint32_t mask_forms_child(const struct mask_forms *forms, uint32_t node, unsigned char byte)
{
    uint32_t child = 0;

    if (node == 0)
        return forms->first[byte];
    child = forms->nodes[node].child;
    while (child != 0 && forms->nodes[child].byte != byte)
        child = forms->nodes[child].sibling;
    return child;
}

static void grow(struct mask_forms *forms)
{
    size_t bytes = forms->size * sizeof(*forms->nodes);
    struct form_node *nodes = mem_alloc_array(forms->size * 2, sizeof(*nodes));

    /* Not resized with realloc(), which would leave secret bytes in the freed block. */
    memcpy(nodes, forms->nodes, bytes);
    explicit_bzero(forms->nodes, bytes);
    mem_free(forms->nodes);
    forms->nodes = nodes;
    forms->size *= 2;
}

static uint32_t add_child(struct mask_forms *forms, uint32_t node, unsigned char byte)
{
    uint32_t child = mask_forms_child(forms, node, byte);

    if (child != 0)
        return child;
    if (forms->n_nodes == forms->size)
        grow(forms);
    child = (uint32_t)forms->n_nodes++;
    forms->nodes[child] =
        (struct form_node){.byte = byte, .depth = (uint8_t)(forms->nodes[node].depth + 1)};
    if (node == 0) {
        forms->first[byte] = child;
    } else {
        forms->nodes[child].sibling = forms->nodes[node].child;
        forms->nodes[node].child = child;
    }
    return child;
}

static void add_tail(struct mask_forms *forms, uint32_t node, const char *bytes, size_t len,
                     unsigned views)
{
    struct form_tail *tail = NULL;

    for (uint32_t at = forms->nodes[node].tails; at != 0; at = tail->next) {
        tail = &forms->tails[at - 1];
        if (tail->bytes.len == len && memcmp(secret_reveal(&tail->bytes), bytes, len) == 0) {
            tail->views |= views;
            return;
        }
    }
    forms->tails = mem_resize(forms->tails, (forms->n_tails + 1) * sizeof(*forms->tails));
    tail = &forms->tails[forms->n_tails++];
    *tail = (struct form_tail){SECRET_INIT, views, forms->nodes[node].tails};
    secret_set_bytes(&tail->bytes, bytes, len);
    forms->nodes[node].tails = (uint32_t)forms->n_tails;
}

/* A form can be too short to search for if bytes were removed, such as quotes. */
static void add_form(struct mask_forms *forms, const char *bytes, size_t len, unsigned views)
{
    size_t head = len < MASKER_HEAD_BYTES ? len : MASKER_HEAD_BYTES;
    uint32_t node = 0;

    if (len < SECRET_MASKED_MIN_CHARS)
        return;
    for (size_t i = 0; i < head; i++)
        node = add_child(forms, node, (unsigned char)bytes[i]);
    for (unsigned view = 0; view < VIEW_N; view++) {
        if ((views & (1U << view)) != 0)
            forms->nodes[node].len[view] = (uint8_t)head;
    }
    if (len > head)
        add_tail(forms, node, bytes + head, len - head, views);
    forms->is_linked = false;
}

void mask_forms_add_plain(struct mask_forms *forms, const char *text, size_t len)
{
    add_form(forms, text, len, 1U << VIEW_PLAIN);
}

/* The form in VIEW_PERCENT, in which + reads as a space. */
static void add_for_percent(struct mask_forms *forms, const char *text, size_t len)
{
    CLEANUP(strbuf_wipe) struct strbuf form = STRBUF_INIT;

    for (size_t i = 0; i < len; i++)
        strbuf_append_bytes(&form, text[i] == '+' ? " " : text + i, 1);
    add_form(forms, form.text, form.len, 1U << VIEW_PERCENT);
}

/* The form in VIEW_ESCAPED of a value written unescaped, such as in single quotes. */
static void add_unescaped(struct mask_forms *forms, const char *text, size_t len)
{
    CLEANUP(strbuf_wipe) struct strbuf form = STRBUF_INIT;
    struct mask_decoded meaning = {.n_read = 0};

    for (size_t at = 0; at < len; at += meaning.n_read) {
        meaning = mask_decode_escape(text + at, len - at);
        if (meaning.n_read == 0)
            break;
        strbuf_append_bytes(&form, meaning.bytes, meaning.n);
    }
    add_form(forms, form.text, form.len, 1U << VIEW_ESCAPED);
}

static void add_for_escaped(struct mask_forms *forms, const char *text, size_t len)
{
    CLEANUP(strbuf_wipe) struct strbuf form = STRBUF_INIT;

    for (size_t i = 0; i < len; i++) {
        if (text[i] != '"' && text[i] != '\'')
            strbuf_append_char(&form, text[i]);
    }
    add_form(forms, form.text, form.len, 1U << VIEW_ESCAPED);
}

static void add_raw(struct mask_forms *forms, const char *value, size_t len)
{
    unsigned views = 1U << VIEW_PLAIN;

    if (len >= UNWRAPPED_MIN_BYTES && strcspn(value, skipped_bytes) >= len)
        views |= 1U << VIEW_UNWRAPPED;
    add_form(forms, value, len, views);
    add_for_percent(forms, value, len);
    add_for_escaped(forms, value, len);
    add_unescaped(forms, value, len);
}

static void add_hex(struct mask_forms *forms, const char *value, size_t len)
{
    static const char *const alphabets[] = {"0123456789abcdef", "0123456789ABCDEF"};

    for (size_t a = 0; a < ARRAY_SIZE(alphabets); a++) {
        CLEANUP(strbuf_wipe) struct strbuf form = STRBUF_INIT;

        for (size_t i = 0; i < len; i++) {
            strbuf_append_char(&form, alphabets[a][(unsigned char)value[i] >> 4]);
            strbuf_append_char(&form, alphabets[a][(unsigned char)value[i] & 15]);
        }
        add_form(forms, form.text, form.len, ALL_VIEWS);
    }
}

static void add_base64_text(struct mask_forms *forms, char *text, size_t len)
{
    add_form(forms, text, len, ALL_VIEWS & ~(1U << VIEW_PERCENT));
    add_for_percent(forms, text, len);
}

static void add_both_alphabets(struct mask_forms *forms, char *text, size_t len)
{
    add_base64_text(forms, text, len);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '+')
            text[i] = '-';
        else if (text[i] == '/')
            text[i] = '_';
    }
    add_base64_text(forms, text, len);
}

/*
 * Adds the base64 of a value after n_before other bytes: the characters that depend on the value
 * only, and those up to the end for a text that ends with the value, unpadded and padded.
 */
static void add_base64(struct mask_forms *forms, const char *value, size_t len, size_t n_before)
{
    CLEANUP(strbuf_wipe) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_wipe) struct strbuf text = STRBUF_INIT;
    size_t first = (8 * n_before + 5) / 6;
    size_t n_whole = 8 * (n_before + len) / 6;
    size_t n_unpadded = (8 * (n_before + len) + 5) / 6;
    size_t ends[] = {n_whole, n_unpadded, 0};

    strbuf_append_bytes(&bytes, "\0\0", n_before);
    strbuf_append_bytes(&bytes, value, len);
    base64_append(&text, (const unsigned char *)bytes.text, bytes.len);
    ends[2] = text.len;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        CLEANUP(strbuf_wipe) struct strbuf form = STRBUF_INIT;

        strbuf_append_bytes(&form, text.text + first, ends[i] - first);
        add_both_alphabets(forms, form.text, form.len);
    }
}

void mask_forms_add(struct mask_forms *forms, const char *value, size_t len)
{
    add_raw(forms, value, len);
    add_hex(forms, value, len);
    for (size_t n_before = 0; n_before < 3; n_before++)
        add_base64(forms, value, len, n_before);
}

bool mask_forms_is_end(const struct mask_forms *forms, uint32_t node)
{
    const struct form_node *at = &forms->nodes[node];

    for (unsigned view = 0; view < VIEW_N; view++) {
        if (at->len[view] == at->depth)
            return true;
    }
    return false;
}

uint32_t mask_forms_next(const struct mask_forms *forms, uint32_t node, unsigned char byte)
{
    uint32_t child = mask_forms_child(forms, node, byte);

    while (child == 0 && node != 0) {
        node = forms->nodes[node].suffix;
        child = mask_forms_child(forms, node, byte);
    }
    return child;
}

/* A child's suffix is a child of its parent's suffix; a form that ends there ends here, too. */
static void link_child(struct mask_forms *forms, uint32_t node, uint32_t child)
{
    struct form_node *to = &forms->nodes[child];
    const struct form_node *suffix = NULL;

    to->suffix = node == 0 ? 0 : mask_forms_next(forms, forms->nodes[node].suffix, to->byte);
    suffix = &forms->nodes[to->suffix];
    for (unsigned view = 0; view < VIEW_N; view++) {
        if (to->len[view] < suffix->len[view])
            to->len[view] = suffix->len[view];
    }
}

/* Breadth first, since a suffix is shorter than its node. */
void mask_forms_link(struct mask_forms *forms)
{
    uint32_t *queue = NULL;
    size_t n = 0;

    if (forms->is_linked)
        return;
    queue = mem_alloc_array(forms->n_nodes, sizeof(*queue));
    for (size_t byte = 0; byte < ARRAY_SIZE(forms->first); byte++) {
        if (forms->first[byte] == 0)
            continue;
        link_child(forms, 0, forms->first[byte]);
        queue[n++] = forms->first[byte];
    }
    for (size_t i = 0; i < n; i++) {
        for (uint32_t child = forms->nodes[queue[i]].child; child != 0;
             child = forms->nodes[child].sibling) {
            link_child(forms, queue[i], child);
            queue[n++] = child;
        }
    }
    mem_free(queue);
    forms->is_linked = true;
}
