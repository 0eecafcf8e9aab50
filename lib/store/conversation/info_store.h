/*
 * Conversations as clients read them, as text: the part of the specification that is sent is cached
 * in the row and not parsed. Where it is missing, or the leaf is unknown, the reader fills it in.
 * Decision: docs/decisions/0045-lists-of-conversations.md
 */
#ifndef DEFT_STORE_CONVERSATION_INFO_STORE_H
#define DEFT_STORE_CONVERSATION_INFO_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"

struct conversation_filter;
struct conversation_scope;
struct db;
struct error;
struct pg_result;

/* The newest sandbox of the conversation's session; members are NULL without one. */
struct info_sandbox {
    const char *status;  /* runtime_status_to_string() */
    const char *desired; /* runtime_desire_to_string() */
    const char *detail;  /* text for the user */
};

struct info_item {
    struct conversation_texts texts; /* borrowed from the list */
    struct info_sandbox sandbox;     /* borrowed from the list */
    bool is_waiting;                 /* a run is requested, and no worker has it */
    char *own_spec_info;             /* the spec_info that the row lacked */
    struct uuid own_leaf;
};

struct info_list {
    struct pg_result *rows; /* which the items borrow from */
    struct info_item *items;
    size_t n;
    size_t n_bytes;      /* approximate size of the items as text */
    struct uuid next_id; /* first of the next page; unset at the end */
};

/* clang-format off */
#define INFO_LIST_INIT {NULL, NULL, 0, 0, UUID_INIT}
/* clang-format on */

void info_list_done(struct info_list *list);

/* A page; list_out as after INFO_LIST_INIT. */
int info_store_search(struct db *db, const struct conversation_filter *filter,
                      struct info_list *list_out, struct error *err) NONNULL MUST_CHECK;
/* Loads those of the ids that the scope has, in no order. */
int info_store_load_many(struct db *db, const struct conversation_scope *scope,
                         const struct uuid *ids, size_t n, struct info_list *list_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
