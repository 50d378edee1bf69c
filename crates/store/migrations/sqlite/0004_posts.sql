-- The office and the number under which an imported post was first said, "office:seq": it stays known by these.
ALTER TABLE post ADD COLUMN origin TEXT;

-- The name of what it answers, where that was not known when it came.
ALTER TABLE post ADD COLUMN answers TEXT;
CREATE INDEX post_awaiting ON post (channel_id, answers, message_id) WHERE answers IS NOT NULL;
