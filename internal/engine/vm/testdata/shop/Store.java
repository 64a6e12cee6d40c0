import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.Executors;

/** Keeps values by key in PostgreSQL: GET, PUT and DELETE of /kv/KEY, by a pool of threads with a connection each. */
public class Store {
    static final ThreadLocal<Connection> connection = ThreadLocal.withInitial(Store::connect);

    public static void main(String[] args) throws Exception {
        connection.get().createStatement().execute("CREATE TABLE goods (name text PRIMARY KEY, value bytea NOT NULL)");
        HttpServer server = HttpServer.create(new InetSocketAddress(8080), 64);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/kv/", Store::handle);
        server.start();
        Files.createFile(Path.of("/tmp/ready"));
        System.out.println("the store is open");
    }

    static Connection connect() {
        try {
            Properties p = new Properties();
            p.setProperty("password", Files.readString(Path.of("/run/secrets/password")));
            return DriverManager.getConnection(System.getenv("DATABASE"), p);
        } catch (IOException | SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static void handle(HttpExchange x) throws IOException {
        String name = x.getRequestURI().getPath();
        try (x) {
            switch (x.getRequestMethod()) {
                case "GET" -> {
                    try (PreparedStatement s = connection.get().prepareStatement("SELECT value FROM goods WHERE name = ?")) {
                        s.setString(1, name);
                        ResultSet rows = s.executeQuery();
                        answer(x, rows.next() ? rows.getBytes(1) : null);
                    }
                }
                case "PUT" -> {
                    try (PreparedStatement s = connection.get().prepareStatement("INSERT INTO goods VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value")) {
                        s.setString(1, name);
                        s.setBytes(2, x.getRequestBody().readAllBytes());
                        s.executeUpdate();
                    }
                    x.sendResponseHeaders(204, -1);
                }
                default -> {
                    try (PreparedStatement s = connection.get().prepareStatement("DELETE FROM goods WHERE name = ?")) {
                        s.setString(1, name);
                        x.sendResponseHeaders(s.executeUpdate() == 0 ? 404 : 204, -1);
                    }
                }
            }
        } catch (SQLException e) {
            System.err.println(e);
            x.sendResponseHeaders(500, -1);
        }
    }

    static void answer(HttpExchange x, byte[] value) throws IOException {
        if (value == null) {
            x.sendResponseHeaders(404, -1);
            return;
        }
        x.sendResponseHeaders(200, value.length == 0 ? -1 : value.length);
        x.getResponseBody().write(value);
    }
}
