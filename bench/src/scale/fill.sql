-- Messages $1 to $2 of those that are filled in, with their copies and events, as the store would have written them.
--
-- The n-th goes to one project after the other. Ten in turn of a project are about one case; five in turn make a thread,
-- and every fiftieth is part of one that never ends. $3 is the time of the first, $4 the microseconds from one to the next,
-- $5 what is added to n for a message's number, and $6 how many turns were filled in before.
WITH drawn AS MATERIALIZED (
    SELECT n, n + $5::bigint AS id, 1 + (n - 1) % 200 AS project, (n - 1) / 200 AS turn,
        $3::bigint + n * $4::bigint AS at,
        floor(random() * 50)::integer AS sender,
        -- The first of a project get most of its mail; everybody's neighbours get the copies.
        floor(power(50, random()))::integer - 1 AS first, floor(power(3.999, random()))::integer AS copies,
        floor(random() * 50000)::integer AS s, floor(random() * 50000)::integer AS b1,
        floor(random() * 50000)::integer AS b2, floor(random() * 50000)::integer AS b3,
        floor(random() * 50000)::integer AS b4
    FROM generate_series($1::bigint, $2::bigint) AS n
), made AS MATERIALIZED (
    SELECT id, project, turn, at, 50 * (project - 1) + sender + 1 AS sender_id,
        'Agent' || lpad(sender::text, 2, '0') AS from_name,
        ARRAY(SELECT (first + step) % 50 FROM generate_series(0, copies) AS step
              WHERE (first + step) % 50 <> sender LIMIT copies) AS places,
        (drawn.n - 1) / 2000 * 200 + project AS case_number,
        subject.line AS subject,
        one.line || E'.\n\n- ' || two.line || E'.\n- ' || three.line || E'.\n\n' || four.line || '.' AS lines,
        subject.words || one.words || two.words || three.words || four.words AS words
    FROM drawn
    JOIN bench_line subject ON subject.use = 's' AND subject.n = s
    JOIN bench_line one ON one.use = 'b' AND one.n = b1
    JOIN bench_line two ON two.use = 'b' AND two.n = b2
    JOIN bench_line three ON three.use = 'b' AND three.n = b3
    JOIN bench_line four ON four.use = 'b' AND four.n = b4
), messages AS (
    INSERT INTO message (id, project_id, sender_id, created_at, reply_to, importance, ack_required, thread, kind, work_id,
        door, vouched, from_name, to_names, cc_names, subject, body, words)
    SELECT id, project, sender_id, at,
        CASE WHEN turn % 50 <> 49 AND turn % 5 <> 0 THEN id - 200 END, 1, false,
        CASE WHEN turn % 50 = 49 THEN 'standup' ELSE (id - turn % 5 * 200)::text END, NULL, NULL, 'mcp', 'claimed', from_name,
        (SELECT string_agg('Agent' || lpad(place::text, 2, '0'), E'\n' ORDER BY nth)
         FROM unnest(places) WITH ORDINALITY AS copy (place, nth)),
        '', subject, 'About case' || case_number || E'.\n\n' || lines,
        words || array_to_tsvector(ARRAY['p' || project, 'a' || sender_id, 'babout', 'bcase' || case_number])
    FROM made ORDER BY id
), deliveries AS (
    -- Of all mail 2 in 100 is new, and none of what the last of a project got.
    INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, shown_at, read_at)
    SELECT 50 * (project - 1) + place + 1, id, 0, nth - 1, false, shown, shown
    FROM made, unnest(places) WITH ORDINALITY AS copy (place, nth),
        LATERAL (SELECT CASE WHEN place = 49 OR random() < 0.98 THEN at + 1 END AS shown) AS state
    ORDER BY id, nth
)
INSERT INTO event (project_id, seq, kind, reference, agent_id, at)
SELECT home.id, home.next_seq + turn - $6::bigint, 'message.sent', made.id, sender_id, at
FROM made JOIN project home ON home.id = made.project ORDER BY made.id
