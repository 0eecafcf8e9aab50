/*
 * Whether a user may ask for another run, as a question for the two who ask: those who wait for the
 * answer, and those who do not.
 */
#ifndef DEFT_STORE_CONVERSATION_RUN_ROOM_H
#define DEFT_STORE_CONVERSATION_RUN_ROOM_H

/*
 * $1 user, $2 conversation or null, $3 slots and $4 queue where the user's row says nothing else.
 * One row with true or false; none without such a user. A run that is asked for already has its
 * room; one that waits for a sub-agent has left its own to that.
 */
#define RUN_ROOM_QUERY                                                                             \
    "SELECT (SELECT count(*) FROM conversations c WHERE c.user_id = u.id"                          \
    "  AND c.wanted_at IS NOT NULL AND c.waits_for IS NULL)"                                       \
    " < coalesce(u.run_slots, $3::bigint) + coalesce(u.run_queue, $4::bigint)"                     \
    " OR EXISTS (SELECT 1 FROM conversations o WHERE o.id = $2::uuid AND o.wanted_at IS NOT NULL)" \
    " FROM users u WHERE u.id = $1::uuid"

#endif
