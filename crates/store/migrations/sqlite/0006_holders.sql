-- Of the processes that would do the work of a sink, one holds it at a time.
ALTER TABLE cursor ADD COLUMN holder TEXT NOT NULL DEFAULT '';
ALTER TABLE cursor ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;
