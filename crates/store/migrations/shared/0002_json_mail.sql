-- Messages in JSON: the ids that their authors gave them, and what was wrong with them when they were accepted.

-- The first message of a project under each id, so that the second one with other content is noticed.
CREATE TABLE own_id (
    project_id INTEGER NOT NULL REFERENCES project (id),
    own_id     TEXT    NOT NULL,
    message_id INTEGER NOT NULL REFERENCES message (id),
    PRIMARY KEY (project_id, own_id)
) STRICT;

-- Beside the message and not in it: hardly any has one, and who reads a list of messages learns of it without their bodies.
CREATE TABLE fault (
    message_id INTEGER PRIMARY KEY REFERENCES message (id),
    problems   TEXT    NOT NULL
) STRICT;
