#include "runtime/egress/tally.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/text.h"

#define X(constant, text) [constant] = (text),
static const char *const reason_texts[REFUSED_N_REASONS] = {REFUSAL_REASONS(X)};
#undef X

const char *refusal_reason_to_string(enum refusal_reason reason)
{
    return reason_texts[reason];
}

enum refusal_reason refusal_reason_from_string(const char *text)
{
    for (int i = 0; i < REFUSED_N_REASONS; i++) {
        if (text_equal(text, reason_texts[i]))
            return (enum refusal_reason)i;
    }
    return REFUSED_N_REASONS;
}

void tally_done(struct tally *tally)
{
    mem_free(tally->items);
    *tally = (struct tally)TALLY_INIT;
}

static bool is_same(const struct refused_packet *a, const struct refused_packet *b)
{
    return a->bridge_index == b->bridge_index && a->address_be == b->address_be &&
           a->port == b->port && a->protocol == b->protocol && a->reason == b->reason;
}

static struct tally_entry *find(struct tally *tally, const struct refused_packet *packet)
{
    for (size_t i = 0; i < tally->n; i++) {
        if (is_same(&tally->items[i].packet, packet))
            return &tally->items[i];
    }
    return NULL;
}

static struct tally_entry *add(struct tally *tally)
{
    if (tally->n == TALLY_MAX)
        return NULL;
    if (tally->items == NULL)
        tally->items = mem_alloc_array(TALLY_MAX, sizeof(tally->items[0]));
    return &tally->items[tally->n++];
}

static void merge_entry(struct tally *tally, const struct tally_entry *other)
{
    struct tally_entry *entry = find(tally, &other->packet);

    if (entry == NULL) {
        entry = add(tally);
        if (entry == NULL)
            tally->n_lost += other->count;
        else
            *entry = *other;
        return;
    }
    entry->count += other->count;
    if (other->first_us < entry->first_us)
        entry->first_us = other->first_us;
    if (other->last_us > entry->last_us)
        entry->last_us = other->last_us;
}

void tally_note(struct tally *tally, const struct refused_packet *packet, int64_t now_us)
{
    const struct tally_entry entry = {
        .packet = *packet, .count = 1, .first_us = now_us, .last_us = now_us};

    merge_entry(tally, &entry);
}

void tally_merge(struct tally *tally, const struct tally *other)
{
    tally->n_lost += other->n_lost;
    for (size_t i = 0; i < other->n; i++)
        merge_entry(tally, &other->items[i]);
}
