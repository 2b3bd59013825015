-- Times are milliseconds. Bodies stand last, so that a scan of the other columns does not read them.
CREATE TABLE forge_issue (
    number     INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    author     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    closed_at  INTEGER,
    key        TEXT UNIQUE,
    body       TEXT NOT NULL
) STRICT;
CREATE INDEX forge_issue_open ON forge_issue (number) WHERE closed_at IS NULL;
CREATE INDEX forge_issue_updated ON forge_issue (updated_at, number);

CREATE TABLE forge_label (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE forge_issue_label (
    issue INTEGER NOT NULL REFERENCES forge_issue (number),
    label INTEGER NOT NULL REFERENCES forge_label (id),
    PRIMARY KEY (issue, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX forge_issue_label_label ON forge_issue_label (label, issue);

CREATE TABLE forge_comment (
    id         INTEGER PRIMARY KEY,
    issue      INTEGER NOT NULL REFERENCES forge_issue (number),
    key        TEXT NOT NULL,
    author     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (issue, key)
) STRICT;
CREATE INDEX forge_comment_issue ON forge_comment (issue, id);

CREATE TABLE forge_change (
    number     INTEGER PRIMARY KEY,
    issue      INTEGER REFERENCES forge_issue (number),
    branch     TEXT NOT NULL,
    base       TEXT NOT NULL,
    head       TEXT NOT NULL,
    state      TEXT NOT NULL,
    merged_as  TEXT,
    created_at INTEGER NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX forge_change_open ON forge_change (branch) WHERE state = 'open';
CREATE INDEX forge_change_branch ON forge_change (branch, number);

CREATE TABLE forge_review (
    id         INTEGER PRIMARY KEY,
    change     INTEGER NOT NULL REFERENCES forge_change (number),
    key        TEXT NOT NULL,
    author     TEXT NOT NULL,
    head       TEXT NOT NULL,
    decision   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (change, key)
) STRICT;

CREATE TABLE forge_status (
    sha         TEXT NOT NULL,
    context     TEXT NOT NULL,
    state       TEXT NOT NULL,
    description TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (sha, context)
) STRICT, WITHOUT ROWID;
