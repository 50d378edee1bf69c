-- A send as the store writes it, but one to a transaction: the project's row is locked and gives the number and the time,
-- then the message, two copies, the event and the sender's time. All in one round trip.
\set project random(1, :projects)
\set letter random(0, :letters - 1)
\set from random(0, 49)
\set sender 50 * (:project - 1) + :from + 1
\set to1 (:from + 1) % 50
\set to2 (:from + 2) % 50
\startpipeline
BEGIN;
UPDATE project SET next_seq = next_seq + 1,
    last_message_at = greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, last_message_at + 1)
WHERE id = :project;
INSERT INTO message (id, project_id, sender_id, created_at, reply_to, importance, ack_required, thread, kind, work_id,
    door, vouched, to_names, cc_names, subject, body, words, from_name)
SELECT new.id, project.id, :sender, project.last_message_at, NULL, 1, false, new.id::text, NULL, NULL, 'mcp', 'claimed',
    'Agent' || lpad(:to1::text, 2, '0') || E'\nAgent' || lpad(:to2::text, 2, '0'), '', letter.subject, letter.body,
    ('''p' || :project::text || ''' ''a' || :sender::text || ''' ' || letter.words)::tsvector,
    (SELECT name FROM agent WHERE id = :sender)
FROM project, bench_letter letter, (SELECT nextval('message_number') AS id) AS new
WHERE project.id = :project AND letter.n = :letter;
INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, kind, ack_note)
VALUES (50 * (:project - 1) + :to1 + 1, currval('message_number'), 0, 0, false, NULL, ''),
    (50 * (:project - 1) + :to2 + 1, currval('message_number'), 0, 1, false, NULL, '');
INSERT INTO event (project_id, seq, kind, reference, agent_id, at)
SELECT id, next_seq - 1, 'message.sent', currval('message_number'), :sender, last_message_at
FROM project WHERE id = :project;
UPDATE agent SET last_active_at =
    greatest(last_active_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
WHERE id = :sender;
COMMIT;
\endpipeline
