-- SPDX-License-Identifier: GPL-2.0
-- What a session does after pgbench; the results up to "deltas" are in postgres.expected.
\pset tuples_only on
\pset format unaligned
CREATE TEMP TABLE orders AS
	SELECT n AS id, n % 100 AS customer, n % 50 AS amount, md5(n::text) AS code
	FROM generate_series(1, 10000) AS n;
CREATE INDEX ON orders (code);
ANALYZE orders;
SELECT 'sum', count(*), sum(id), sum(amount) FROM orders;
SELECT 'index', id FROM orders WHERE code = md5('1234');
SELECT 'best', customer, sum(amount) AS total FROM orders
	GROUP BY customer ORDER BY total DESC, customer LIMIT 3;
SELECT 'window', id, running FROM (SELECT id, sum(id) OVER (ORDER BY id) AS running
	FROM orders) AS sums WHERE id IN (100, 10000) ORDER BY id;
SELECT 'json', (jsonb_agg(id ORDER BY id) -> 2) FROM orders WHERE customer = 7;
SELECT 'match', count(*) FROM orders WHERE id::text ~ '^(\d)\1$';
WITH RECURSIVE digits (n, factorial) AS (SELECT 1, 1::numeric
	UNION ALL SELECT n + 1, factorial * (n + 1) FROM digits WHERE n < 30)
	SELECT 'factorial', max(factorial) FROM digits;
SELECT 'balances', a = d, b = d, t = d, n FROM
	(SELECT sum(abalance) AS a FROM pgbench_accounts) AS accounts,
	(SELECT sum(bbalance) AS b FROM pgbench_branches) AS branches,
	(SELECT sum(tbalance) AS t FROM pgbench_tellers) AS tellers,
	(SELECT sum(delta) AS d, count(*) AS n FROM pgbench_history) AS history;
SELECT 'deltas', sum(delta), sum(aid) FROM pgbench_history;
\echo backend :backend
\echo done
