import java.security.PrivilegedExceptionAction;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hive.jdbc.HiveConnection;

/**
 * Runs a statement with Hive's JDBC driver, logged in by a ticket from a keytab or by a delegation token:
 * PRINCIPAL KEYTAB SQL, then any number of "ticket URL" and "token TICKET-URL TOKEN-URL". Prints the rows, values between
 * tabs.
 */
public class KerberosClient {
    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        conf.set("hadoop.security.authentication", "kerberos");
        UserGroupInformation.setConfiguration(conf);
        UserGroupInformation.loginUserFromKeytab(args[0], args[1]);
        UserGroupInformation self = UserGroupInformation.getLoginUser();
        String sql = args[2];
        for (int i = 3; i < args.length; ) {
            String url = args[i + 1];
            switch (args[i]) {
                case "ticket":
                    as(self, url, c -> print(c, sql));
                    i += 2;
                    break;
                case "token":
                    String[] token = new String[1];
                    String name = self.getShortUserName();
                    as(self, url, c -> token[0] = ((HiveConnection) c).getDelegationToken(name, name));
                    // A process that was handed the token and has no ticket, such as a task of a job.
                    UserGroupInformation holder = UserGroupInformation.createRemoteUser(name);
                    Token<TokenIdentifier> t = new Token<>();
                    t.decodeFromUrlString(token[0]);
                    t.setService(new Text("hiveserver2ClientToken"));
                    holder.addToken(t);
                    as(holder, args[i + 2], c -> print(c, sql));
                    i += 3;
                    break;
                default:
                    throw new IllegalArgumentException("unknown kind of login: " + args[i]);
            }
        }
    }

    interface Use { void with(Connection c) throws Exception; }

    static void as(UserGroupInformation user, String url, Use use) throws Exception {
        user.doAs((PrivilegedExceptionAction<Void>) () -> {
            try (Connection c = DriverManager.getConnection(url)) {
                use.with(c);
            }
            return null;
        });
    }

    static void print(Connection c, String sql) throws Exception {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            while (r.next()) {
                List<String> row = new ArrayList<>();
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) row.add(r.getString(i));
                System.out.println(String.join("\t", row));
            }
        }
    }
}
