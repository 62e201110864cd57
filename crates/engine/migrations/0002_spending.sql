-- How many tokens of models each tenant has used on a day, counted in days since 1970 (UTC).

CREATE TABLE spending (
    tenant TEXT    NOT NULL,
    day    INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (tenant, day)
) WITHOUT ROWID;
