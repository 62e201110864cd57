//! What is copied, and how each side reads and writes it. Rows name threads and runs by their ids, since each side has keys of its own.

use super::value::Kind::{self, Bytes, Id, Int, Json, Text};

/// A table as it is copied.
pub(super) struct Table {
    /// What its rows are called.
    pub(super) name: &'static str,
    /// Its columns, as both sides read them.
    pub(super) columns: &'static [(&'static str, Kind)],
    /// Where SQLite reads them from: `?1` are the keys of threads, as a JSON array.
    pub(super) file_read: &'static str,
    /// How SQLite writes one, with the values from `?1` on.
    pub(super) file_write: &'static str,
    /// Where Postgres reads them from: `$1` are the keys of threads.
    pub(super) database_read: &'static str,
    /// How Postgres writes many, of a table `new` with the columns.
    pub(super) database_write: &'static str,
}

const FILE_RUN: &str = "(SELECT id FROM runs AS of WHERE of.key = run)";

/// The tables whose rows belong to threads, in the order in which they are written.
pub(super) const OF_THREADS: [Table; 7] = [
    Table {
        name: "threads",
        columns: &[
            ("id", Id),
            ("tenant", Text),
            ("title", Text),
            ("messages", Int),
            ("created_ms", Int),
            ("updated_ms", Int),
            ("metadata", Json),
            ("owner", Text),
            ("shared", Int),
            ("corpora", Json),
            ("labels", Json),
            ("temporary", Int),
        ],
        file_read: "SELECT id, tenant, title, messages, created_ms, updated_ms, metadata, owner, shared, corpora, labels, temporary
            FROM threads WHERE key IN (SELECT value FROM json_each(?1))",
        file_write: "INSERT INTO threads (id, tenant, title, messages, created_ms, updated_ms, metadata, owner, shared, corpora, labels,
            temporary) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        database_read: "SELECT id, tenant, title, messages, created_ms, updated_ms, metadata::text, owner, shared::int::bigint,
            corpora::text, labels::text, temporary::int::bigint FROM threads WHERE key = ANY($1)",
        database_write: "INSERT INTO threads (id, tenant, title, messages, created_ms, updated_ms, metadata, owner, shared, corpora, labels,
                temporary, is_queue)
            SELECT id, tenant, title, messages, created_ms, updated_ms, metadata::jsonb, owner, shared = 1, corpora::jsonb, labels::jsonb,
                temporary = 1, {is_queue} FROM new",
    },
    Table {
        name: "runs",
        columns: &[
            ("id", Id),
            ("thread", Id),
            ("graph", Text),
            ("version", Text),
            ("status", Text),
            ("queue_position", Int),
            ("options", Text),
            ("input", Json),
            ("idempotency", Text),
            ("stopping", Text),
            ("history_from", Int),
            ("history_to", Int),
            ("input_to", Int),
            ("interrupted_step", Int),
            ("interrupt", Text),
            ("resume_value", Text),
            ("error", Text),
            ("created_ms", Int),
            ("ended_ms", Int),
            ("kept", Int),
            ("scope", Text),
            ("metadata", Text),
            ("output_from", Int),
            ("output_to", Int),
            ("request", Text),
            ("result", Text),
            ("stream_modes", Text),
            ("traceparent", Text),
            ("crashes", Int),
            ("crashes_step", Int),
        ],
        file_read: "SELECT runs.id, threads.id, graph, version, status, queue_position, options, input, idempotency, stopping, history_from,
                history_to, input_to, interrupted_step, interrupt, resume_value, error, runs.created_ms, ended_ms, kept,
                coalesce(scope, json_object('tenant', tenant)), runs.metadata, output_from, output_to, request, result, stream_modes,
                traceparent, crashes, crashes_step
            FROM runs JOIN threads ON threads.key = runs.thread WHERE runs.thread IN (SELECT value FROM json_each(?1)) ORDER BY runs.key",
        file_write: "INSERT INTO runs (id, thread, graph, version, status, queue_position, options, input, idempotency, stopping, history_from,
                history_to, input_to, interrupted_step, interrupt, resume_value, error, created_ms, ended_ms, kept, scope, metadata,
                output_from, output_to, request, result, stream_modes, traceparent, crashes, crashes_step)
            VALUES (?1, (SELECT key FROM threads WHERE id = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)",
        database_read: "SELECT runs.id, threads.id, graph, version, status, queue_position, options, input::text, idempotency, stopping,
                history_from, history_to, input_to, interrupted_step, interrupt, resume_value, error, runs.created_ms, ended_ms, kept,
                scope, runs.metadata, output_from, output_to, request, result, stream_modes, traceparent, crashes, crashes_step
            FROM runs JOIN threads ON threads.key = runs.thread WHERE runs.thread = ANY($1) ORDER BY runs.key",
        database_write: "INSERT INTO runs (id, thread, tenant, graph, version, status, queue_position, options, input, idempotency, stopping,
                history_from, history_to, input_to, interrupted_step, interrupt, resume_value, error, created_ms, ended_ms, kept, scope,
                metadata, output_from, output_to, request, result, stream_modes, traceparent, crashes, crashes_step, journal_day,
                history_window, left_behind, has_next)
            SELECT new.id, threads.key, threads.tenant, graph, version, status, queue_position, options, input::json, idempotency, stopping,
                history_from, history_to, input_to, interrupted_step, interrupt, resume_value, error, new.created_ms, ended_ms, kept, scope,
                new.metadata, output_from, output_to, request, result, stream_modes, traceparent, crashes, crashes_step, day_of(now_ms()),
                50, status = 'running', EXISTS (SELECT 1 FROM new AS other WHERE other.thread = new.thread AND other.status = 'queued')
            FROM new JOIN threads ON threads.id = new.thread ORDER BY number",
    },
    Table {
        name: "messages",
        columns: &[("thread", Id), ("position", Int), ("run", Id), ("body", Text)],
        file_read: "SELECT threads.id, position, {run}, body FROM messages JOIN threads ON threads.key = messages.thread
            WHERE messages.thread IN (SELECT value FROM json_each(?1))",
        file_write: "INSERT INTO messages (thread, position, run, body)
            VALUES ((SELECT key FROM threads WHERE id = ?1), ?2, coalesce((SELECT key FROM runs WHERE id = ?3), 0), ?4)",
        database_read: "SELECT threads.id, position, (SELECT id FROM runs WHERE runs.key = messages.run), body
            FROM messages JOIN threads ON threads.key = messages.thread WHERE messages.thread = ANY($1)",
        database_write: "INSERT INTO messages (thread, position, run, body)
            SELECT threads.key, position, coalesce((SELECT key FROM runs WHERE runs.id = new.run), 0), body
            FROM new JOIN threads ON threads.id = new.thread",
    },
    Table {
        name: "steps and events",
        columns: &[("run", Id), ("last", Int), ("step", Int), ("node", Text), ("state_update", Text), ("events", Text)],
        file_read: "SELECT runs.id, last, step, node, state_update, events FROM journal JOIN runs ON runs.key = journal.run
            WHERE runs.thread IN (SELECT value FROM json_each(?1))",
        file_write: "INSERT INTO journal (run, last, step, node, state_update, events)
            VALUES ((SELECT key FROM runs WHERE id = ?1), ?2, ?3, ?4, ?5, ?6)",
        database_read: "SELECT runs.id, last, step, node, state_update, events
            FROM journal JOIN runs ON runs.key = journal.run AND runs.journal_day = journal.day WHERE runs.thread = ANY($1)",
        database_write: "INSERT INTO journal (day, run, last, step, node, state_update, events)
            SELECT runs.journal_day, runs.key, last, step, node, state_update, events FROM new JOIN runs ON runs.id = new.run",
    },
    Table {
        name: "traces",
        columns: &[("run", Id), ("packed", Bytes)],
        file_read: "SELECT runs.id, packed FROM traces JOIN runs ON runs.key = traces.run
            WHERE runs.thread IN (SELECT value FROM json_each(?1))",
        file_write: "INSERT INTO traces (run, ended_ms, packed) SELECT key, ended_ms, ?2 FROM runs WHERE id = ?1",
        database_read: "SELECT runs.id, packed FROM traces JOIN runs ON runs.key = traces.run AND traces.day = day_of(runs.ended_ms)
            WHERE runs.thread = ANY($1)",
        database_write: "INSERT INTO traces (day, run, packed)
            SELECT day_of(ended_ms), key, packed FROM new JOIN runs ON runs.id = new.run",
    },
    Table {
        name: "ratings",
        columns: &[("run", Id), ("created_ms", Int), ("score", Int), ("comment", Text), ("author", Text)],
        file_read: "SELECT runs.id, feedback.created_ms, score, comment, author FROM feedback JOIN runs ON runs.key = feedback.run
            WHERE runs.thread IN (SELECT value FROM json_each(?1)) ORDER BY feedback.rowid",
        file_write: "INSERT INTO feedback (run, created_ms, score, comment, author)
            VALUES ((SELECT key FROM runs WHERE id = ?1), ?2, ?3, ?4, ?5)",
        database_read: "SELECT runs.id, feedback.created_ms, score, comment, author FROM feedback JOIN runs ON runs.key = feedback.run
            WHERE runs.thread = ANY($1) ORDER BY feedback.key",
        database_write: "INSERT INTO feedback (run, created_ms, score, comment, author)
            SELECT runs.key, new.created_ms, score, comment, author FROM new JOIN runs ON runs.id = new.run ORDER BY number",
    },
    Table {
        name: "facts of turns",
        columns: FACTS,
        file_read: "SELECT runs.id, tenant, assistant, turn_facts.ended_ms, turn_facts.status, outcome, took_ms, first_word_ms, warnings,
                rounds, usage, quotes FROM turn_facts JOIN runs ON runs.key = turn_facts.run
            WHERE runs.thread IN (SELECT value FROM json_each(?1))",
        file_write: FACTS_FILE_WRITE,
        database_read: "SELECT runs.id, turn_facts.tenant, assistant, turn_facts.ended_ms, turn_facts.status, outcome, took_ms,
                first_word_ms, warnings, rounds, usage, quotes FROM turn_facts JOIN runs ON runs.key = turn_facts.run
            WHERE runs.thread = ANY($1)",
        database_write: FACTS_DATABASE_WRITE,
    },
];

