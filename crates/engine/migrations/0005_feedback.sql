-- What people thought of an answer.

CREATE TABLE feedback (
    run        INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    score      INTEGER NOT NULL,
    comment    TEXT    NOT NULL
);
CREATE INDEX feedback_of_run ON feedback (run);
