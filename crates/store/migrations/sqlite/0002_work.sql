-- The work board, and mail by its kind.

-- All that was said about a piece of work, typed or not; `ack_required` leads to the acknowledgements that are due.
CREATE INDEX message_by_work ON message (project_id, work_id, id, ack_required) WHERE work_id IS NOT NULL;

-- The pieces of work that typed messages name, and the newest such message: the board lists what changed last.
CREATE TABLE work (
    project_id INTEGER NOT NULL REFERENCES project (id),
    work_id    TEXT    NOT NULL,
    newest     INTEGER NOT NULL REFERENCES message (id),
    PRIMARY KEY (project_id, work_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_by_newest ON work (project_id, newest);

-- The typed messages that tell how a piece of work stands. Of those that are merely passing (how far one is), a sender's
-- newest of a kind replaces the one before, and has place 0; any other has its own number for a place.
CREATE TABLE work_word (
    project_id INTEGER NOT NULL REFERENCES project (id),
    work_id    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    sender_id  INTEGER NOT NULL REFERENCES agent (id),
    place      INTEGER NOT NULL,
    message_id INTEGER NOT NULL REFERENCES message (id),
    PRIMARY KEY (project_id, work_id, kind, sender_id, place)
) STRICT, WITHOUT ROWID;

INSERT INTO work (project_id, work_id, newest)
    SELECT project_id, work_id, max(id) FROM message WHERE work_id IS NOT NULL AND kind IS NOT NULL
    GROUP BY project_id, work_id;
INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id)
    SELECT project_id, work_id, kind, sender_id, iif(kind = 'PROGRESS', 0, id) AS place, max(id) FROM message
    WHERE work_id IS NOT NULL AND kind IS NOT NULL GROUP BY project_id, work_id, kind, sender_id, place;

-- As in the message: an inbox is filtered by it.
ALTER TABLE delivery ADD COLUMN kind TEXT;
UPDATE delivery SET kind = (SELECT m.kind FROM message m WHERE m.id = message_id)
    WHERE message_id IN (SELECT id FROM message WHERE kind IS NOT NULL);
CREATE INDEX delivery_by_kind ON delivery (recipient_id, kind, message_id) WHERE kind IS NOT NULL;

-- How many acknowledgements were given, so that a watcher of the board sees that one was.
ALTER TABLE project ADD COLUMN acks INTEGER NOT NULL DEFAULT 0;
