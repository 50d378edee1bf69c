-- What the mail is made of: words, lines of them for subjects and bodies, and what each line is found by.
--
-- A vocabulary of 20,000 words, of which the n-th is one n-th as frequent as the first (Zipf's law). Lines are made once and
-- put together anew in each message, because drawing every word of every message would take hours.
SELECT setseed(0.42);

CREATE UNLOGGED TABLE bench_word AS
SELECT n, beginnings[1 + n % 20] || middles[1 + (n / 400) % 50] || ends[1 + (n / 20) % 20] AS word
FROM generate_series(0, 19999) AS n,
    (SELECT string_to_array('ba co de fi gra ho in ke lu mo ne or pla qui re sta to un ve wi', ' ') AS beginnings,
        string_to_array('a la ri mi to na cu si der ver bo che dan el fo gi hal im jo kra le man no op per qua ro sal ten '
            'ul vor wes xi yo zu bra cle dro fre gla hin kno lis mer nor ost pri ras sto tur', ' ') AS middles,
        string_to_array('ble n ck d ft ge st ll ment nt p r se tion ty ve wn x ry z', ' ') AS ends) AS syllables;
CREATE UNIQUE INDEX ON bench_word (n);
CREATE UNIQUE INDEX ON bench_word (word);

CREATE FUNCTION pg_temp.drawn(words TEXT[], count INTEGER) RETURNS TEXT[] LANGUAGE sql VOLATILE AS $$
    SELECT array_agg(words[1 + least(floor(power(20000, random())) - 1, 19999)::integer])
    FROM generate_series(1, count)
$$;

-- A line has an even chance of each length between its least and its most words.
CREATE UNLOGGED TABLE bench_line (
    use   TEXT COLLATE "C" NOT NULL, -- s for subjects, b for bodies: the letter that its words begin with
    n     INTEGER NOT NULL,
    line  TEXT NOT NULL,
    words TSVECTOR NOT NULL
);
INSERT INTO bench_line
SELECT use, n, array_to_string(drawn, ' '),
    array_to_tsvector(ARRAY(SELECT use || word FROM unnest(drawn) AS word))
FROM (SELECT array_agg(word ORDER BY n) AS words FROM bench_word) AS vocabulary,
    (VALUES ('s', 3, 6), ('b', 14, 8)) AS kind (use, least, spread),
    generate_series(0, 49999) AS n,
    LATERAL pg_temp.drawn(words, least + n % spread) AS drawn;
CREATE UNIQUE INDEX ON bench_line (use, n);
ANALYZE bench_word, bench_line;
