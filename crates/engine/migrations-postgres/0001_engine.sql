-- Conversations, their turns, and the journals of the turns, as many processes share them. Times are milliseconds since 1970,
-- days are counted from then.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The time, as one clock tells it to all processes.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
CREATE FUNCTION day_of(ms bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT ms / 86400000';

-- The processes that work on runs. One whose heartbeat is older than the lease has ended or sleeps; whatever it had is taken
-- over, and it can change nothing more.
CREATE TABLE workers (
    id           uuid        PRIMARY KEY,
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    graphs       text[]      NOT NULL
);

CREATE TABLE threads (
    key        bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid    NOT NULL UNIQUE,
    tenant     text    NOT NULL,
    title      text    NOT NULL,
    messages   bigint  NOT NULL DEFAULT 0,  -- how many there are, which is the next position
    created_ms bigint  NOT NULL,
    updated_ms bigint  NOT NULL,
    metadata   jsonb   NOT NULL DEFAULT '{}',
    owner      text,
    shared     boolean NOT NULL DEFAULT false,
    corpora    jsonb,                       -- what it may quote; null for all
    labels     jsonb   NOT NULL DEFAULT '[]',
    temporary  boolean NOT NULL DEFAULT false,
    is_queue   boolean NOT NULL DEFAULT false -- of jobs, and no conversation
) WITH (fillfactor = 80);
CREATE INDEX threads_by_update ON threads (tenant, updated_ms, id) WHERE NOT is_queue;
CREATE INDEX threads_by_owner ON threads (tenant, owner, updated_ms, id) WHERE NOT is_queue;
CREATE INDEX threads_temporary ON threads (updated_ms) WHERE temporary;
CREATE INDEX threads_by_title ON threads USING gin (lower(title) gin_trgm_ops);
CREATE INDEX threads_by_metadata ON threads USING gin (metadata jsonb_path_ops);

CREATE TABLE messages (
    thread   bigint NOT NULL,
    position bigint NOT NULL,
    run      bigint NOT NULL,
    body     text   NOT NULL,
    PRIMARY KEY (thread, position)
);

CREATE TABLE runs (
    key              bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id               uuid    NOT NULL UNIQUE,
    thread           bigint  NOT NULL,
    tenant           text    NOT NULL,
    graph            text    NOT NULL,
    version          text    NOT NULL,
    status           text    NOT NULL,
    queue_position   bigint  NOT NULL,      -- order in the thread; a turn that takes over goes before those that wait
    has_next         boolean NOT NULL DEFAULT false, -- whether others wait behind it
    options          text    NOT NULL,
    metadata         text    NOT NULL,
    scope            text    NOT NULL,
    stream_modes     text    NOT NULL,
    traceparent      text,
    idempotency      text,
    input            json,                  -- the new messages while the turn waits; then they stand in messages
    history_window   bigint  NOT NULL DEFAULT 0,
    history_from     bigint  NOT NULL DEFAULT 0,
    history_to       bigint  NOT NULL DEFAULT 0,
    input_to         bigint  NOT NULL DEFAULT 0, -- the new messages stand from history_to to here
    output_from      bigint  NOT NULL DEFAULT 0,
    output_to        bigint  NOT NULL DEFAULT 0,
    stopping         text,                  -- stop or rollback, once asked for
    interrupted_step bigint,
    interrupt        text,
    resume_value     text,
    error            text,
    request          text,                  -- what is to be done, if it is a job
    result           text,
    created_ms       bigint  NOT NULL,
    ended_ms         bigint,
    kept             bigint  NOT NULL DEFAULT 1, -- 1: its journal is there, 2: its trace, 0: neither
    journal_day      bigint  NOT NULL,
    owner            uuid,                  -- the worker that has it
    epoch            bigint  NOT NULL DEFAULT 0, -- how often it was claimed
    left_behind      boolean NOT NULL DEFAULT false, -- a worker had begun it and did not end it
    crashes          bigint  NOT NULL DEFAULT 0, -- how many workers ended at a step of it; below 0 once it is set aside
    crashes_step     bigint,
    suspect          boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX runs_of_thread ON runs (thread, queue_position);
CREATE UNIQUE INDEX one_turn_per_thread ON runs (thread) WHERE status IN ('running', 'waiting');
CREATE UNIQUE INDEX runs_by_idempotency ON runs (thread, idempotency) WHERE idempotency IS NOT NULL;
CREATE INDEX turns_ready ON runs (tenant, key) WHERE owner IS NULL AND status = 'running' AND request IS NULL;
CREATE INDEX jobs_ready ON runs (tenant, key) WHERE owner IS NULL AND status = 'running' AND request IS NOT NULL;
CREATE INDEX runs_queued ON runs (thread) WHERE status = 'queued';
CREATE INDEX runs_of_worker ON runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_suspected ON runs (key) WHERE suspect;
CREATE INDEX runs_unfinished ON runs (journal_day) WHERE ended_ms IS NULL;
CREATE INDEX runs_to_drop ON runs (ended_ms) WHERE ended_ms IS NOT NULL AND kept = 1;

-- One row holds what one commit wrote of a run: the step that it finished, if it finished one, and the events that it told, as
-- a JSON array of which `last` is the number of the last. Partitions are days, and are dropped whole.
CREATE TABLE journal (
    day          bigint NOT NULL,
    run          bigint NOT NULL,
    last         bigint NOT NULL,
    step         bigint,
    node         text,
    state_update text,
    events       text   NOT NULL,
    PRIMARY KEY (run, last, day)
) PARTITION BY RANGE (day);

-- The journals of turns that ended some time ago, packed, under the day on which they ended.
CREATE TABLE traces (
    day    bigint NOT NULL,
    run    bigint NOT NULL,
    packed bytea  NOT NULL,
    PRIMARY KEY (run, day)
) PARTITION BY RANGE (day);

CREATE TABLE feedback (
    run        bigint NOT NULL,
    created_ms bigint NOT NULL,
    score      bigint NOT NULL,
    comment    text   NOT NULL,
    author     text   NOT NULL,
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
);
CREATE INDEX feedback_of_run ON feedback (run);

CREATE TABLE turn_facts (
    run           bigint PRIMARY KEY,
    tenant        text   NOT NULL,
    assistant     text   NOT NULL,
    ended_ms      bigint NOT NULL,
    status        text   NOT NULL,
    outcome       text,
    took_ms       bigint,
    first_word_ms bigint,
    warnings      text   NOT NULL,
    rounds        bigint NOT NULL,
    usage         text   NOT NULL,
    quotes        text   NOT NULL
);
CREATE INDEX turn_facts_by_time ON turn_facts (tenant, ended_ms);

CREATE TABLE dataset_items (
    key     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant  text   NOT NULL,
    dataset text   NOT NULL,
    id      text   NOT NULL,
    content text   NOT NULL,
    corpora jsonb,
    labels  jsonb  NOT NULL DEFAULT '[]',
    UNIQUE (tenant, dataset, id)
);

CREATE TABLE spending (
    tenant text   NOT NULL,
    day    bigint NOT NULL,
    tokens bigint NOT NULL,
    PRIMARY KEY (tenant, day)
);

CREATE TABLE api_keys (
    hash       bytea  PRIMARY KEY,
    tenant     text   NOT NULL,
    name       text   NOT NULL,
    scope      text   NOT NULL,
    role       text   NOT NULL,
    per_minute bigint,
    created_by text   NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint,
    deleted_ms bigint
);
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (tenant, name) WHERE deleted_ms IS NULL;

-- What one process does at a time.
CREATE TABLE leases (
    name   text        PRIMARY KEY,
    holder uuid        NOT NULL,
    until  timestamptz NOT NULL
);

-- When each caller's allowance of requests will be full. It may be forgotten by a crash.
CREATE UNLOGGED TABLE allowances (
    caller  text   PRIMARY KEY,
    full_ms bigint NOT NULL
);

-- The processes that use an account at a provider, which share its limits.
CREATE UNLOGGED TABLE account_users (
    account  text   NOT NULL,
    process  uuid   NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (account, process)
);
