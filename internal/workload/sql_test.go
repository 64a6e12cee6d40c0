package workload

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// fakeDatabase is a database whose answer to a statement is chosen by answer: "" succeeds, "close" ends the connection,
// "error CODE" is an error message, and "fatal CODE" is one after which the connection ends.
type fakeDatabase struct {
	answer func(statement string) string
	mu     sync.Mutex
	seen   []string
}

func (f *fakeDatabase) answerStatement(statement string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, strings.ToLower(statement))
	if strings.HasPrefix(statement, "CREATE") {
		return ""
	}
	return f.answer(strings.ToLower(statement))
}

// count reports how often statements that begin so were sent.
func (f *fakeDatabase) count(prefix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func (f *fakeDatabase) listen(t *testing.T, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// postgres speaks as much of PostgreSQL's protocol as the driver needs.
func (f *fakeDatabase) postgres(c net.Conn) {
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	status := byte('I')
	ready := func() { b.Send(&pgproto3.ReadyForQuery{TxStatus: status}) }
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}})
	ready()
	for b.Flush() == nil {
		m, err := b.Receive()
		q, isQuery := m.(*pgproto3.Query)
		if err != nil || !isQuery {
			return
		}
		verb := strings.ToLower(strings.Fields(q.String)[0])
		kind, code, _ := strings.Cut(f.answerStatement(q.String), " ")
		switch {
		case kind == "close":
			return
		case kind == "fatal":
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: "told so"})
			b.Flush()
			return
		case kind == "error":
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: "told so"})
			if status != 'I' {
				status = 'E'
			}
			if verb == "commit" || verb == "rollback" {
				status = 'I'
			}
		default:
			switch verb {
			case "begin":
				status = 'T'
			case "commit", "rollback":
				status = 'I'
			}
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte(strings.ToUpper(verb) + " 1")})
		}
		ready()
	}
}

// mysql speaks as much of MySQL's protocol as the driver needs.
func (f *fakeDatabase) mysql(c net.Conn) {
	in := bufio.NewReader(c)
	send := func(n byte, payload []byte) {
		head := []byte{byte(len(payload)), byte(len(payload) >> 8), byte(len(payload) >> 16), n}
		c.Write(append(head, payload...))
	}
	receive := func() []byte {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return nil
		}
		p := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
		if _, err := io.ReadFull(in, p); err != nil {
			return nil
		}
		return p
	}
	done := []byte{0, 1, 0, 2, 0, 0, 0} // OK, one row
	hello := append([]byte{10}, "8.0.0\x00"...)
	hello = append(hello, 1, 0, 0, 0)
	hello = append(hello, "12345678\x00"...)
	hello = append(hello, 0x00, 0xa2, 45, 2, 0, 0x08, 0x00, 21) // protocol 4.1, transactions, secure connection, plug-in
	hello = append(hello, make([]byte, 10)...)
	hello = append(hello, "123456789012\x00mysql_native_password\x00"...)
	send(0, hello)
	if receive() == nil {
		return
	}
	send(2, done)
	for p := receive(); len(p) > 0; p = receive() {
		if p[0] != 3 { // COM_QUERY
			return
		}
		kind, code, _ := strings.Cut(f.answerStatement(string(p[1:])), " ")
		switch kind {
		case "close":
			return
		case "error", "fatal":
			var number uint16
			fmt.Sscan(code, &number)
			send(1, append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000told so"...))
			if kind == "fatal" {
				return
			}
		default:
			send(1, done)
		}
	}
}

