"""Runs the steps on standard input with impyla and prints what it was given, a JSON object a line.

Argument: the target, as JSON (see steps.py). impyla opens a session for each cursor: one cursor takes all the steps but
those that are to run at once.
"""
import hashlib
import json

from impala.dbapi import connect as impala_connect
from impala.error import Error, RPCError

from steps import AUTH, CA, HOST, HTTP, PASSWORD, PORT, RUNNING, USER, first_line, perform, together, until, value

LIVE = ('INITIALIZED_STATE', 'PENDING_STATE', 'RUNNING_STATE')
MECHANISMS = {'NONE': 'PLAIN', 'CUSTOM': 'LDAP', 'NOSASL': 'NOSASL'}


def connect():
    return impala_connect(
        host=HOST, port=PORT, user=USER, password=PASSWORD, auth_mechanism=MECHANISMS[AUTH],
        use_http_transport=HTTP, http_path='cliservice' if HTTP else '', use_ssl=bool(CA), ca_cert=CA or None)


def error(e):
    return [type(e).__name__, first_line(str(e))]


def run(cursor, sql):
    cursor.execute(sql)
    return {'rowcount': cursor.rowcount, 'result_set': cursor.has_result_set}


def query(cursor, sql):
    cursor.execute(sql)
    return shown(cursor)


def shown(cursor):
    return {'columns': [list(c) for c in cursor.description], 'rows': [[value(v) for v in row] for row in cursor.fetchall()]}


def digest(cursor, sql):
    cursor.arraysize = 5000
    cursor.execute(sql)
    described, total, count = [list(c) for c in cursor.description], hashlib.sha256(), 0
    for row in cursor:
        count += 1
        total.update(json.dumps([value(v) for v in row]).encode())
    return {'columns': described[:5], 'column_count': len(described), 'row_count': count, 'sha256': total.hexdigest()}


def fails(cursor, sql):
    try:
        cursor.execute(sql)
        cursor.fetchall()
    except (Error, RPCError) as e:
        return {'error': error(e)}
    return {'error': None}


def cancel(cursor, sql):
    cursor.execute_async(sql)
    log = []  # get_log goes on where it stopped

    def started():
        log.append(cursor.get_log())
        return RUNNING in log[-1] or cursor.status() not in LIVE

    until(started)
    running = any(RUNNING in part for part in log)
    cursor.cancel_operation(reset_state=False)
    until(lambda: cursor.status() not in LIVE)
    return {'running_seen': running, 'end': cursor.status()}


def threads(_, sql):
    def work(statement):
        try:
            connection = connect()
            answers = []
            for _ in range(3):
                cursor = connection.cursor(user=USER)
                answers.append(query(cursor, statement))
                cursor.close()
            connection.close()
            return answers
        except Exception as e:  # noqa: BLE001 - told in the output, where it is a difference
            return str(error(e))

    return {'answers': together(work, [s.strip() for s in sql.split(';;')])}


def metadata(cursor, db):
    parts = {}
    cursor.get_tables(database_name=db)
    parts['tables'] = shown(cursor)
    cursor.get_functions(database_name='default')
    parts['functions'] = len(cursor.fetchall()) > 0
    parts['columns'] = [list(c) for c in cursor.get_table_schema('orders', database_name=db)]
    parts['exists'] = [cursor.database_exists(db), cursor.table_exists('orders', database_name=db), cursor.table_exists('none', database_name=db)]
    return parts


KINDS = {f.__name__: f for f in (run, query, digest, fails, cancel, threads, metadata)}


def main():
    connection = connect()
    cursor = connection.cursor(user=USER)
    perform(lambda kind, sql: KINDS[kind](cursor, sql), (Error, RPCError), error)
    cursor.close()
    connection.close()


if __name__ == '__main__':
    main()
