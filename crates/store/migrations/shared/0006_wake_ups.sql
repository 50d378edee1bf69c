-- Wake-ups of idle sessions: whom, of which mail they told, and what became of them.

-- Each told of what was unseen then, from one message to another.
CREATE TABLE wake_up (
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    number     INTEGER NOT NULL, -- from 1
    session    TEXT    NOT NULL,
    first      INTEGER NOT NULL,
    up_to      INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    outcome    INTEGER,
    settled_at INTEGER,
    PRIMARY KEY (agent_id, number)
) STRICT;
CREATE INDEX wake_up_by_message ON wake_up (agent_id, up_to, number);
