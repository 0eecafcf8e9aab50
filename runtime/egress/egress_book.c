#include "runtime/egress/egress_book.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

void egress_book_done(struct egress_book *book)
{
    for (size_t i = 0; i < book->n_policies; i++) {
        mem_free(book->policies[i].mode);
        mem_free(book->policies[i].list);
        egress_policy_done(&book->policies[i].policy);
    }
    mem_free(book->policies);
    mem_free(book->seats);
    mem_free(book->known);
    *book = (struct egress_book){.policies = NULL};
}

static int add_policy(struct egress_book *book, const char *mode, const char *list,
                      struct error *err)
{
    struct egress_policy policy = EGRESS_POLICY_INIT;

    if (egress_policy_parse(mode, list, &policy, err) < 0)
        return -1;
    book->policies = mem_resize(book->policies, (book->n_policies + 1) * sizeof(book->policies[0]));
    book->policies[book->n_policies++] = (struct egress_book_policy){
        .mode = mem_dup_text(mode), .list = mem_dup_text(list), .policy = policy};
    return 0;
}

int egress_book_policy(struct egress_book *book, const char *mode, const char *list,
                       size_t *policy_out, struct error *err)
{
    for (size_t i = 0; i < book->n_policies; i++) {
        if (text_equal(book->policies[i].mode, mode) && text_equal(book->policies[i].list, list)) {
            *policy_out = i;
            return 0;
        }
    }
    if (add_policy(book, mode, list, err) < 0)
        return -1;
    *policy_out = book->n_policies - 1;
    return 0;
}

static struct egress_book_seat *find_seat(const struct egress_book *book, const char *bridge)
{
    for (size_t i = 0; i < book->n_seats; i++) {
        if (text_equal(book->seats[i].bridge, bridge))
            return &book->seats[i];
    }
    return NULL;
}

bool egress_book_seat(struct egress_book *book, const char *bridge, size_t policy)
{
    struct egress_book_seat *seat = find_seat(book, bridge);
    bool is_news = seat != NULL ? seat->policy != policy : policy != 0;

    if (seat == NULL) {
        if (policy == 0)
            return false;
        book->seats = mem_resize(book->seats, (book->n_seats + 1) * sizeof(book->seats[0]));
        seat = &book->seats[book->n_seats++];
        (void)snprintf(seat->bridge, sizeof(seat->bridge), "%s", bridge);
    }
    seat->policy = policy;
    return is_news;
}

void egress_book_unseat(struct egress_book *book, size_t seat)
{
    book->seats[seat] = book->seats[--book->n_seats];
}

const struct egress_policy *egress_book_find(const struct egress_book *book, const char *bridge)
{
    const struct egress_book_seat *seat = find_seat(book, bridge);

    return &book->policies[seat != NULL ? seat->policy : 0].policy;
}

static struct egress_known *find_known(const struct egress_book *book, const char *name,
                                       uint32_t address)
{
    for (size_t i = 0; i < book->n_known; i++) {
        if (book->known[i].address == address && text_equal(book->known[i].name, name))
            return &book->known[i];
    }
    return NULL;
}

static void forget_old(struct egress_book *book, int64_t now_ms)
{
    size_t i = 0;

    while (i < book->n_known) {
        if (now_ms - book->known[i].seen_ms > EGRESS_KNOWN_MS)
            book->known[i] = book->known[--book->n_known];
        else
            i++;
    }
}

static struct egress_known *oldest(struct egress_book *book)
{
    struct egress_known *found = &book->known[0];

    for (size_t i = 1; i < book->n_known; i++) {
        if (book->known[i].seen_ms < found->seen_ms)
            found = &book->known[i];
    }
    return found;
}

bool egress_book_learn(struct egress_book *book, const char *name, uint32_t address, int64_t now_ms)
{
    struct egress_known *known = find_known(book, name, address);

    if (known != NULL) {
        known->seen_ms = now_ms;
        return false;
    }
    forget_old(book, now_ms);
    if (book->known == NULL)
        book->known = mem_alloc_array(EGRESS_KNOWN_MAX, sizeof(book->known[0]));
    known = book->n_known < EGRESS_KNOWN_MAX ? &book->known[book->n_known++] : oldest(book);
    *known = (struct egress_known){.address = address, .seen_ms = now_ms};
    (void)snprintf(known->name, sizeof(known->name), "%s", name);
    return true;
}

size_t egress_book_addresses(const struct egress_book *book, const char *name, int64_t since_ms,
                             uint32_t *addresses, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < book->n_known && n < max; i++) {
        if (book->known[i].seen_ms >= since_ms && text_equal(book->known[i].name, name))
            addresses[n++] = book->known[i].address;
    }
    return n;
}
