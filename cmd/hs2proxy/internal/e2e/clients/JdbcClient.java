import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hive.jdbc.HiveStatement;

/**
 * Runs the steps on standard input with Hive's JDBC driver and prints what it was given, a JSON object a line.
 * Arguments: JDBC URL, user, password.
 */
public class JdbcClient {
    /** In an operation log: Tez has taken the query. */
    static final String RUNNING = "Status: Running";
    static String url, user, password;
    static PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        url = args[0];
        user = args[1];
        password = args[2];
        List<String[]> steps = new ArrayList<>();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line; (line = in.readLine()) != null; ) steps.add(line.split("\t", 3));
        }
        try (Connection connection = connect()) {
            for (String[] step : steps) {
                String record;
                try {
                    record = perform(connection, step[0], step[2]);
                } catch (SQLException e) {
                    record = "\"unexpected\":" + error(e);
                }
                out.println("{\"step\":" + text(step[1]) + "," + record + "}");
            }
        }
        System.exit(0); // the driver's pools may hold threads
    }

    static Connection connect() throws SQLException {
        return DriverManager.getConnection(url, user, password);
    }

    static String perform(Connection connection, String kind, String sql) throws Exception {
        switch (kind) {
            case "run": return run(connection, sql);
            case "query": return query(connection, sql);
            case "digest": return digest(connection, sql);
            case "fails": return fails(connection, sql);
            case "cancel": return cancel(connection, sql);
            case "threads": return threads(sql);
            case "shared": return shared(connection, sql);
            case "metadata": return metadata(connection, sql);
            default: throw new IllegalArgumentException("unknown kind of step: " + kind);
        }
    }

    static String run(Connection connection, String sql) throws SQLException {
        try (Statement s = connection.createStatement()) {
            boolean resultSet = s.execute(sql);
            return "\"result_set\":" + resultSet + ",\"update_count\":" + (resultSet ? -1 : s.getUpdateCount())
                + ",\"warnings\":" + (s.getWarnings() == null ? "null" : text(s.getWarnings().getMessage()));
        }
    }

    static String query(Connection connection, String sql) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            return columnsAndRows(r);
        }
    }

    static String columnsAndRows(ResultSet r) throws SQLException {
        StringBuilder b = new StringBuilder("\"columns\":").append(columns(r.getMetaData(), Integer.MAX_VALUE)).append(",\"rows\":[");
        for (boolean first = true; r.next(); first = false) b.append(first ? "" : ",").append(row(r));
        return b.append("]").toString();
    }

    static String columns(ResultSetMetaData m, int limit) throws SQLException {
        List<String> all = new ArrayList<>();
        for (int i = 1; i <= Math.min(m.getColumnCount(), limit); i++) {
            all.add("[" + text(m.getColumnLabel(i)) + "," + text(m.getColumnTypeName(i)) + "," + m.getColumnType(i) + ","
                + m.getPrecision(i) + "," + m.getScale(i) + "]");
        }
        return "[" + String.join(",", all) + "]";
    }

    static String row(ResultSet r) throws SQLException {
        List<String> values = new ArrayList<>();
        for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) values.add(value(r.getObject(i)));
        return "[" + String.join(",", values) + "]";
    }

    /** A value with its Java class. */
    static String value(Object v) {
        if (v == null) return "null";
        String shown = v instanceof byte[] ? HexFormat.of().formatHex((byte[]) v)
            : v instanceof BigDecimal ? ((BigDecimal) v).toPlainString() : v.toString();
        return "[" + text(v.getClass().getSimpleName()) + "," + text(shown) + "]";
    }

    static String digest(Connection connection, String sql) throws Exception {
        try (Statement s = connection.createStatement()) {
            s.setFetchSize(5000);
            try (ResultSet r = s.executeQuery(sql)) {
                MessageDigest sha = MessageDigest.getInstance("SHA-256");
                long count = 0;
                for (; r.next(); count++) sha.update(row(r).getBytes(StandardCharsets.UTF_8));
                ResultSetMetaData m = r.getMetaData();
                return "\"columns\":" + columns(m, 5) + ",\"column_count\":" + m.getColumnCount() + ",\"row_count\":" + count
                    + ",\"sha256\":" + text(HexFormat.of().formatHex(sha.digest()));
            }
        }
    }

    static String fails(Connection connection, String sql) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            while (r.next()) { } // the error may come with the rows
            return "\"error\":null";
        } catch (SQLException e) {
            return "\"error\":" + error(e);
        }
    }

    static String error(SQLException e) {
        String message = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
        return "[" + text(e.getClass().getSimpleName()) + "," + text(String.valueOf(e.getSQLState())) + "," + e.getErrorCode() + ","
            + text(withoutIds(message)) + "]";
    }

    /** A message without what differs from run to run: ids of Tez, attempts and queries, memory addresses. */
    static String withoutIds(String message) {
        return message.replaceAll("\\b(application|dag|vertex|task|attempt|hive)_[0-9a-z_-]+", "$1_ID").replaceAll("@[0-9a-f]{5,}", "@ADDRESS");
    }

    /** Runs a statement in one thread; reads its log, then cancels it, from another, over the same connection. */
    static String cancel(Connection connection, String sql) throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try (HiveStatement s = (HiveStatement) connection.createStatement()) {
            Future<Boolean> running = pool.submit(() -> s.execute(sql));
            StringBuilder log = new StringBuilder();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
            while (log.indexOf(RUNNING) < 0 && !running.isDone() && System.nanoTime() < deadline) {
                try {
                    for (String line : s.getQueryLog(true, 100)) log.append(line).append('\n');
                } catch (SQLException notYet) {
                    // the statement has no operation before its ExecuteStatement is answered
                }
                Thread.sleep(100);
            }
            boolean started = log.indexOf(RUNNING) >= 0;
            s.cancel();
            String end;
            try {
                running.get(60, TimeUnit.SECONDS);
                end = "null";
            } catch (ExecutionException e) {
                end = e.getCause() instanceof SQLException ? error((SQLException) e.getCause()) : text(e.getCause().toString());
            }
            return "\"running_seen\":" + started + ",\"error\":" + end;
        } finally {
            pool.shutdownNow();
        }
    }

    static String threads(String sql) throws Exception {
        return together(sql, statement -> () -> {
            try (Connection own = connect()) {
                List<String> answers = new ArrayList<>();
                for (int i = 0; i < 3; i++) answers.add("{" + query(own, statement) + "}");
                return "[" + String.join(",", answers) + "]";
            }
        });
    }

    static String shared(Connection connection, String sql) throws Exception {
        return together(sql, statement -> () -> "{" + query(connection, statement) + "}");
    }

    interface Work { Callable<String> on(String statement); }

    static String together(String sql, Work work) throws Exception {
        String[] statements = sql.split(";;");
        ExecutorService pool = Executors.newFixedThreadPool(statements.length);
        try {
            List<Future<String>> running = new ArrayList<>();
            for (String statement : statements) running.add(pool.submit(work.on(statement.trim())));
            List<String> answers = new ArrayList<>();
            for (Future<String> f : running) {
                try {
                    answers.add(f.get(5, TimeUnit.MINUTES));
                } catch (ExecutionException e) {
                    answers.add(text(withoutIds(String.valueOf(e.getCause()))));
                }
            }
            return "\"answers\":[" + String.join(",", answers) + "]";
        } finally {
            pool.shutdownNow();
        }
    }

    static String metadata(Connection connection, String db) throws SQLException {
        DatabaseMetaData m = connection.getMetaData();
        List<String> parts = new ArrayList<>();
        parts.add("\"product\":" + text(m.getDatabaseProductName() + " " + m.getDatabaseProductVersion()));
        parts.add("\"schemas\":{" + all(m.getSchemas(null, db)) + "}");
        parts.add("\"tables\":{" + all(m.getTables(null, db, "%", new String[] {"TABLE"})) + "}");
        parts.add("\"columns\":{" + all(m.getColumns(null, db, "all_types", "%")) + "}");
        parts.add("\"types\":{" + all(m.getTypeInfo()) + "}");
        parts.add("\"functions\":{" + all(m.getFunctions(null, null, "abs")) + "}");
        parts.add("\"keys\":{" + all(m.getPrimaryKeys(null, db, "orders")) + "}");
        parts.add("\"valid\":" + connection.isValid(30));
        return String.join(",", parts);
    }

    static String all(ResultSet r) throws SQLException {
        try (r) {
            return columnsAndRows(r);
        }
    }

    /** A JSON string, ASCII only. */
    static String text(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < ' ' || c > '~') b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }
}
