-- The work board: what was last said of each piece of work, by each sender and in each kind, is read from this index
-- alone. `kind` is null for what is merely said about the work; `ack_required` leads to the acknowledgements that are due.
CREATE INDEX message_by_work ON message (project_id, work_id, kind, sender_id, id, ack_required)
    WHERE work_id IS NOT NULL;
