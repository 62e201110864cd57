-- The place of a turn in its trace, as the W3C's header `traceparent` has it. None for those of earlier versions.
ALTER TABLE runs ADD COLUMN traceparent TEXT;
