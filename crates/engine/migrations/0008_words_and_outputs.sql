-- Columns and tables under the names that the code uses, the messages that a run answered with, and jobs (such as the load of a
-- document) with their request and their result in the run itself instead of in messages of a thread.

ALTER TABLE told RENAME TO pending_events;
ALTER TABLE journal RENAME COLUMN change TO state_update;
ALTER TABLE runs RENAME COLUMN place TO queue_position;
ALTER TABLE runs RENAME COLUMN asked_step TO interrupted_step;
ALTER TABLE runs RENAME COLUMN question TO interrupt;
ALTER TABLE runs RENAME COLUMN answer TO resume_value;

-- The messages that a run answered with stand from output_from to output_to.
ALTER TABLE runs ADD COLUMN output_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN output_to INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET
    output_from = input_to,
    output_to = input_to + (SELECT count(*) FROM messages
                            WHERE messages.thread = runs.thread AND messages.run = runs.key AND position >= runs.input_to)
WHERE ended_ms IS NOT NULL;

-- A run with a request is a job: its thread is only the queue that it waits in.
ALTER TABLE runs ADD COLUMN request TEXT;
ALTER TABLE runs ADD COLUMN result TEXT;
UPDATE runs SET
    request = coalesce(
        json_extract(input, '$[0].text'),
        (SELECT json_extract(body, '$.text') FROM messages WHERE messages.thread = runs.thread AND position = runs.history_to)),
    result = (SELECT json_extract(body, '$.text') FROM messages
              WHERE messages.thread = runs.thread AND messages.run = runs.key AND position >= runs.input_to
              ORDER BY position DESC LIMIT 1),
    input = NULL, history_from = 0, history_to = 0, input_to = 0, output_from = 0, output_to = 0
WHERE graph = 'ingestion';
DELETE FROM messages WHERE run IN (SELECT key FROM runs WHERE graph = 'ingestion');
UPDATE threads SET messages = 0, title = '' WHERE key IN (SELECT thread FROM runs WHERE graph = 'ingestion');

-- What was to be streamed of a run is a column of its own, and no longer a key among the options of its caller.
ALTER TABLE runs ADD COLUMN stream_modes TEXT NOT NULL DEFAULT '[]';
UPDATE runs SET stream_modes = json_extract(options, '$.__stream_mode'), options = json_remove(options, '$.__stream_mode')
WHERE json_type(options, '$.__stream_mode') = 'array';
