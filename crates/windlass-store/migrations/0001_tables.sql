-- The first tables. Times are milliseconds since 1970, `data` is JSON in the words of windlass-core.

CREATE TABLE task (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    issue      INTEGER NOT NULL,
    state      TEXT NOT NULL,
    live       INTEGER NOT NULL CHECK (live IN (0, 1)),
    version    INTEGER NOT NULL,
    wake_at    INTEGER,
    since      INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    data       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX task_one_live_per_issue ON task (issue) WHERE live = 1;
CREATE INDEX task_by_issue ON task (issue, seq);
CREATE INDEX task_by_state ON task (live, state);
CREATE INDEX task_by_wake ON task (wake_at);

CREATE TABLE event (
    seq   INTEGER PRIMARY KEY AUTOINCREMENT,
    at    INTEGER NOT NULL,
    task  TEXT,
    issue INTEGER,
    kind  TEXT NOT NULL,
    data  TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_issue ON event (issue, seq);
CREATE INDEX event_by_kind ON event (kind, seq);
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;

CREATE TABLE effect (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    key        TEXT NOT NULL UNIQUE,
    owner      TEXT,
    lane       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    args       TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('intent', 'done', 'failed', 'cancelled')),
    attempt    INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    result     TEXT,
    error      TEXT,
    epoch      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;
CREATE INDEX effect_waiting ON effect (seq) WHERE status = 'intent';

CREATE TABLE lease (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch  INTEGER NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE TABLE identity (
    seq    INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    task   TEXT NOT NULL,
    issue  INTEGER NOT NULL,
    role   TEXT NOT NULL,
    status TEXT NOT NULL,
    live   INTEGER NOT NULL CHECK (live IN (0, 1)),
    data   TEXT NOT NULL
) STRICT;
CREATE INDEX identity_by_live ON identity (live, seq);
CREATE INDEX identity_by_task ON identity (task, seq);

CREATE TABLE hook (
    identity TEXT PRIMARY KEY,
    data     TEXT NOT NULL
) STRICT;

CREATE TABLE build (
    seq    INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    tree   TEXT NOT NULL,
    recipe TEXT NOT NULL,
    status TEXT NOT NULL,
    data   TEXT NOT NULL
) STRICT;
CREATE INDEX build_open ON build (seq) WHERE status IN ('waiting', 'running');
CREATE INDEX build_by_tree ON build (tree, recipe, seq);

CREATE TABLE verdict (
    tree   TEXT NOT NULL,
    recipe TEXT NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (tree, recipe)
) STRICT;

CREATE TABLE usage (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    task    TEXT NOT NULL,
    issue   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    data    TEXT NOT NULL
) STRICT;

CREATE TABLE command (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    by     TEXT NOT NULL,
    data   TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'done')),
    answer TEXT
) STRICT;
CREATE INDEX command_waiting ON command (id) WHERE status = 'waiting';

CREATE TABLE decision (
    issue INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    text  TEXT NOT NULL
) STRICT;

CREATE TABLE control (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
