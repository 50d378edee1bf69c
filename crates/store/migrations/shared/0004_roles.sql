-- Roles, which one of several agents holds at a time, and who was heard of last.

-- While nobody holds a role its mail waits in a mailbox of its own. Who held it last stays noted: what that agent has not read
-- goes to the next.
CREATE TABLE role (
    project_id INTEGER NOT NULL REFERENCES project (id),
    name       TEXT    NOT NULL,
    mailbox_id INTEGER NOT NULL REFERENCES agent (id),
    holder_id  INTEGER REFERENCES agent (id),
    since      INTEGER NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (project_id, name)
) STRICT;

-- Colleagues are told by whom was heard of last.
CREATE INDEX presence_by_time ON presence (project_id, seen_at);
