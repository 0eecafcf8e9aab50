/*
 * SQL: rows of model_outages, for the statements that wait and those that claim.
 */
#ifndef DEFT_STORE_CONVERSATION_OUTAGE_SQL_H
#define DEFT_STORE_CONVERSATION_OUTAGE_SQL_H

/* Condition: row m is of the run of conversation row `c`. Rows of earlier runs are left behind. */
#define OUTAGE_IS_OF(c) "m.conversation_id = " c ".id AND m.wanted_at = " c ".wanted_at"

/* Condition: as above, and the model has not answered since. */
#define OUTAGE_LASTS(c)                                                                            \
    OUTAGE_IS_OF(c)                                                                                \
    " AND NOT EXISTS (SELECT 1 FROM events e WHERE e.conversation_id = " c ".id"                   \
    " AND e.seq > m.asked_seq AND e.source = 'agent')"

/* Condition: the run of conversation row `c` waits, and nothing has ended its wait. */
#define OUTAGE_HOLDS_BACK(c)                                                                       \
    "EXISTS (SELECT 1 FROM model_outages m WHERE " OUTAGE_IS_OF(                                   \
        c) " AND m.next_at > now()"                                                                \
           " AND NOT EXISTS (SELECT 1 FROM events e WHERE e.conversation_id = " c ".id"            \
           " AND e.seq > m.asked_seq))"

#endif
