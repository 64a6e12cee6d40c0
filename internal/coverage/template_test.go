package coverage

import "testing"

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`1234:M 01 Jan 2025 00:00:01.205 * Replica 10.77.0.11:6379 asks for synchronization`, `#:M # Jan # * Replica # asks for synchronization`},
		{`{"level":"info","ts":"2025-01-01T00:00:01.2Z","caller":"raft/raft.go:785","msg":"8e9e05c52164694d became leader at term 3","id":7}`,
			`info caller= # became leader at term # id=`},
		{`2025-01-01T10:00:00.123456Z INFO [n1] election timeout after 1.5s, term=12`, `# INFO [n#] election timeout after #, term=#`},
		{`2025/01/01 00:00:03 n2: snapshot 550e8400-e29b-41d4-a716-446655440000 of [1 2 3] done`, `# n#: snapshot # of [#] done`},
		{`time="x" level=warn msg="cannot reach peer 3" err="dial tcp 10.0.0.2:80: connection refused" key="abc"`,
			`time="*" level=warn msg="cannot reach peer #" err="dial tcp #: connection refused" key="*"`},
		{`read 0x7f3a at -5 in 12ms (3MB)`, `read # at # in # (#)`},
		{"\x1b[32mready\x1b[0m to  accept", `ready to accept`},
		{`{not json 5`, `{not json #`},
		{`key-17 of user_204 is v3`, `key-# of user_# is v#`},
		{`from addr=[fd77::a]:6379 and ::1, std::vector at 10:20:30`, `from addr=[#]:# and #, std::vector at #`},
		{`voters=(12 34 56)`, `voters=(#)`},
		{`it's 'that'`, `it's "*"`},
		{``, ``},
	} {
		if got := string(Template(nil, c.line)); got != c.want {
			t.Errorf("%s\n gives %s\n want  %s", c.line, got, c.want)
		}
	}
}

func TestTemplatesAreBounded(t *testing.T) {
	long := ""
	for range 1000 {
		long += "word and another, "
	}
	if n := len(Template([]byte("kept "), long)); n > maxTemplateBytes+5 {
		t.Errorf("a template has %d bytes", n)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{"a":"b\`)
	f.Add(`'"x \" y`)
	f.Fuzz(func(t *testing.T, line string) {
		if n := len(Template(nil, line)); n > maxTemplateBytes {
			t.Errorf("a template has %d bytes", n)
		}
	})
}

// Lines and messages are many: what is masked must not be garbage each time.
func TestMaskingAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1024)
	lines := []string{`{"level":"info","msg":"8e9e05c52164694d became leader at term 3","id":7}`,
		`1:M 01 Jan 2025 00:00:01.205 * Replica 10.77.0.11:6379 asks for [1 2 3]`,
		`time=1 msg="cannot reach peer 3" err="dial tcp 10.0.0.2:80: connection refused"`}
	messages := [][]byte{[]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), []byte("GET /kv/k17 HTTP/1.1\r\n\r\n"),
		[]byte(`{"a":{"type":"append"}}`), {0, 0, 0, 2, 9, 9}, {1, 200, 3}}
	var p Protocol
	if n := testing.AllocsPerRun(100, func() {
		for _, l := range lines {
			buf = Template(buf[:0], l)
		}
		for _, m := range messages {
			p.Head(m)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTemplate(b *testing.B) {
	buf := make([]byte, 0, 1024)
	for b.Loop() {
		buf = Template(buf[:0], `{"level":"info","ts":"2025-01-01T00:00:01.2Z","caller":"raft/raft.go:785","msg":"8e9e05c52164694d became leader at term 3","id":7}`)
	}
}

func BenchmarkHead(b *testing.B) {
	m := []byte("GET /kv/k17?wait=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	for b.Loop() {
		HeadOf(m)
	}
}
