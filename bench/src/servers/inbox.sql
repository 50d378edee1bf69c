-- An inbox of twenty with bodies, as the store asks for it.
\set agent random(1, 50 * :projects)
SELECT m.id, m.project_id, m.from_name, m.to_names, m.cc_names, m.subject, m.thread, m.reply_to, m.importance,
    m.ack_required, m.kind, m.work_id, m.door, m.vouched, m.created_at, m.body,
    d.role, d.shown_at, d.read_at, d.acked_at, d.ack_note, d.archived_at
FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.recipient_id = :agent AND d.archived_at IS NULL AND d.message_id < 9223372036854775807
ORDER BY d.message_id DESC LIMIT 20;
