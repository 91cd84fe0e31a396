"""What the Python clients share: how steps arrive, how values and errors are shown."""
import json
import re
import sys
import threading
import time

RUNNING = 'Status: Running'  # in an operation log: Tez has taken the query
TARGET = json.loads(sys.argv[1])
HOST, PORT, AUTH = TARGET['host'], TARGET['port'], TARGET['auth']
USER, PASSWORD, HTTP, CA = TARGET['user'], TARGET['password'], TARGET['http'], TARGET['ca']


def value(v):
    """A value with its Python type; floats by repr, so that not a bit is lost."""
    return [type(v).__name__, v.hex() if isinstance(v, bytes) else None if v is None else repr(v)]


def without_ids(text):
    """A message without what differs from run to run: ids of Tez, attempts and queries, memory addresses."""
    text = re.sub(r'\b(application|dag|vertex|task|attempt|hive)_[0-9a-z_-]+', r'\1_ID', text)
    return re.sub(r'@[0-9a-f]{5,}', '@ADDRESS', text)


def first_line(text):
    return without_ids((text or '').split('\n', 1)[0])


def together(work, statements):
    """The answers of one thread per statement."""
    answers = [None] * len(statements)

    def one(i):
        answers[i] = work(statements[i])

    workers = [threading.Thread(target=one, args=(i,)) for i in range(len(statements))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return answers


def until(done, seconds=120):
    """Polls until something is so; gives up after a while."""
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.1)


def perform(step, errors, shown):
    """Runs every step of standard input; an error that no step expects is told in the output."""
    for line in sys.stdin:
        kind, name, sql = line.rstrip('\n').split('\t')
        try:
            record = step(kind, sql)
        except errors as e:
            record = {'unexpected': shown(e)}
        print(json.dumps({'step': name, **record}, ensure_ascii=True), flush=True)