// What the driver concludes from what a database did, and that it sends everything once.
func TestSQLOutcomes(t *testing.T) {
	on := func(prefix, answer string) func(string) string {
		return func(statement string) string {
			if strings.HasPrefix(statement, prefix) {
				return answer
			}
			return ""
		}
	}
	for _, c := range []struct {
		system, operation string
		at, answer        string
		want              history.Type
	}{
		{"postgres", "put", "nothing", "", history.Ok},
		{"postgres", "put", "insert", "close", history.Info},
		{"postgres", "put", "insert", "error 23514", history.Fail},
		{"postgres", "put", "insert", "error 40001", history.Fail},
		{"postgres", "put", "insert", "error 40P01", history.Fail},
		{"postgres", "put", "insert", "error 57014", history.Fail},
		{"postgres", "put", "insert", "error 40003", history.Info},
		{"postgres", "put", "insert", "error 58030", history.Info},
		{"postgres", "put", "insert", "error XX000", history.Info},
		{"postgres", "put", "insert", "fatal 57P01", history.Info},
		{"postgres", "put", "insert", "fatal 25P03", history.Info},
		{"postgres", "delete", "delete", "close", history.Info},
		{"postgres", "cas", "update", "error 40001", history.Fail},
		{"postgres", "txn", "nothing", "", history.Ok},
		{"postgres", "txn", "begin", "close", history.Fail},
		{"postgres", "txn", "insert", "close", history.Fail}, // COMMIT was never sent
		{"postgres", "txn", "insert", "fatal 57P01", history.Fail},
		{"postgres", "txn", "insert", "error 40001", history.Fail},
		{"postgres", "txn", "commit", "error 40001", history.Fail},
		{"postgres", "txn", "commit", "close", history.Info},
		{"postgres", "txn", "commit", "fatal 57P01", history.Info},
		{"postgres", "txn", "commit", "error 40003", history.Info},
		{"mysql", "put", "nothing", "", history.Ok},
		{"mysql", "put", "insert", "close", history.Info},
		{"mysql", "put", "insert", "error 1213", history.Fail},
		{"mysql", "put", "insert", "error 1205", history.Fail},
		{"mysql", "put", "insert", "error 1290", history.Fail},
		{"mysql", "put", "insert", "error 1053", history.Info},
		{"mysql", "put", "insert", "error 1317", history.Info},
		{"mysql", "txn", "nothing", "", history.Ok},
		{"mysql", "txn", "insert", "close", history.Fail},
		{"mysql", "txn", "insert", "error 1213", history.Fail},
		{"mysql", "txn", "commit", "close", history.Info},
		{"mysql", "txn", "commit", "error 1180", history.Info},
		{"mysql", "txn", "commit", "error 1213", history.Fail},
	} {
		t.Run(fmt.Sprintf("%s/%s/%s %s", c.system, c.operation, c.at, c.answer), func(t *testing.T) {
			f := &fakeDatabase{answer: on(c.at, c.answer)}
			serve := f.postgres
			if c.system == "mysql" {
				serve = f.mysql
			}
			w := world.Workload{Driver: "sql", Clients: 1, Operations: 1, Targets: []string{c.system + "://u@" + f.listen(t, serve) + "/d"},
				Mix: []world.Operation{{Kind: c.operation, Weight: 1, KeyPattern: "k"}}}
			s, err := newSettings(&w, nil)
			if err != nil {
				t.Fatal(err)
			}
			cs := newConnections(1, "c0")
			defer cs.close()
			o := operation{entry: &s.mix[0], key: "k", value: "v'1\\"}
			if c.operation == "txn" {
				o.value = `[["append","k",7]]`
			}
			r := s.dialect.perform(cs, 0, &o, deadlineIn(t))
			if r.typ != c.want {
				t.Errorf("%s (%s %s), want %s", r.typ, r.err, r.output, c.want)
			}
			if c.operation == "txn" && r.typ == history.Ok && r.output != o.value {
				t.Errorf("output %s", r.output)
			}
			if (cs.sessions[0] != nil) != (r.typ == history.Ok) {
				t.Errorf("after %s the connection is kept: %v", r.typ, cs.sessions[0] != nil)
			}
			for _, verb := range []string{"begin", "start", "insert", "commit", "update", "delete"} {
				if n := f.count(verb); n > 1 {
					t.Errorf("%s was sent %d times: %q", verb, n, f.seen)
				}
			}
		})
	}
}

func TestSQLRefuses(t *testing.T) {
	for _, c := range []struct {
		w    world.Workload
		want string
	}{
		{world.Workload{}, "no target"},
		{world.Workload{Targets: []string{"http://n1"}}, "must be a URL such as postgres://"},
		{world.Workload{Targets: []string{"postgres://n1/d", "mysql://n1/d"}}, "its own workload"},
		{world.Workload{Targets: []string{"postgres://n1/d"}, Options: map[string]string{"isolation": "none"}}, "isolation"},
		{world.Workload{Targets: []string{"postgres://n1/d"}, Options: map[string]string{"model": "set"}}, "model"},
		{world.Workload{Targets: []string{"postgres://n1/d"}, Options: map[string]string{"back": "1"}}, "no option"},
	} {
		c.w.Driver, c.w.Operations = "sql", 1
		if err := Validate(&c.w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.w, err, c.want)
		}
	}
}

// Accesses of transactions: each write has a value of its own, and reading back what was written gives the same.
func TestAccesses(t *testing.T) {
	p, err := parsePattern(`"k{random:0-2}\`)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	lengths := map[int]int{}
	for client := range 3 {
		c := chooser{seed: 1, client: client, clients: 3, verb: "append"}
		for k := range 200 {
			text := c.transaction(newDice(1, client, k), p, 0, k)
			list, err := parseAccesses(text)
			if err != nil || formatAccesses(list) != text {
				t.Fatalf("%s: %v, %s", text, err, formatAccesses(list))
			}
			lengths[len(list)]++
			for _, a := range list {
				if a.write && seen[a.value] {
					t.Fatalf("value %d twice", a.value)
				}
				seen[a.value] = a.write
			}
		}
	}
	for n := 1; n <= maxAccesses; n++ {
		if lengths[n] < 50 {
			t.Errorf("%d transactions of %d accesses", lengths[n], n)
		}
	}
}
