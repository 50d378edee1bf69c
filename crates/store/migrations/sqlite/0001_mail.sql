-- Everything that version 1 keeps. Times are microseconds since 1970. A migration that was released is never changed:
-- its checksum is kept in `migration`; what comes later stands in a file of its own.

CREATE TABLE project (
    id              INTEGER PRIMARY KEY,
    slug            TEXT    NOT NULL UNIQUE,
    human_key       TEXT    NOT NULL UNIQUE,
    created_at      INTEGER NOT NULL,
    -- The number of the next event: taken in the transaction of what the event tells, so that the log has no gaps.
    next_seq        INTEGER NOT NULL DEFAULT 1,
    -- The time of the newest message, which the next one has to pass.
    last_message_at INTEGER NOT NULL DEFAULT 0,
    -- Rises with every change of a lease or of the line, so that a process knows when its lease book is out of date.
    lease_version   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE agent (
    id               INTEGER PRIMARY KEY,
    project_id       INTEGER NOT NULL REFERENCES project (id),
    name             TEXT    NOT NULL,
    program          TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    task_description TEXT    NOT NULL,
    registered_at    INTEGER NOT NULL,
    last_active_at   INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;
CREATE INDEX agent_by_project ON agent (project_id, id);

CREATE TABLE agent_token (
    id         INTEGER PRIMARY KEY,
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    hash       BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX agent_token_by_agent ON agent_token (agent_id, id);

CREATE TABLE message (
    id           INTEGER PRIMARY KEY,
    project_id   INTEGER NOT NULL REFERENCES project (id),
    sender_id    INTEGER NOT NULL REFERENCES agent (id),
    created_at   INTEGER NOT NULL,
    thread       TEXT    NOT NULL,
    reply_to     INTEGER,
    importance   INTEGER NOT NULL, -- 0 low, 1 normal, 2 high, 3 urgent
    ack_required INTEGER NOT NULL,
    kind         TEXT,
    work_id      TEXT,
    door         TEXT    NOT NULL,
    vouched      TEXT    NOT NULL,
    external_id  TEXT,
    -- The names as they were written, one a line: they never change, and are shown far more often than they are asked.
    from_name    TEXT    NOT NULL,
    to_names     TEXT    NOT NULL,
    cc_names     TEXT    NOT NULL,
    subject      TEXT    NOT NULL,
    -- Last, so that a long body's overflow pages are never walked for what stands before it.
    body         TEXT    NOT NULL
) STRICT;
CREATE INDEX message_by_thread ON message (project_id, thread, id);
CREATE INDEX message_by_sender ON message (sender_id, id);

CREATE TABLE delivery (
    recipient_id INTEGER NOT NULL REFERENCES agent (id),
    message_id   INTEGER NOT NULL REFERENCES message (id),
    role         INTEGER NOT NULL, -- 0 to, 1 cc, 2 bcc
    position     INTEGER NOT NULL, -- the recipient's place in the sender's list
    ack_required INTEGER NOT NULL, -- as in the message: an inbox is filtered by it
    shown_at     INTEGER,
    read_at      INTEGER,
    acked_at     INTEGER,
    ack_note     TEXT    NOT NULL DEFAULT '',
    archived_at  INTEGER,
    PRIMARY KEY (recipient_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_by_message ON delivery (message_id, role, position);
-- What agents ask for most often is what is new, and the usual answer is nothing: these hold only that.
CREATE INDEX delivery_unread ON delivery (recipient_id, message_id)
    WHERE read_at IS NULL AND archived_at IS NULL;
CREATE INDEX delivery_unseen ON delivery (recipient_id, message_id)
    WHERE shown_at IS NULL AND read_at IS NULL AND archived_at IS NULL;
CREATE INDEX delivery_to_acknowledge ON delivery (recipient_id, message_id)
    WHERE ack_required = 1 AND archived_at IS NULL;

-- The words of every message. `scope` holds the tokens p<project> and a<sender>, so that the walls between projects
-- are part of each query. The text itself is in `message`; sizes of columns serve only a ranking that nobody uses.
CREATE VIRTUAL TABLE message_fts USING fts5 (
    scope, subject, body,
    content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE idempotency (
    sender_id   INTEGER NOT NULL REFERENCES agent (id),
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    message_id  INTEGER NOT NULL REFERENCES message (id),
    PRIMARY KEY (sender_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE reservation (
    id          INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES project (id),
    holder_id   INTEGER NOT NULL REFERENCES agent (id),
    pattern     TEXT    NOT NULL,
    exclusive   INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    granted_at  INTEGER NOT NULL,
    ends_at     INTEGER NOT NULL,
    released_at INTEGER
) STRICT;
-- By their end: leases that ended by themselves are never touched again, however many there are.
CREATE INDEX reservation_open ON reservation (project_id, ends_at) WHERE released_at IS NULL;
CREATE INDEX reservation_held ON reservation (holder_id, ends_at) WHERE released_at IS NULL;

CREATE TABLE reservation_wait (
    ticket     INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: a lower one came earlier
    project_id INTEGER NOT NULL REFERENCES project (id),
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    patterns   TEXT    NOT NULL, -- one a line
    exclusive  INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    until      INTEGER NOT NULL
) STRICT;
CREATE INDEX reservation_wait_by_project ON reservation_wait (project_id, ticket);

CREATE TABLE event (
    project_id INTEGER NOT NULL REFERENCES project (id),
    seq        INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    reference  INTEGER NOT NULL,
    agent_id   INTEGER,
    at         INTEGER NOT NULL,
    PRIMARY KEY (project_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursor (
    sink       TEXT    NOT NULL,
    project_id INTEGER NOT NULL REFERENCES project (id),
    seq        INTEGER NOT NULL,
    PRIMARY KEY (sink, project_id)
) STRICT, WITHOUT ROWID;
