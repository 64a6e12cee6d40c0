import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.Executors;

/** A store of values by key over HTTP, which keeps them in PostgreSQL. */
public class App {
    static final String DATABASE = "jdbc:postgresql://db/postgres?user=postgres&connectTimeout=1&socketTimeout=1";

    public static void main(String[] arguments) throws Exception {
        while (!createTable()) {
            Thread.sleep(200);
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(8080), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/kv/", App::handle);
        server.start();
        System.out.println("ready");
    }

    /** Returns false while the database is down. */
    static boolean createTable() {
        try (Connection connection = DriverManager.getConnection(DATABASE)) {
            connection.createStatement().execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v TEXT)");
            return true;
        } catch (SQLException e) {
            System.out.println("no table yet: " + e.getMessage());
            return false;
        }
    }

    static void handle(HttpExchange exchange) throws IOException {
        String key = exchange.getRequestURI().getPath().substring("/kv/".length());
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        try (Connection connection = DriverManager.getConnection(DATABASE)) {
            if (exchange.getRequestMethod().equals("PUT")) {
                put(connection, key, body);
                answer(exchange, 204, null);
            } else {
                String value = get(connection, key);
                answer(exchange, value == null ? 404 : 200, value);
            }
        } catch (SQLException e) {
            answer(exchange, 500, e.getMessage());
        }
    }

    static void put(Connection connection, String key, String value) throws SQLException {
        var statement = connection.prepareStatement("INSERT INTO kv VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v");
        statement.setString(1, key);
        statement.setString(2, value);
        statement.executeUpdate();
    }

    static String get(Connection connection, String key) throws SQLException {
        var statement = connection.prepareStatement("SELECT v FROM kv WHERE k = ?");
        statement.setString(1, key);
        var rows = statement.executeQuery();
        return rows.next() ? rows.getString(1) : null;
    }

    static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body == null ? new byte[0] : body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }
}
