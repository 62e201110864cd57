-- The journals of turns that ended some time ago, packed: for whoever wants to know later how an answer came about. A run's
-- column `kept` is 1 while its journal is there, 2 while this is, and 0 when neither is.
CREATE TABLE traces (
    run      INTEGER PRIMARY KEY,
    ended_ms INTEGER NOT NULL,
    packed   BLOB    NOT NULL
);
CREATE INDEX traces_to_drop ON traces (ended_ms);
