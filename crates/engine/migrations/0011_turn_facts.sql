-- What came of each turn, for whoever looks after many of them. It has no words of anybody, and stays when a conversation is
-- deleted, so that what was used and paid does not change.
CREATE TABLE turn_facts (
    run           INTEGER PRIMARY KEY,
    tenant        TEXT    NOT NULL,
    assistant     TEXT    NOT NULL,
    ended_ms      INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    outcome       TEXT,              -- what became of the question, if the turn answered
    took_ms       INTEGER,           -- none if it waited for a person or was left by a process
    first_word_ms INTEGER,
    warnings      TEXT    NOT NULL,  -- their kinds, as a JSON array
    rounds        INTEGER NOT NULL,
    usage         TEXT    NOT NULL   -- tokens read and written by model, as a JSON object of pairs
);
CREATE INDEX turn_facts_by_time ON turn_facts (tenant, ended_ms);
