-- The office and the number under which an imported post was first said, "office:seq": it stays known by these.
ALTER TABLE post ADD COLUMN origin TEXT;
