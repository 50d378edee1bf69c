-- Other paths of a project, as somebody named them: another clone of its repository, or where it is on another machine.
CREATE TABLE project_alias (
    path       TEXT    PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    created_at INTEGER NOT NULL
) STRICT;
