/*
 * INSERT of a job, shared by job_store and conversation_insert.
 */
#ifndef DEFT_STORE_CONVERSATION_JOB_INSERT_H
#define DEFT_STORE_CONVERSATION_JOB_INSERT_H

/* $1 kind, $2 conversation, $3 payload or null, $4 key or null. */
#define JOB_INSERT_QUERY                                                                           \
    "INSERT INTO jobs (kind, conversation_id, payload, key)"                                       \
    " VALUES ($1, $2::uuid, coalesce($3, '{}')::jsonb, coalesce($4::uuid, gen_random_uuid()))"

#endif
