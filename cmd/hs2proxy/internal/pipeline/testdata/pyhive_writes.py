"""Synchronous writes and a join by PyHive: host, port and how many inserts of each kind (3 when empty)."""

import sys

from pyhive import hive

host, port = sys.argv[1], int(sys.argv[2])
times = int(sys.argv[3] or 3)

connection = hive.connect(host=host, port=port, username="etl")
cursor = connection.cursor()
for sql in (
    "CREATE DATABASE IF NOT EXISTS h_pipe",
    "USE h_pipe",
    "DROP TABLE IF EXISTS t",
    "DROP TABLE IF EXISTS u",
    "CREATE TABLE t (a int)",
    "CREATE TABLE u (a int, b string)",
):
    cursor.execute(sql)
# The next execute of a cursor closes the operation of the one before, at once.
for _ in range(times):
    cursor.execute("INSERT INTO t VALUES (1), (2)")
cursor.execute("SELECT t.a, u.b FROM t JOIN u ON t.a = u.a")
cursor.fetchall()
# A cursor of its own, closed at once.
for _ in range(times):
    own = connection.cursor()
    own.execute("INSERT INTO t VALUES (3), (4)")
    own.close()
cursor.execute("DROP DATABASE h_pipe CASCADE")
cursor.close()
connection.close()
