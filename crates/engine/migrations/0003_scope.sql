-- On whose behalf a turn runs: what it may read, also when another process takes it up.

ALTER TABLE runs ADD COLUMN scope TEXT;
