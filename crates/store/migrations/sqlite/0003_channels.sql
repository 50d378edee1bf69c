-- Channels and what is posted in them, presence, and watchers.

-- Which post office this is, among those that share channels.
CREATE TABLE office (
    id TEXT NOT NULL
) STRICT;
INSERT INTO office (id) VALUES (lower(hex(randomblob(8))));

CREATE TABLE channel (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
) STRICT;

-- A message that stands in a channel: what the channel knows of it beside the message itself.
CREATE TABLE post (
    message_id  INTEGER PRIMARY KEY REFERENCES message (id),
    channel_id  INTEGER NOT NULL REFERENCES channel (id),
    seq         INTEGER NOT NULL, -- the number of the event that tells of it
    external_id TEXT    NOT NULL, -- its name in the channel's folder, without the ending
    cited_as    TEXT,             -- the id that its author gave it, where that is another
    kind        TEXT    NOT NULL, -- chat, task_assign and so on
    mode        TEXT    NOT NULL, -- chat, or watcher for an answer that no one asked a person for
    hops        INTEGER NOT NULL, -- how many watchers answered each other on the way to it
    sent_at     INTEGER NOT NULL, -- when, as its author says
    -- What arrived, as it arrived; of a message of our own only the content, if there is more than the text.
    document    TEXT
) STRICT;
CREATE INDEX post_by_channel ON post (channel_id, message_id);
CREATE INDEX post_by_external_id ON post (channel_id, external_id);
CREATE INDEX post_by_citation ON post (channel_id, cited_as) WHERE cited_as IS NOT NULL;

-- What came from outside and was dealt with, by the name under which it came: nothing is taken in twice.
CREATE TABLE arrival (
    channel_id INTEGER NOT NULL REFERENCES channel (id),
    key        TEXT    NOT NULL,
    message_id INTEGER NOT NULL REFERENCES message (id),
    PRIMARY KEY (channel_id, key)
) STRICT, WITHOUT ROWID;

-- A text that begins with an agent's name calls it, in any case.
CREATE INDEX agent_in_any_case ON agent (project_id, name COLLATE NOCASE);

CREATE TABLE presence (
    agent_id    INTEGER PRIMARY KEY REFERENCES agent (id),
    project_id  INTEGER NOT NULL REFERENCES project (id),
    state       TEXT    NOT NULL, -- AWAKE, OFFLINE, or what a foreign agent calls it
    substate    TEXT,
    since       INTEGER NOT NULL, -- when it came into this state
    seen_at     INTEGER NOT NULL, -- when it last gave a sign of life
    source      TEXT    NOT NULL, -- activity, watcher or file
    watcher_pid INTEGER,
    channel     TEXT
) STRICT;
CREATE INDEX presence_by_project ON presence (project_id, agent_id);

-- Who watches for an agent, and how far that watcher has looked.
CREATE TABLE watch (
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    channel    TEXT    NOT NULL, -- empty for the agent's mailbox
    position   INTEGER NOT NULL, -- the last message that was looked at
    holder     TEXT    NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (agent_id, channel)
) STRICT, WITHOUT ROWID;

-- The messages that a watcher took on for its agent, and what became of each.
CREATE TABLE watch_run (
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    message_id INTEGER NOT NULL REFERENCES message (id),
    channel    TEXT    NOT NULL,
    state      TEXT    NOT NULL, -- running, answered, silent, failed, again
    tries      INTEGER NOT NULL,
    note       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (agent_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_run_open ON watch_run (agent_id, message_id) WHERE state IN ('running', 'failed', 'again');