const FACTS: &[(&str, Kind)] = &[
    ("run", Id),
    ("tenant", Text),
    ("assistant", Text),
    ("ended_ms", Int),
    ("status", Text),
    ("outcome", Text),
    ("took_ms", Int),
    ("first_word_ms", Int),
    ("warnings", Text),
    ("rounds", Int),
    ("usage", Text),
    ("quotes", Text),
];

/// What is known of a turn stays when its conversation is deleted: then it has a key that no run has.
const FACTS_FILE_WRITE: &str = "
    INSERT INTO turn_facts (run, tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds, usage, quotes)
    VALUES (coalesce((SELECT key FROM runs WHERE id = ?1), (SELECT min(0, coalesce(min(run), 0)) - 1 FROM turn_facts)),
        ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
const FACTS_DATABASE_WRITE: &str = "
    INSERT INTO turn_facts (run, tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds, usage, quotes)
    SELECT coalesce((SELECT key FROM runs WHERE runs.id = new.run), (SELECT least(0, min(run)) FROM turn_facts) - number),
        tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds, usage, quotes FROM new";

/// The tables that are copied as a whole, with conversations.
pub(super) const WHOLE: [Table; 4] = [
    Table {
        name: "facts of deleted turns",
        columns: FACTS,
        file_read: "SELECT NULL, tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds, usage, quotes
            FROM turn_facts WHERE run NOT IN (SELECT key FROM runs)",
        file_write: FACTS_FILE_WRITE,
        database_read: "SELECT NULL::uuid, tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds, usage, quotes
            FROM turn_facts WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.key = turn_facts.run)",
        database_write: FACTS_DATABASE_WRITE,
    },
    Table {
        name: "questions of datasets",
        columns: &[
            ("tenant", Text),
            ("dataset", Text),
            ("id", Text),
            ("content", Text),
            ("corpora", Json),
            ("labels", Json),
        ],
        file_read: "SELECT tenant, dataset, id, content, corpora, labels FROM dataset_items ORDER BY key",
        file_write: "INSERT INTO dataset_items (tenant, dataset, id, content, corpora, labels) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        database_read: "SELECT tenant, dataset, id, content, corpora::text, labels::text FROM dataset_items ORDER BY key",
        database_write: "INSERT INTO dataset_items (tenant, dataset, id, content, corpora, labels)
            SELECT tenant, dataset, id, content, corpora::jsonb, labels::jsonb FROM new ORDER BY number",
    },
    Table {
        name: "days of spending",
        columns: &[("tenant", Text), ("day", Int), ("tokens", Int)],
        file_read: "SELECT tenant, day, tokens FROM spending",
        file_write: "INSERT INTO spending (tenant, day, tokens) VALUES (?1, ?2, ?3)",
        database_read: "SELECT tenant, day, tokens FROM spending",
        database_write: "INSERT INTO spending (tenant, day, tokens) SELECT tenant, day, tokens FROM new",
    },
    Table {
        name: "keys",
        columns: &[
            ("hash", Bytes),
            ("tenant", Text),
            ("name", Text),
            ("scope", Text),
            ("role", Text),
            ("per_minute", Int),
            ("created_by", Text),
            ("created_ms", Int),
            ("expires_ms", Int),
            ("deleted_ms", Int),
        ],
        file_read: "SELECT hash, tenant, name, scope, role, per_minute, created_by, created_ms, expires_ms, deleted_ms FROM api_keys",
        file_write: "INSERT INTO api_keys (hash, tenant, name, scope, role, per_minute, created_by, created_ms, expires_ms, deleted_ms)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        database_read: "SELECT hash, tenant, name, scope, role, per_minute, created_by, created_ms, expires_ms, deleted_ms FROM api_keys",
        database_write: "INSERT INTO api_keys (hash, tenant, name, scope, role, per_minute, created_by, created_ms, expires_ms, deleted_ms)
            SELECT hash, tenant, name, scope, role, per_minute, created_by, created_ms, expires_ms, deleted_ms FROM new",
    },
];

impl Table {
    /// How SQLite reads it.
    pub(super) fn file_sql(&self) -> String {
        self.file_read.replace("{run}", FILE_RUN)
    }
}
