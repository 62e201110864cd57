-- Conversations, their turns, and the journals of the turns. Keys are never used twice, so that who
-- still holds the key of something deleted finds nothing, and not a stranger's.

CREATE TABLE threads (
    key        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         BLOB    NOT NULL UNIQUE,
    tenant     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    messages   INTEGER NOT NULL DEFAULT 0,  -- how many there are, which is the next position
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
);
CREATE INDEX threads_by_update ON threads (tenant, updated_ms, id);

CREATE TABLE messages (
    thread   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    run      INTEGER NOT NULL,
    body     TEXT    NOT NULL
);
CREATE UNIQUE INDEX messages_by_position ON messages (thread, position);

CREATE TABLE runs (
    key          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB    NOT NULL UNIQUE,
    thread       INTEGER NOT NULL,
    graph        TEXT    NOT NULL,
    version      TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    place        INTEGER NOT NULL,          -- order in the thread; a turn that takes over goes before those that wait
    options      TEXT    NOT NULL,
    input        TEXT,                      -- the new messages while the turn waits; then they stand in messages
    idempotency  TEXT,
    stopping     TEXT,                      -- stop or rollback, once asked for
    history_from INTEGER NOT NULL DEFAULT 0, -- the window of history
    history_to   INTEGER NOT NULL DEFAULT 0,
    input_to     INTEGER NOT NULL DEFAULT 0, -- the new messages stand from history_to to here
    asked_step   INTEGER,
    question     TEXT,
    answer       TEXT,
    error        TEXT,
    created_ms   INTEGER NOT NULL,
    ended_ms     INTEGER,
    kept         INTEGER NOT NULL DEFAULT 1 -- whether its journal is still there
);
CREATE INDEX runs_of_thread ON runs (thread, place);
CREATE INDEX runs_unfinished ON runs (thread, place) WHERE ended_ms IS NULL;
CREATE INDEX runs_to_drop ON runs (ended_ms) WHERE ended_ms IS NOT NULL AND kept = 1;
CREATE UNIQUE INDEX runs_by_idempotency ON runs (thread, idempotency) WHERE idempotency IS NOT NULL;

-- One row holds what one commit wrote of a run: the step that it finished, if it finished one, and the
-- events that it told, as a JSON array of which `last` is the number of the last. One row, because a
-- commit costs by the pages that it touches. Steps that a fork took over have numbers below 1 and tell
-- nothing.
CREATE TABLE journal (
    run    INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    step   INTEGER,
    node   TEXT,
    change TEXT,
    events TEXT    NOT NULL,
    PRIMARY KEY (run, last)
) WITHOUT ROWID;
