"""Runs the steps on standard input with PyHive and prints what it was given, a JSON object a line.

Arguments: host, port, authentication (NONE, NOSASL or CUSTOM), user, password.
"""
import hashlib
import json
import re
import sys
import threading
import time

from pyhive import hive
from TCLIService.ttypes import TOperationState

HOST, PORT, AUTH, USER, PASSWORD = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
RUNNING = 'Status: Running'  # in an operation log: Tez has taken the query
LIVE = (TOperationState.INITIALIZED_STATE, TOperationState.PENDING_STATE, TOperationState.RUNNING_STATE)


def connect():
    login = {'password': PASSWORD} if AUTH in ('CUSTOM', 'LDAP') else {}
    return hive.Connection(host=HOST, port=PORT, username=USER, auth=AUTH, **login)


def emit(**record):
    print(json.dumps(record, ensure_ascii=True), flush=True)


def value(v):
    """A value with its Python type; floats by repr, so that not a bit is lost."""
    return [type(v).__name__, v.hex() if isinstance(v, bytes) else None if v is None else repr(v)]


def columns(cursor):
    return [[column[0], column[1]] for column in cursor.description]


def without_ids(text):
    """A message without what differs from run to run: ids of Tez, attempts and queries, memory addresses."""
    text = re.sub(r'\b(application|dag|vertex|task|attempt|hive)_[0-9a-z_-]+', r'\1_ID', text)
    return re.sub(r'@[0-9a-f]{5,}', '@ADDRESS', text)


def error(e):
    """The class of an error and what Hive's status holds, without the stack of the server."""
    status = getattr(e.args[0], 'status', None) if e.args else None
    if status is None:
        return [type(e).__name__, without_ids(str(e))]
    lines = (status.errorMessage or '').splitlines()
    return [type(e).__name__, status.statusCode, status.sqlState, status.errorCode, without_ids(lines[0] if lines else '')]


def run(cursor, sql):
    cursor.execute(sql)
    return {'rowcount': cursor.rowcount, 'result_set': cursor.description is not None}


def query(cursor, sql):
    cursor.execute(sql)
    return {'columns': columns(cursor), 'rows': [[value(v) for v in row] for row in cursor]}


def digest(cursor, sql):
    cursor.arraysize = 5000
    cursor.execute(sql)
    described, total, count = columns(cursor), hashlib.sha256(), 0
    for row in cursor:
        count += 1
        total.update(json.dumps([value(v) for v in row]).encode())
    return {'columns': described[:5], 'column_count': len(described), 'row_count': count, 'sha256': total.hexdigest()}


def fails(cursor, sql):
    try:
        cursor.execute(sql)
        cursor.fetchall()
    except hive.Error as e:
        return {'error': error(e)}
    return {'error': None}


def cancel(cursor, sql):
    cursor.execute(sql, async_=True)
    deadline = time.monotonic() + 120
    log = ''
    while RUNNING not in log and cursor.poll().operationState in LIVE and time.monotonic() < deadline:
        log += '\n'.join(cursor.fetch_logs())
        time.sleep(0.1)
    started = RUNNING in log
    cursor.cancel()
    while (state := cursor.poll().operationState) in LIVE and time.monotonic() < deadline:
        time.sleep(0.1)
    return {'running_seen': started, 'state': TOperationState._VALUES_TO_NAMES[state]}


def threads(_, sql):
    statements = [s.strip() for s in sql.split(';;')]
    answers = [None] * len(statements)

    def work(i):
        try:
            connection = connect()
            answers[i] = [query(connection.cursor(), statements[i]) for _ in range(3)]
            connection.close()
        except Exception as e:  # noqa: BLE001 - told in the output, where it is a difference
            answers[i] = error(e)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(statements))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {'answers': answers}


KINDS = {f.__name__: f for f in (run, query, digest, fails, cancel, threads)}


def main():
    steps = [line.rstrip('\n').split('\t') for line in sys.stdin]
    connection = connect()
    for kind, name, sql in steps:
        cursor = connection.cursor()
        try:
            record = KINDS[kind](cursor, sql)
        except hive.Error as e:
            record = {'unexpected': error(e)}
        emit(step=name, **record)
        cursor.close()
    connection.close()


if __name__ == '__main__':
    main()
