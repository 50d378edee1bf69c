-- Sessions of clients, the names that were generated for them, and names that agents had before.

-- A session that ended is kept until its agent has another one.
CREATE TABLE session (
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    key        TEXT    NOT NULL,
    project_id INTEGER NOT NULL REFERENCES project (id),
    client     TEXT    NOT NULL,
    host       TEXT    NOT NULL,
    place      TEXT    NOT NULL,
    is_idle    INTEGER NOT NULL, -- 0 or 1
    began_at   INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    ended_at   INTEGER,
    PRIMARY KEY (agent_id, key)
) STRICT;
CREATE INDEX session_open ON session (project_id, agent_id) WHERE ended_at IS NULL;

-- Agents whose names nobody chose, and up to which message the person was told of their mail.
CREATE TABLE generated_name (
    agent_id    INTEGER PRIMARY KEY REFERENCES agent (id),
    project_id  INTEGER NOT NULL REFERENCES project (id),
    handed_over INTEGER NOT NULL
) STRICT;
CREATE INDEX generated_name_by_project ON generated_name (project_id, agent_id);

-- What agents were called before. A name leads to one agent.
CREATE TABLE former_name (
    project_id INTEGER NOT NULL REFERENCES project (id),
    name       TEXT    NOT NULL,
    agent_id   INTEGER NOT NULL REFERENCES agent (id),
    PRIMARY KEY (project_id, name)
) STRICT;
