import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs a main class under a URLClassLoader, for Hive 3 casts the loader it finds to one (Utilities.addToClassPath, RecordProcessor),
 * as every application's loader was until Java 8. Arguments: the class, then folders, each searched for classes and for jars.
 */
public class LocalLauncher {
    public static void main(String[] arguments) throws Exception {
        List<URL> path = new ArrayList<>();
        for (String name : Arrays.asList(arguments).subList(1, arguments.length)) {
            File folder = new File(name);
            path.add(url(folder));
            for (File jar : folder.listFiles((in, file) -> file.endsWith(".jar"))) {
                path.add(url(jar));
            }
        }
        ClassLoader loader = new URLClassLoader(path.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        Class.forName(arguments[0], true, loader).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    }

    private static URL url(File file) throws MalformedURLException {
        return file.toURI().toURL();
    }
}
