import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

/** A key-value store over HTTP: GET, PUT and DELETE of /kv/KEY, by a pool of eight threads. */
public class Server {
    static final ConcurrentHashMap<String, byte[]> store = new ConcurrentHashMap<>();
    static volatile int sink;

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(8080), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/kv/", Server::handle);
        server.start();
        System.out.println("listening");
    }

    static void handle(HttpExchange x) throws IOException {
        String key = x.getRequestURI().getPath();
        // Hot enough for the compilers, and garbage enough for the collector.
        for (int i = 0; i < 2000; i++) {
            sink += (key + i).hashCode();
        }
        switch (x.getRequestMethod()) {
            case "GET" -> answer(x, store.get(key));
            case "PUT" -> {
                store.put(key, x.getRequestBody().readAllBytes());
                x.sendResponseHeaders(204, -1);
            }
            default -> x.sendResponseHeaders(store.remove(key) == null ? 404 : 204, -1);
        }
        x.close();
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
