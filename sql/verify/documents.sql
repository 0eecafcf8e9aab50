-- Verify deft_schema:documents on pg
SELECT user_id, collection, name, id, revision, body, sealed, created_at, updated_at FROM documents
       WHERE false;
