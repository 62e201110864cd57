-- How many processes ended without a word while they were at a step of a run, and at which; 0 instead of the step if the last one
-- ended in order. What ended its process again and again is set aside, and has -1.
ALTER TABLE runs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN crashes_step INTEGER;
CREATE INDEX runs_set_aside ON runs (ended_ms) WHERE crashes = -1;
