# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# database.sh - a mariadbd on a new data directory, and SQL whose results are
# known. For guests of the test VM that have a function "progress".

data=/var/lib/demo
socket=/run/demo.sock

sql()
{
	mariadb --no-defaults --socket=$socket -N -B "$@"
}

# A data directory as the package's own set-up makes it.
create_data()
{
	mkdir -p $data
	chown mysql: $data
	mariadb-install-db --no-defaults --user=mysql --datadir=$data --skip-test-db \
		--skip-name-resolve --auth-root-authentication-method=normal \
		> /run/install.log 2>&1 || sed 's/^/# /' /run/install.log
}

start_server()
{
	local tries

	mariadbd --no-defaults --user=mysql --datadir=$data --socket=$socket --skip-networking \
		--pid-file=/run/demo.pid > /run/server.log 2>&1 &
	server=$!
	for ((tries = 0; tries < 300; tries++)); do
		sql -e 'SELECT 1' > /dev/null 2>&1 && return
		kill -0 $server 2> /dev/null || break
		sleep 0.2
	done
	progress 'mariadbd does not start:'
	sed 's/^/# /' /run/server.log
	return 1
}

stop_server()
{
	kill "$server"
	wait "$server"
}

# 10000 orders of 100 customers: order n is customer n % 100's, its amount n % 50.
statements()
{
	cat <<-END
	DROP DATABASE IF EXISTS demo;
	CREATE DATABASE demo;
	USE demo;
	CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40)) ENGINE=InnoDB;
	CREATE TABLE orders (id INT PRIMARY KEY, customer INT NOT NULL, amount INT NOT NULL,
		code CHAR(32), FOREIGN KEY (customer) REFERENCES customers (id)) ENGINE=InnoDB;
	INSERT INTO customers SELECT seq, CONCAT('customer ', seq) FROM seq_0_to_99;
	INSERT INTO orders SELECT seq, seq % 100, seq % 50, MD5(seq) FROM seq_1_to_10000;
	CREATE INDEX code ON orders (code);
	CREATE INDEX amount ON orders (amount, customer);
	SELECT 'sum', COUNT(*), SUM(id), SUM(amount) FROM orders;
	SELECT 'index', id FROM orders WHERE code = MD5(1234);
	SELECT 'best', name, SUM(amount) AS total FROM orders JOIN customers
		ON customers.id = customer GROUP BY customers.id ORDER BY total DESC, customers.id LIMIT 3;
	SELECT 'range', COUNT(*), MIN(id), MAX(id) FROM orders
		WHERE amount BETWEEN 10 AND 19 AND customer >= 50;
	SELECT 'window', id, running FROM (SELECT id, SUM(id) OVER (ORDER BY id) AS running
		FROM orders) AS sums WHERE id IN (100, 10000) ORDER BY id;
	START TRANSACTION;
	UPDATE orders SET amount = amount + 1 WHERE customer < 10;
	SELECT 'updated', SUM(amount) FROM orders;
	ROLLBACK;
	SELECT 'rolled back', SUM(amount) FROM orders;
	DELETE FROM orders WHERE id > 9000;
	SELECT 'deleted', COUNT(*), SUM(id) FROM orders;
	CHECK TABLE orders EXTENDED;
	END
}

# Worked out by hand from the two rules above, so tabs stand for columns.
right_rows()
{
	printf '%s\t' sum 10000 50005000; echo 245000
	printf '%s\t' index; echo 1234
	printf '%s\t' best 'customer 49'; echo 4900
	printf '%s\t' best 'customer 99'; echo 4900
	printf '%s\t' best 'customer 48'; echo 4800
	printf '%s\t' range 1000 60; echo 9969
	printf '%s\t' window 100; echo 5050
	printf '%s\t' window 10000; echo 50005000
	printf '%s\t' updated; echo 246000
	printf '%s\t' 'rolled back'; echo 245000
	printf '%s\t' deleted 9000; echo 40504500
	printf '%s\t' demo.orders check status; echo OK
}

run_sql()
{
	statements | sql > /run/rows 2>&1
	right_rows | diff - /run/rows > /run/rows.diff && return
	sed 's/^/# /' /run/rows.diff
	return 1
}
