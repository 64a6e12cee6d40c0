package storetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// Password opens the servers that tests start. Nothing may show it.
const Password = "s3cret-w0rd"

// Server is a database server that a test has started. It ends with the test.
type Server struct {
	URL string

	t       testing.TB
	command []string
	ready   func() bool // whether it serves
	as      *syscall.Credential
	address string
	log     string // file
	process *os.Process
	ended   chan struct{}
}

// startTime bounds how long a server may need until it serves.
const startTime = time.Minute

// Start starts a server that was killed, and waits until it serves. What is left of the killed one may keep it from starting for a moment.
func (s *Server) Start() {
	s.t.Helper()
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			s.t.Fatal(err)
		}
		cmd := exec.Command(s.command[0], s.command[1:]...)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = process(s.as)
		err = cmd.Start()
		log.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		s.process, s.ended = cmd.Process, ended
		if s.serves(end) {
			return
		}
	}
	text, _ := os.ReadFile(s.log)
	s.t.Fatalf("%s does not serve: %s", s.command[0], text)
}

// serves waits until the server serves, and reports whether it does. It may end before.
func (s *Server) serves(end time.Time) bool {
	for time.Now().Before(end) {
		if s.ready() {
			return true
		}
		select {
		case <-s.ended:
			return false
		case <-time.After(20 * time.Millisecond): // a server has no event for its readiness
		}
	}
	s.Kill()
	return false
}

// Kill ends the server without warning.
func (s *Server) Kill() {
	s.process.Kill()
	<-s.ended
}

// Stop lets the server run no more, so that it keeps its connections and answers nothing, until Continue.
func (s *Server) Stop() { s.process.Signal(syscall.SIGSTOP) }

// Continue ends Stop.
func (s *Server) Continue() { s.process.Signal(syscall.SIGCONT) }

// newServer gives a server a free port of loopback, and a folder that the user may write to who runs it.
func newServer(t testing.TB, as *syscall.Credential) (s *Server, folder string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	folder, err = os.MkdirTemp("", "bloodhound-server-")
	if err == nil && as != nil {
		err = os.Chown(folder, int(as.Uid), int(as.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	s = &Server{t: t, as: as, address: l.Addr().String(), log: filepath.Join(folder, "log")}
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill()
		}
		os.RemoveAll(folder)
	})
	return s, folder
}

// Postgres starts Debian's PostgreSQL, which does not run as root.
func Postgres(t testing.TB) *Server {
	t.Helper()
	bin := ""
	if list, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(list) > 0 {
		bin = filepath.Dir(list[len(list)-1])
	} else {
		bin = filepath.Dir(needs.Program(t, "initdb"))
	}
	as := servant("postgres")
	s, folder := newServer(t, as)
	data, word := filepath.Join(folder, "data"), filepath.Join(folder, "word")
	if err := os.WriteFile(word, []byte(Password), 0o644); err != nil {
		t.Fatal(err)
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256",
		"--username=tester", "--pwfile="+word, "--pgdata="+data)
	initdb.SysProcAttr, initdb.Dir = process(as), folder
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	_, port, _ := net.SplitHostPort(s.address)
	// The machine goes on when a server is killed, so nothing need reach its disk; but what nobody waits for stays in the server's memory for long.
	s.command = []string{filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", port, "-k", folder,
		"-c", "fsync=off", "-c", "wal_writer_delay=10s", "-c", "max_connections=200"}
	s.ready = func() bool {
		return exec.Command(filepath.Join(bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", port).Run() == nil
	}
	s.URL = fmt.Sprintf("postgres://tester:%s@%s/postgres", Password, s.address)
	s.Start()
	return s
}

// servant is who runs a server that does not run as root: a user of this name, or nobody. It is nil for others than root.
func servant(name string) *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	as := &syscall.Credential{Uid: 65534, Gid: 65534} // nobody
	if u, err := user.Lookup(name); err == nil {
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		as.Uid, as.Gid = uint32(uid), uint32(gid)
	}
	return as
}

// MariaDB starts Debian's MariaDB with an empty database, in which everyone may do everything. Its URL is a name of a data source
// of github.com/go-sql-driver/mysql. Who waits for a lock gives up after a second.
func MariaDB(t testing.TB) *Server {
	t.Helper()
	program, install := needs.Program(t, "mariadbd"), needs.Program(t, "mariadb-install-db")
	as := servant("mysql")
	s, folder := newServer(t, as)
	data, socket := filepath.Join(folder, "data"), filepath.Join(folder, "socket")
	setup := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal")
	setup.SysProcAttr, setup.Dir = process(as), folder
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	_, port, _ := net.SplitHostPort(s.address)
	s.command = []string{program, "--no-defaults", "--datadir=" + data, "--bind-address=127.0.0.1", "--port=" + port,
		"--socket=" + socket, "--skip-grant-tables",
		"--skip-networking=0", "--innodb-lock-wait-timeout=1", "--innodb-flush-log-at-trx-commit=0", "--pid-file=" + filepath.Join(folder, "pid")}
	s.ready = func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	s.URL = "root@tcp(" + s.address + ")/test"
	s.Start()
	return s
}

// Redis starts Debian's Redis, which writes each change to its file before it answers.
func Redis(t testing.TB, options ...string) *Server {
	t.Helper()
	program := needs.Program(t, "redis-server", "valkey-server")
	s, folder := newServer(t, nil)
	_, port, _ := net.SplitHostPort(s.address)
	config := filepath.Join(folder, "redis.conf")
	lines := append([]string{"bind 127.0.0.1", "port " + port, "dir " + folder, "save \"\"", "appendonly yes",
		"appendfsync always", "requirepass " + Password}, options...)
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command = []string{program, config}
	s.ready = func() bool {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "AUTH %s\r\nPING\r\nQUIT\r\n", Password)
		answer, _ := io.ReadAll(c)
		return strings.Contains(string(answer), "+PONG")
	}
	s.URL = fmt.Sprintf("redis://:%s@%s", Password, s.address)
	s.Start()
	return s
}

// Program starts a program that serves a store over HTTP, given its address and a folder that is its own.
func Program(t testing.TB, command func(address, folder string) []string) *Server {
	t.Helper()
	s, folder := newServer(t, nil)
	s.command = command(s.address, folder)
	s.ready = func() bool {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	s.URL = "http://" + s.address
	s.Start()
	return s
}
