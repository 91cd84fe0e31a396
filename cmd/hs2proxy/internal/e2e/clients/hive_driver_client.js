'use strict';
// Runs the steps on standard input with hive-driver and prints what it was given, a JSON object a line.
// Argument: the target, as JSON: host, port, auth, user, password, http and ca (a PEM file; empty: no TLS).
const crypto = require('crypto');
const fs = require('fs');
const hive = require('hive-driver');
const { TCLIService, TCLIService_types: types } = hive.thrift;

const target = JSON.parse(process.argv[2]);
const utils = new hive.HiveUtils(types);
const RUNNING = 'Status: Running'; // in an operation log: Tez has taken the query
const LIVE = [types.TOperationState.INITIALIZED_STATE, types.TOperationState.PENDING_STATE, types.TOperationState.RUNNING_STATE];

async function connect() {
  const client = new hive.HiveClient(TCLIService, types);
  client.on('error', () => {}); // it also rejects the call's promise
  const ca = target.ca ? fs.readFileSync(target.ca) : undefined;
  // With https the driver does not check certificates of its own accord.
  const options = target.http
    ? { path: '/cliservice', https: Boolean(ca), ca, nodeOptions: ca ? { rejectUnauthorized: true } : {} }
    : { ssl: Boolean(ca), ca };
  const login = { username: target.user, password: target.password };
  const auth = target.auth === 'NOSASL' ? new hive.auth.NoSaslAuthentication()
    : target.http ? new hive.auth.PlainHttpAuthentication(login) : new hive.auth.PlainTcpAuthentication(login);
  await client.connect({ host: target.host, port: target.port, options },
    target.http ? new hive.connections.HttpConnection() : new hive.connections.TcpConnection(), auth);
  const session = await client.openSession({
    client_protocol: types.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10, ...login,
  });
  return { client, session };
}

// A message without what differs from run to run: ids of Tez, attempts and queries, memory addresses.
function withoutIds(text) {
  return text.replace(/\b(application|dag|vertex|task|attempt|hive)_[0-9a-z_-]+/g, '$1_ID').replace(/@[0-9a-f]{5,}/g, '@ADDRESS');
}

function error(e) {
  const response = e.response || {};
  return [e.name, e.code, withoutIds(String(e.message).split('\n')[0]), response.sqlState, response.errorCode,
    withoutIds(String(response.errorMessage).split('\n')[0])].map(v => v === undefined ? null : v);
}

// A value with its JavaScript class.
function value(v) {
  if (v === null || v === undefined) return v === null ? null : ['undefined'];
  if (Buffer.isBuffer(v)) return ['Buffer', v.toString('hex')];
  return [v.constructor.name, typeof v === 'object' ? JSON.stringify(v) : Object.is(v, -0) ? '-0' : String(v)];
}

const row = r => Object.entries(r).map(([name, v]) => [name, value(v)]);

function columns(operation) {
  const schema = operation.getSchema();
  return schema && schema.columns.map(c => [c.columnName, c.typeDesc.types[0].primitiveEntry?.type ?? null]);
}

// Executes a statement and hands its operation to a body; it is closed in every case.
async function execute(session, sql, body) {
  return closing(await session.executeStatement(sql, { runAsync: true }), body);
}

async function closing(operation, body) {
  try {
    return await body(operation);
  } finally {
    await operation.close();
  }
}

async function rows(operation) {
  await utils.waitUntilReady(operation, true, () => {});
  await utils.fetchAll(operation);
  return { columns: columns(operation), rows: (utils.getResult(operation).getValue() || []).map(row) };
}

const query = (session, sql) => execute(session, sql, rows);

const run = (session, sql) => execute(session, sql, async operation => {
  await utils.waitUntilReady(operation, true, () => {});
  const status = await operation.status();
  await utils.fetchAll(operation);
  return { result_set: status.hasResultSet, modified: status.numModifiedRows ? String(status.numModifiedRows) : null };
});

const digest = (session, sql) => execute(session, sql, async operation => {
  await utils.waitUntilReady(operation, false, () => {});
  operation.setMaxRows(5000);
  const sha = crypto.createHash('sha256');
  let count = 0;
  do {
    await operation.fetch();
    for (const r of utils.getResult(operation).getValue()) {
      count++;
      sha.update(JSON.stringify(row(r)));
    }
    operation.flush();
  } while (operation.hasMoreRows());
  const all = columns(operation);
  return { columns: all.slice(0, 5), column_count: all.length, row_count: count, sha256: sha.digest('hex') };
});

async function fails(session, sql) {
  try {
    await query(session, sql);
    return { error: null };
  } catch (e) {
    return { error: error(e) };
  }
}

const until = async done => {
  for (const deadline = Date.now() + 120e3; !await done() && Date.now() < deadline;) await new Promise(r => setTimeout(r, 100));
};

const cancel = (session, sql, client) => execute(session, sql, async operation => {
  let log = '';
  const live = async () => LIVE.includes((await operation.status(true)).operationState);
  await until(async () => {
    log += (await logLines(client, operation)).join('\n');
    return log.includes(RUNNING) || !await live();
  });
  await operation.cancel();
  await until(async () => !await live());
  const end = (await operation.status()).operationState;
  return { running_seen: log.includes(RUNNING), end: Object.keys(types.TOperationState).find(k => types.TOperationState[k] === end) };
});

// The driver has no call of its own for an operation's log.
function logLines(client, operation) {
  const request = new types.TFetchResultsReq({
    operationHandle: operation.operationHandle, orientation: types.TFetchOrientation.FETCH_NEXT, maxRows: 1000, fetchType: 1,
  });
  return new Promise((resolve, reject) => client.getClient().FetchResults(request, (e, answer) => {
    if (e) reject(e);
    else resolve(answer.results.columns[0].stringVal.values);
  }));
}

const split = sql => sql.split(';;').map(s => s.trim());

const threads = async (_, sql) => ({ answers: await Promise.all(split(sql).map(async statement => {
  try {
    const own = await connect();
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await query(own.session, statement));
    await own.session.close();
    await own.client.close();
    return answers;
  } catch (e) {
    return String(error(e));
  }
})) });

// Several calls on the wire at once, over one connection.
const shared = async (session, sql) => ({ answers: await Promise.all(split(sql).map(statement => query(session, statement))) });

async function metadata(session, db) {
  const parts = {};
  for (const [name, call] of Object.entries({
    schemas: () => session.getSchemas({ schemaName: db }),
    tables: () => session.getTables({ schemaName: db }),
    columns: () => session.getColumns({ schemaName: db, tableName: 'orders' }),
    types: () => session.getTypeInfo(),
    table_types: () => session.getTableTypes(),
    functions: () => session.getFunctions({ functionName: 'abs' }),
    keys: () => session.getPrimaryKeys({ schemaName: db, tableName: 'orders' }),
  })) parts[name] = await closing(await call(), rows);
  parts.version = String((await session.getInfo(types.TGetInfoType.CLI_DBMS_VER)).getValue());
  return parts;
}

const kinds = { run, query, digest, fails, cancel, threads, shared, metadata };

async function main() {
  const { client, session } = await connect();
  for (const line of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
    const [kind, name, sql] = line.split('\t');
    let record;
    try {
      record = await kinds[kind](session, sql, client);
    } catch (e) {
      record = { unexpected: error(e) };
    }
    console.log(JSON.stringify({ step: name, ...record }));
  }
  await session.close();
  await client.close();
}

main().then(() => process.exit(0), e => {
  console.error(e);
  process.exit(1);
});
