-- Asked of the past: when a command was answered, what a task went through, what an issue cost, what ended lately.

ALTER TABLE command ADD COLUMN answered_at INTEGER;
-- An answer from before this column counts as given when the command came.
UPDATE command SET answered_at = at WHERE status = 'done';

CREATE INDEX event_by_task ON event (task, seq);
CREATE INDEX task_by_since ON task (live, since);
CREATE INDEX usage_by_issue ON usage (issue, at);
CREATE INDEX usage_by_time ON usage (at);
