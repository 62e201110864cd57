-- Questions that were picked to compare configurations with. They are copies: they stay when a conversation is deleted.
CREATE TABLE dataset_items (
    key        INTEGER PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    dataset    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    content    TEXT    NOT NULL,  -- as a JSON object
    UNIQUE (tenant, dataset, id)
);

-- Who gave it; empty for what was given before this was kept.
ALTER TABLE feedback ADD COLUMN author TEXT NOT NULL DEFAULT '';

-- How many quotations of the answer were found word for word, with slips, and not at all, as a JSON array.
ALTER TABLE turn_facts ADD COLUMN quotes TEXT NOT NULL DEFAULT '[0,0,0]';
