-- What a person asks who looks after many agents, and agents that are retired.

-- When a person retired the agent: nobody writes to it until it registers again.
ALTER TABLE agent ADD COLUMN retired_at INTEGER;

-- Each holds only what is asked for, so that looking for it costs little however much mail there is, and an ordinary message
-- is in none of them when it is sent.
CREATE INDEX message_urgent ON message (project_id, id) WHERE importance >= 2;
CREATE INDEX message_by_kind ON message (project_id, kind, id) WHERE kind IS NOT NULL;
CREATE INDEX delivery_ack_due ON delivery (recipient_id, message_id)
    WHERE ack_required = 1 AND acked_at IS NULL AND archived_at IS NULL;
CREATE INDEX delivery_archived ON delivery (recipient_id, message_id) WHERE archived_at IS NOT NULL;
