-- Threads that are temporary are in no list, and are dropped some time after they were last used.

ALTER TABLE threads ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0;
CREATE INDEX threads_temporary ON threads (updated_ms) WHERE temporary = 1;
