/*
 * ConversationInfo as a reply: the stored conversation plus the state of its sandbox.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_INFO_H
#define DEFT_FCGI_AGENT_CONVERSATION_INFO_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct info_list;
struct request;
struct strbuf;
struct uuid;

/* Whether the agent's skills are in the reply. */
enum info_skills { INFO_WITHOUT_SKILLS, INFO_WITH_SKILLS };

/* include_skills= of the query. */
int info_skills_read(const struct request *request, enum info_skills *skills_out,
                     struct error *err) NONNULL MUST_CHECK;
/* Info with runtime_info null: the reply to a create. A new reference. */
json_t *info_plain(const struct conversation *conversation,
                   enum info_skills skills) NONNULL MUST_CHECK;
/* Info with runtime_info. A new reference, or NULL with err set. */
json_t *info_with_runtime(const struct request *request, const struct conversation *conversation,
                          enum info_skills skills, struct error *err) NONNULL MUST_CHECK;
/*
 * Array of Info with runtime_info for at most PAGE_MAX_ITEMS, in their order; the sandboxes are
 * looked up together. A new reference, or NULL with err set.
 */
json_t *info_array(const struct request *request, const struct conversation *conversations,
                   size_t n, enum info_skills skills, struct error *err)
    __attribute__((nonnull(1, 5))) MUST_CHECK;
/*
 * Appends, as text, the array of Info with runtime_info of a list: all in their order, or those of
 * the n ids, with null for an id that is not in the list.
 */
int info_append_array(const struct info_list *list, const struct uuid *ids, size_t n,
                      struct strbuf *out, struct error *err)
    __attribute__((nonnull(1, 4, 5))) MUST_CHECK;
/* As above, for a list with exactly one entry. */
int info_append_one(const struct info_list *list, struct strbuf *out,
                    struct error *err) NONNULL MUST_CHECK;
/* RuntimeInfo of the conversation's sandbox; starts nothing. A new reference, or NULL. */
json_t *runtime_info(const struct request *request, const struct conversation *conversation,
                     struct error *err) NONNULL MUST_CHECK;

#endif
