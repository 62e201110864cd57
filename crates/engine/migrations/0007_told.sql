-- What runs have told since their last row in the journal, in the order in which it was written, whoever told it. A commit
-- for a thousand runs then writes to the end of one table, and not to a page for each of them. With the next step of a run,
-- or its end, it moves into the journal; what has moved is dropped from the beginning on.
CREATE TABLE told (
    id     INTEGER PRIMARY KEY,
    run    INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    events TEXT    NOT NULL
);
