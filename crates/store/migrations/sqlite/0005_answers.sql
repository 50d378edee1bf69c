-- Who answered a message: a watcher asks before it takes one on.
CREATE INDEX message_by_answered ON message (reply_to, sender_id) WHERE reply_to IS NOT NULL;
