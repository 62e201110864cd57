-- What callers note of threads and runs for themselves, as JSON objects.

ALTER TABLE threads ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE runs ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
