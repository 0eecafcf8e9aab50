/*
 * SQL: may this user request another run? Shared by the blocking and the non-blocking store.
 */
#ifndef DEFT_STORE_CONVERSATION_RUN_QUOTA_H
#define DEFT_STORE_CONVERSATION_RUN_QUOTA_H

/*
 * $1 user, $2 conversation or null, $3 slots and $4 queue length where the user's row sets none.
 * One row with true or false; none without such a user. A run that is requested already keeps its
 * place; one that waits for sub-agents has given its place to them.
 */
#define RUN_QUOTA_QUERY                                                                            \
    "SELECT (SELECT count(*) FROM conversations c WHERE c.user_id = u.id"                          \
    "  AND c.wanted_at IS NOT NULL AND NOT c.is_suspended)"                                        \
    " < coalesce(u.run_slots, $3::bigint) + coalesce(u.run_queue, $4::bigint)"                     \
    " OR EXISTS (SELECT 1 FROM conversations o WHERE o.id = $2::uuid AND o.wanted_at IS NOT NULL)" \
    " FROM users u WHERE u.id = $1::uuid"

#endif
