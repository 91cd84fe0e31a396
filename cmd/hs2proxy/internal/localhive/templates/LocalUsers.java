import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/** Checks a password against the file (name=password a line) that the system property hs2proxy.users names. */
public class LocalUsers implements PasswdAuthenticationProvider {
    private final Properties users = new Properties();

    public LocalUsers() throws IOException {
        try (InputStream in = Files.newInputStream(Path.of(System.getProperty("hs2proxy.users")))) {
            users.load(in);
        }
    }

    @Override
    public void Authenticate(String user, String password) throws AuthenticationException {
        if (user == null || password == null || !password.equals(users.getProperty(user))) {
            throw new AuthenticationException("user " + user + ": unknown, or a wrong password");
        }
    }
}
