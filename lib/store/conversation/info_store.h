/*
 * Conversations as clients read them, as text: what is sent of the specification is kept in the row
 * and not parsed. A row where it is missing, or the leaf is unknown, is completed by who reads it.
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

/* The newest sandbox of the conversation's session; NULL where there is none. */
struct info_sandbox {
    const char *status;  /* runtime_status_to_string() */
    const char *desired; /* runtime_desire_to_string() */
    const char *detail;  /* words for a person */
};

struct info_item {
    struct conversation_texts texts; /* borrowed from the list */
    struct info_sandbox sandbox;     /* this, too */
    bool is_waiting;                 /* a run is asked for, and no worker has it */
    char *own_spec_info;             /* what the row lacked */
    struct uuid own_leaf;
};

struct info_list {
    struct pg_result *rows; /* of which the items are */
    struct info_item *items;
    size_t n;
    size_t n_bytes;      /* about what the items take as text */
    struct uuid next_id; /* first of the next page; unset at the end */
};

/* clang-format off */
#define INFO_LIST_INIT {NULL, NULL, 0, 0, UUID_INIT}
/* clang-format on */

void info_list_done(struct info_list *list);

/* A page; list_out as after INFO_LIST_INIT. */
int info_store_search(struct db *db, const struct conversation_filter *filter,
                      struct info_list *list_out, struct error *err) NONNULL MUST_CHECK;
/* Those of the ids that the scope has, in no order. */
int info_store_load_many(struct db *db, const struct conversation_scope *scope,
                         const struct uuid *ids, size_t n, struct info_list *list_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
