-- Verify deft:image_builds on pg
SELECT id, tenant_id, image, tags, context_hash, status, error, image_id, created_at, updated_at
  FROM image_builds WHERE false;
