-- Whose a thread is, and what it may quote. One that nobody owns belongs to its tenant: queues of jobs, what was said without
-- a key, and what was there before owners were kept. Its corpora are a JSON array or null for all, its labels a JSON array.
ALTER TABLE threads ADD COLUMN owner TEXT;
ALTER TABLE threads ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN corpora TEXT;
ALTER TABLE threads ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
CREATE INDEX threads_by_owner ON threads (tenant, owner, updated_ms, id);

-- Threads that were there before hold what any of their turns might quote, and of those whose messages were copied into them.
CREATE TEMP TABLE turn_scopes AS
    SELECT DISTINCT thread, scope FROM (
        SELECT thread, scope FROM runs WHERE scope IS NOT NULL
        UNION ALL
        SELECT messages.thread, runs.scope FROM messages JOIN runs ON runs.key = messages.run WHERE runs.scope IS NOT NULL
    );
CREATE INDEX temp.turn_scopes_of_thread ON turn_scopes (thread);
UPDATE threads SET
    corpora = CASE
        WHEN EXISTS (SELECT 1 FROM turn_scopes WHERE thread = threads.key AND json_extract(scope, '$.corpora') IS NULL) THEN NULL
        ELSE (SELECT json_group_array(DISTINCT corpus.value)
              FROM turn_scopes, json_each(turn_scopes.scope, '$.corpora') AS corpus WHERE turn_scopes.thread = threads.key)
        END,
    labels = (SELECT json_group_array(DISTINCT label.value)
              FROM turn_scopes, json_each(turn_scopes.scope, '$.labels') AS label WHERE turn_scopes.thread = threads.key)
    WHERE EXISTS (SELECT 1 FROM turn_scopes WHERE thread = threads.key);
DROP TABLE turn_scopes;
-- Queues of jobs quote nothing.
UPDATE threads SET corpora = '[]', labels = '[]' WHERE EXISTS (SELECT 1 FROM runs WHERE thread = threads.key AND request IS NOT NULL);

-- What a question of a dataset may quote, likewise.
ALTER TABLE dataset_items ADD COLUMN corpora TEXT;
ALTER TABLE dataset_items ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';

-- Keys that were made while the server runs. Only the hash is kept. One that was deleted stays, so that nobody gets in without a
-- key because there is none left.
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
    deleted_ms INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (tenant, name) WHERE deleted_ms IS NULL;
