// Answers GET and PUT of /kv/KEY from an LMDB database, into whose map LMDB stores, one request after the other. Each write is synchronised before
// its client gets an answer: by mdb_env_sync without force, or with "force" as the first argument with it.
#define _GNU_SOURCE // strcasestr
#include <arpa/inet.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static MDB_env *env;
static MDB_dbi dbi;
static int force;

static void must(int failed, const char *what) {
	if (failed) {
		fprintf(stderr, "%s: %s\n", what, mdb_strerror(failed));
		exit(1);
	}
}

static void open_database(void) {
	MDB_txn *tx;
	mkdir("/data", 0755);
	must(mdb_env_create(&env), "mdb_env_create");
	must(mdb_env_set_mapsize(env, 1 << 20), "mdb_env_set_mapsize");
	must(mdb_env_open(env, "/data", MDB_WRITEMAP | MDB_MAPASYNC, 0644), "mdb_env_open");
	must(mdb_txn_begin(env, NULL, 0, &tx), "mdb_txn_begin");
	must(mdb_dbi_open(tx, NULL, 0, &dbi), "mdb_dbi_open");
	must(mdb_txn_commit(tx), "mdb_txn_commit");
	must(mdb_env_sync(env, 1), "mdb_env_sync");
}

static int put(MDB_val *key, MDB_val *value) {
	MDB_txn *tx;
	int failed = mdb_txn_begin(env, NULL, 0, &tx);
	if (failed) return failed;
	if ((failed = mdb_put(tx, dbi, key, value, 0))) {
		mdb_txn_abort(tx);
		return failed;
	}
	if ((failed = mdb_txn_commit(tx))) return failed;
	return mdb_env_sync(env, force);
}

static void answer(int fd, const char *status, const void *body, size_t size) {
	char head[128];
	int n = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", status, size);
	if (write(fd, head, n) < 0) return;
	if (size > 0 && write(fd, body, size) < 0) perror("write");
}

static void serve(int fd) {
	char b[8192];
	size_t have = 0;
	char *body = NULL;
	for (size_t want = 0; !body || have < want;) {
		ssize_t n = read(fd, b + have, sizeof b - 1 - have);
		if (n <= 0) return;
		b[have += n] = 0;
		if (!body && (body = strstr(b, "\r\n\r\n"))) {
			char *length = strcasestr(b, "Content-Length:");
			body += 4;
			want = body - b + (length && length < body ? atoi(length + 15) : 0);
			if (want > sizeof b - 1) return;
		}
	}
	char method[8], name[256];
	if (sscanf(b, "%7s /kv/%255s", method, name) != 2) return answer(fd, "404 Not Found", "", 0);
	MDB_val key = {strlen(name), name}, value = {have - (body - b), body};
	if (strcmp(method, "PUT") == 0) {
		int failed = put(&key, &value);
		return answer(fd, failed ? "500 Internal Server Error" : "200 OK", mdb_strerror(failed), failed ? strlen(mdb_strerror(failed)) : 0);
	}
	MDB_txn *tx;
	must(mdb_txn_begin(env, NULL, MDB_RDONLY, &tx), "mdb_txn_begin");
	int failed = mdb_get(tx, dbi, &key, &value);
	answer(fd, failed ? "404 Not Found" : "200 OK", value.mv_data, failed ? 0 : value.mv_size);
	mdb_txn_abort(tx);
}

int main(int argc, char **argv) {
	force = argc > 1 && strcmp(argv[1], "force") == 0;
	open_database();
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(8080)};
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 16)) {
		perror("listen");
		return 1;
	}
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd < 0) continue;
		serve(fd);
		close(fd);
	}
}
