-- The messages that a sender sent under a key of which its recipients have one open at a time.
CREATE TABLE open_key (
    sender_id  INTEGER NOT NULL REFERENCES agent (id),
    key        TEXT NOT NULL,
    message_id INTEGER NOT NULL REFERENCES message (id),
    PRIMARY KEY (sender_id, key, message_id)
) STRICT;
