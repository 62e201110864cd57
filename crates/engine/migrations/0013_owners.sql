-- Whose a thread is, and what it may quote. One that nobody owns belongs to its tenant: queues of jobs, what was said without
-- a key, and what was there before owners were kept. Its corpora are a JSON array or null for all, its labels a JSON array.
ALTER TABLE threads ADD COLUMN owner TEXT;
ALTER TABLE threads ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN corpora TEXT;
ALTER TABLE threads ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
CREATE INDEX threads_by_owner ON threads (tenant, owner, updated_ms, id);

-- Threads that were there before hold what their last turn might quote.
UPDATE threads SET
    corpora = (SELECT json_extract(scope, '$.corpora') FROM runs WHERE thread = threads.key AND scope IS NOT NULL ORDER BY key DESC LIMIT 1),
    labels = coalesce(
        (SELECT json_extract(scope, '$.labels') FROM runs WHERE thread = threads.key AND scope IS NOT NULL ORDER BY key DESC LIMIT 1),
        '[]');
-- Queues of jobs quote nothing.
UPDATE threads SET corpora = '[]', labels = '[]' WHERE EXISTS (SELECT 1 FROM runs WHERE thread = threads.key AND request IS NOT NULL);

-- Keys that were made while the server runs. Only the hash is kept.
CREATE TABLE api_keys (
    hash       BLOB    PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,  -- what its holder may see, as a JSON object
    role       TEXT    NOT NULL,
    per_minute INTEGER,
    created_by TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    UNIQUE (tenant, name)
) WITHOUT ROWID;
