"""Runs the steps on standard input with PyHive and prints what it was given, a JSON object a line.

Argument: the target, as JSON (see steps.py).
"""
import base64
import hashlib
import json
import ssl

import thrift.transport.THttpClient
import thrift.transport.TSSLSocket
import thrift_sasl
from pyhive import hive
from TCLIService.ttypes import TOperationState

from steps import AUTH, CA, HOST, HTTP, PASSWORD, PORT, RUNNING, USER, first_line, perform, together, until, value, without_ids

LIVE = (TOperationState.INITIALIZED_STATE, TOperationState.PENDING_STATE, TOperationState.RUNNING_STATE)


def connect():
    if HTTP and CA:
        # PyHive's own https trusts the system's authorities only, so it is given a transport.
        transport = thrift.transport.THttpClient.THttpClient(
            'https://%s:%d/cliservice/' % (HOST, PORT), ssl_context=ssl.create_default_context(cafile=CA))
        login = base64.b64encode(('%s:%s' % (USER, PASSWORD)).encode()).decode()
        transport.setCustomHeaders({'Authorization': 'Basic ' + login})
        return hive.Connection(thrift_transport=transport, username=USER)
    if HTTP:
        # The password is refused here and "pass" sent, except where the authentication is called BASIC.
        connection = hive.Connection(host=HOST, port=PORT, scheme='http', username=USER, auth='BASIC', password=PASSWORD)
        return connection
    if CA:
        socket = thrift.transport.TSSLSocket.TSSLSocket(HOST, PORT, ca_certs=CA)
        if AUTH == 'NOSASL':
            return hive.Connection(thrift_transport=thrift.transport.TTransport.TBufferedTransport(socket), username=USER)
        sasl = lambda: hive.get_installed_sasl(host=HOST, sasl_auth='PLAIN', username=USER, password=PASSWORD)  # noqa: E731
        return hive.Connection(thrift_transport=thrift_sasl.TSaslClientTransport(sasl, 'PLAIN', socket), username=USER)
    login = {'password': PASSWORD} if AUTH in ('CUSTOM', 'LDAP') else {}
    return hive.Connection(host=HOST, port=PORT, username=USER, auth=AUTH, **login)


def columns(cursor):
    return [[column[0], column[1]] for column in cursor.description]


def error(e):
    """The class of an error and what Hive's status holds, without the stack of the server."""
    status = getattr(e.args[0], 'status', None) if e.args else None
    if status is None:
        return [type(e).__name__, without_ids(str(e))]
    return [type(e).__name__, status.statusCode, status.sqlState, status.errorCode, first_line(status.errorMessage)]


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
    log = []

    def started():
        log.extend(cursor.fetch_logs())
        return any(RUNNING in line for line in log) or cursor.poll().operationState not in LIVE

    until(started)
    running = any(RUNNING in line for line in log)
    cursor.cancel()
    until(lambda: cursor.poll().operationState not in LIVE)
    return {'running_seen': running, 'end': TOperationState._VALUES_TO_NAMES[cursor.poll().operationState]}


def threads(_, sql):
    def work(statement):
        try:
            connection = connect()
            answers = [query(connection.cursor(), statement) for _ in range(3)]
            connection.close()
            return answers
        except Exception as e:  # noqa: BLE001 - told in the output, where it is a difference
            return str(error(e))

    return {'answers': together(work, [s.strip() for s in sql.split(';;')])}


KINDS = {f.__name__: f for f in (run, query, digest, fails, cancel, threads)}


def main():
    connection = connect()

    def step(kind, sql):
        cursor = connection.cursor()
        try:
            return KINDS[kind](cursor, sql)
        finally:
            cursor.close()

    perform(step, hive.Error, error)
    connection.close()


if __name__ == '__main__':
    main()
