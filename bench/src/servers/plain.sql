-- The rows of a send and nothing else: no project is locked, so that no transaction waits for another, and the event takes
-- its number from the message's, behind those that the project has. This is less than the store promises, and faster. All in one round trip.
\set project random(1, :projects)
\set letter random(0, :letters - 1)
\set from random(0, 49)
\set sender 50 * (:project - 1) + :from + 1
\set to1 (:from + 1) % 50
\set to2 (:from + 2) % 50
\startpipeline
BEGIN;
INSERT INTO message (id, project_id, sender_id, created_at, reply_to, importance, ack_required, thread, kind, work_id,
    door, vouched, to_names, cc_names, subject, body, words, from_name)
SELECT new.id, :project, :sender, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, NULL, 1, false,
    new.id::text, NULL, NULL, 'mcp', 'claimed',
    'Agent' || lpad(:to1::text, 2, '0') || E'\nAgent' || lpad(:to2::text, 2, '0'), '', letter.subject, letter.body,
    ('''p' || :project::text || ''' ''a' || :sender::text || ''' ' || letter.words)::tsvector,
    'Agent' || lpad(:from::text, 2, '0')
FROM bench_letter letter, (SELECT nextval('message_number') AS id) AS new
WHERE letter.n = :letter;
INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, kind, ack_note)
VALUES (50 * (:project - 1) + :to1 + 1, currval('message_number'), 0, 0, false, NULL, ''),
    (50 * (:project - 1) + :to2 + 1, currval('message_number'), 0, 1, false, NULL, '');
INSERT INTO event (project_id, seq, kind, reference, agent_id, at)
VALUES (:project, 1000000 + currval('message_number'), 'message.sent', currval('message_number'), :sender,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
COMMIT;
\endpipeline
