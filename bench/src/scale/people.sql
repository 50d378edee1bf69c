-- 200 projects with 50 agents each, numbered from 1 in this order.
INSERT INTO project (slug, human_key, created_at)
SELECT 'bench-filled-' || n, '/bench/filled/' || n, 0 FROM generate_series(1, 200) AS n ORDER BY n;
INSERT INTO agent (project_id, name, program, model, task_description, registered_at, last_active_at)
SELECT project, 'Agent' || lpad(place::text, 2, '0'), 'bench', '', '', 0, 0
FROM generate_series(1, 200) AS project, generate_series(0, 49) AS place ORDER BY project, place;
