package contract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// lies checks that the suite finds a fake that lies, and nothing else.
func lies[D any](t *testing.T, clauses []Clause[D], want string, fake, real Place[D]) {
	t.Helper()
	r, err := Compare(t, "all", clauses, fake, real)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(r.Broken, "\n")
	if !strings.Contains(text, want) || strings.Count(text, "lying breaks") != len(r.Broken) || strings.Count(text, "the fake lies") != len(r.Broken) {
		t.Error(text)
	}
}

// memoryLog is a fake of AcksEach. Where it lies, it forgets who has not acknowledged what.
type memoryLog struct {
	entries []Entry
	groups  map[string]int
	pending map[[2]string][]Entry
	lying   bool
}

func fakeLog(name string, lying bool) Place[Log] {
	return Place[Log]{Name: name, With: func(_ testing.TB, play func(Log)) {
		play(&memoryLog{groups: map[string]int{}, pending: map[[2]string][]Entry{}, lying: lying})
	}}
}

func (l *memoryLog) Append(value string) error {
	l.entries = append(l.entries, Entry{fmt.Sprint(len(l.entries)), value})
	return nil
}

func (l *memoryLog) Next(group, consumer string, n int) ([]Entry, error) {
	at := l.groups[group]
	list := l.entries[at:min(at+n, len(l.entries))]
	l.groups[group] = at + len(list)
	who := [2]string{group, consumer}
	l.pending[who] = append(l.pending[who], list...)
	return list, nil
}

func (l *memoryLog) Again(group, consumer string, n int) ([]Entry, error) {
	who := [2]string{group, consumer}
	list := slices.Clone(l.pending[who])
	if l.lying {
		delete(l.pending, who)
	}
	return list[:min(n, len(list))], nil
}

func (l *memoryLog) Acknowledge(group string, entries ...Entry) error {
	for who, list := range l.pending {
		if who[0] == group {
			l.pending[who] = slices.DeleteFunc(list, func(e Entry) bool { return slices.Contains(entries, e) })
		}
	}
	return nil
}

// offsetLog is a fake of AcksUpTo. Where it lies, a consumer that takes over begins behind what the last one got.
type offsetLog struct {
	entries []Entry
	groups  map[string]*offsets
	lying   bool
}

type offsets struct {
	committed, next int
	owner           string
}

func fakeOffsets(name string, lying bool) Place[Log] {
	return Place[Log]{Name: name, With: func(_ testing.TB, play func(Log)) { play(&offsetLog{nil, map[string]*offsets{}, lying}) }}
}

func (l *offsetLog) group(name, consumer string) *offsets {
	g := l.groups[name]
	if g == nil {
		g = &offsets{}
		l.groups[name] = g
	}
	if g.owner != consumer && !l.lying {
		g.next = g.committed
	}
	g.owner = consumer
	return g
}

func (l *offsetLog) Append(value string) error {
	l.entries = append(l.entries, Entry{fmt.Sprint(len(l.entries)), value})
	return nil
}

func (l *offsetLog) Next(group, consumer string, n int) ([]Entry, error) {
	g := l.group(group, consumer)
	list := l.entries[g.next:min(g.next+n, len(l.entries))]
	g.next += len(list)
	return list, nil
}

func (l *offsetLog) Again(group, consumer string, n int) ([]Entry, error) {
	g := l.group(group, consumer)
	return l.entries[g.committed:min(g.committed+n, g.next)], nil
}

func (l *offsetLog) Acknowledge(group string, entries ...Entry) error {
	for _, e := range entries {
		g := l.groups[group]
		g.committed = max(g.committed, slices.Index(l.entries, e)+1)
	}
	return nil
}

// stream is one of Redis.
type stream struct{ redis.Conn }

func (s stream) Append(value string) error {
	_, err := s.Do("XADD", "log", "*", "v", value)
	return err
}

func (s stream) read(group, consumer, from string, n int) ([]Entry, error) {
	_, err := s.Do("XGROUP", "CREATE", "log", group, "0", "MKSTREAM")
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return nil, err
	}
	streams, err := redis.Values(s.Do("XREADGROUP", "GROUP", group, consumer, "COUNT", n, "STREAMS", "log", from))
	if errors.Is(err, redis.ErrNil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var name string
	var messages []any
	if _, err := redis.Scan(streams[0].([]any), &name, &messages); err != nil {
		return nil, err
	}
	list := make([]Entry, len(messages))
	for i, m := range messages {
		var fields []string
		if _, err := redis.Scan(m.([]any), &list[i].ID, &fields); err != nil {
			return nil, err
		}
		list[i].Value = fields[1]
	}
	return list, nil
}

func (s stream) Next(group, consumer string, n int) ([]Entry, error) {
	return s.read(group, consumer, ">", n)
}

func (s stream) Again(group, consumer string, n int) ([]Entry, error) {
	return s.read(group, consumer, "0", n)
}

func (s stream) Acknowledge(group string, entries ...Entry) error {
	for _, e := range entries {
		if _, err := s.Do("XACK", "log", group, e.ID); err != nil {
			return err
		}
	}
	return nil
}

func TestLogs(t *testing.T) {
	conn := dialRedis(t)
	real := Place[Log]{Name: "redis", Real: true, With: func(t testing.TB, play func(Log)) {
		if _, err := conn.Do("FLUSHDB"); err != nil {
			t.Fatal(err)
		}
		play(stream{conn})
	}}
	Test(t, Logs(AcksEach), fakeLog("fake", false), real)
	lies(t, Logs(AcksEach), `lying breaks "what is not acknowledged comes again": the entries that are not acknowledged of consumer a of group g: they are [], not ["1" "2"]`, fakeLog("lying", true), real)
}

func TestLogsOfOffsets(t *testing.T) {
	for name, c := range map[string]struct {
		acks   Acks
		place  Place[Log]
		broken []string
	}{
		"true": {AcksUpTo, fakeOffsets("fake", false), nil},
		"lost": {AcksUpTo, fakeOffsets("fake", true), []string{"a consumer that takes over gets what is not acknowledged"}},
		"each as one": {AcksUpTo, fakeLog("fake", false),
			[]string{"an acknowledgement covers the entries before it", "a consumer that takes over gets what is not acknowledged"}},
		"one as of each": {AcksEach, fakeOffsets("fake", false),
			[]string{"an acknowledgement covers its entry alone", "an entry goes to one consumer of a group"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Compare(t, "fake", Logs(c.acks), c.place)
			if err != nil {
				t.Fatal(err)
			}
			var broken []string
			for _, line := range r.Broken {
				broken = append(broken, strings.Split(line, `"`)[1])
			}
			if !slices.Equal(broken, c.broken) {
				t.Errorf("%s", strings.Join(r.Broken, "\n"))
			}
		})
	}
}

// The same suite holds on consumer groups by Kafka's protocol, which takes minutes to build.
func TestLogsOnKafka(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("builds a client and a server of Kafka's protocol: set BLOODHOUND_SOAK=1")
	}
	needs.Module(t, "testdata/kafka", []string{"vet", "."}, []string{"test", "-count=1", "-sdk.deps=fake", "."})
}

// mailbox is a fake server of SMTP. Where it lies, it takes the dot from no line.
type mailbox struct {
	mu    sync.Mutex
	boxes map[string][]string
	lying bool
}

func fakeMail(name string, lying bool) Place[Mail] {
	return Place[Mail]{Name: name, With: func(t testing.TB, play func(Mail)) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		m := &mailbox{boxes: map[string][]string{}, lying: lying}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go m.serve(c)
			}
		}()
		play(Mail{l.Addr().String(), func(to string) ([]string, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return slices.Clone(m.boxes[to]), nil
		}})
	}}
}

func (m *mailbox) serve(c net.Conn) {
	defer c.Close()
	text := textproto.NewConn(c)
	from, to := false, []string(nil)
	text.PrintfLine("220 fake")
	for {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		answer := "250 done"
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO", "NOOP":
		case "RSET":
			from, to = false, nil
		case "MAIL":
			if from {
				answer = "503 nested MAIL"
			}
			from = true
		case "RCPT":
			if !from {
				answer = "503 no MAIL"
				break
			}
			_, address, _ := strings.Cut(rest, "<")
			address, _, _ = strings.Cut(address, ">")
			to = append(to, address)
		case "DATA":
			if len(to) == 0 {
				answer = "503 no RCPT"
				break
			}
			text.PrintfLine("354 go on")
			lines, err := text.ReadDotLines()
			if err != nil {
				return
			}
			if m.lying {
				for i, l := range lines {
					if strings.HasPrefix(l, ".") {
						lines[i] = "." + l
					}
				}
			}
			m.mu.Lock()
			for _, address := range to {
				m.boxes[address] = append(m.boxes[address], strings.Join(lines[slices.Index(lines, "")+1:], "\n")+"\n")
			}
			m.mu.Unlock()
			from, to = false, nil
		case "QUIT":
			text.PrintfLine("221 bye")
			return
		default:
			answer = "500 what?"
		}
		text.PrintfLine("%s", answer)
	}
}

// aiosmtpd is Debian's server of SMTP in Python, which writes mail into a folder.
func aiosmtpd(t *testing.T) Place[Mail] {
	program := needs.Program(t, "aiosmtpd")
	var folder string
	s := storetest.Program(t, func(address, dir string) []string {
		folder = filepath.Join(dir, "mail")
		return []string{program, "--nosetuid", "--listen", address, "--class", "aiosmtpd.handlers.Mailbox", folder}
	})
	return Place[Mail]{Name: "aiosmtpd", Real: true, With: func(_ testing.TB, play func(Mail)) {
		play(Mail{strings.TrimPrefix(s.URL, "http://"), func(to string) (list []string, err error) {
			files, err := filepath.Glob(filepath.Join(folder, "new", "*"))
			for _, file := range files {
				body, recipients, err := message(file)
				if err != nil {
					return nil, err
				}
				if slices.Contains(recipients, to) {
					list = append(list, body)
				}
			}
			return list, err
		}})
	}}
}

// message reads a message of aiosmtpd, which writes the recipients into a header.
func message(file string) (body string, recipients []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	m, err := mail.ReadMessage(bufio.NewReader(f))
	if err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(m.Body)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), strings.Split(m.Header.Get("X-RcptTo"), ", "), err
}

func TestMails(t *testing.T) {
	real := aiosmtpd(t)
	Test(t, Mails(), fakeMail("fake", false), real)
	// The mailboxes of the real server stay, and each clause has recipients of its own: a server for each comparison.
	lies(t, Mails(), `lying breaks "lines that begin with a dot keep it": dots@contract.test has ["..\n...\n..a\n"]`, fakeMail("lying", true), aiosmtpd(t))
}

// zone is a fake server of DNS. Where it lies, it compares names with their case.
type zone struct{ lying bool }

func fakeNames(name string, lying bool) Place[Names] {
	return Place[Names]{Name: name, With: func(t testing.TB, play func(Names)) {
		z := zone{lying}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			question := make([]byte, 512)
			for {
				n, from, err := c.ReadFrom(question)
				if err != nil {
					return
				}
				c.WriteTo(z.answer(question[:n]), from)
			}
		}()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				size := make([]byte, 2)
				io.ReadFull(c, size)
				question := make([]byte, int(size[0])<<8|int(size[1]))
				io.ReadFull(c, question)
				answer := z.answer(question)
				c.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...))
				c.Close()
			}
		}()
		play(Names{l.Addr().String()})
	}}
}

func (z zone) answer(question []byte) []byte {
	var q dnsmessage.Message
	if q.Unpack(question) != nil || len(q.Questions) != 1 {
		return nil
	}
	host := func(name string) dnsmessage.Name { return dnsmessage.MustNewName(name + ".contract.test.") }
	records := map[string][]dnsmessage.ResourceBody{
		"one.contract.test.":     {&dnsmessage.AResource{A: [4]byte{10, 0, 0, 1}}},
		"two.contract.test.":     {&dnsmessage.AResource{A: [4]byte{10, 0, 0, 2}}, &dnsmessage.AResource{A: [4]byte{10, 0, 0, 3}}},
		"alias.contract.test.":   {&dnsmessage.CNAMEResource{CNAME: host("one")}, &dnsmessage.AResource{A: [4]byte{10, 0, 0, 1}}},
		"text.contract.test.":    {&dnsmessage.TXTResource{TXT: []string{"v=1; all"}}},
		"contract.test.":         {&dnsmessage.MXResource{Pref: 10, MX: host("one")}},
		"_x._tcp.contract.test.": {&dnsmessage.SRVResource{Priority: 5, Weight: 7, Port: 8080, Target: host("two")}},
		"1.0.0.10.in-addr.arpa.": {&dnsmessage.PTRResource{PTR: host("one")}},
	}
	asked := q.Questions[0]
	name := asked.Name.String()
	if !z.lying {
		name = strings.ToLower(name)
	}
	q.Response, q.Authoritative, q.Additionals = true, true, nil
	if records[name] == nil {
		q.RCode = dnsmessage.RCodeNameError
	}
	owner := asked.Name
	for _, body := range records[name] {
		header := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: 60}
		switch b := body.(type) {
		case *dnsmessage.AResource:
			header.Type = dnsmessage.TypeA
		case *dnsmessage.CNAMEResource:
			header.Type, owner = dnsmessage.TypeCNAME, b.CNAME
		case *dnsmessage.TXTResource:
			header.Type = dnsmessage.TypeTXT
		case *dnsmessage.MXResource:
			header.Type = dnsmessage.TypeMX
		case *dnsmessage.SRVResource:
			header.Type = dnsmessage.TypeSRV
		case *dnsmessage.PTRResource:
			header.Type = dnsmessage.TypePTR
		}
		if header.Type == asked.Type || header.Type == dnsmessage.TypeCNAME {
			q.Answers = append(q.Answers, dnsmessage.Resource{Header: header, Body: body})
		}
	}
	text, err := q.Pack()
	if err != nil {
		panic(err)
	}
	return text
}

func dnsmasq(t *testing.T) Place[Names] {
	program := needs.Program(t, "dnsmasq")
	s := storetest.Program(t, func(address, dir string) []string {
		_, port, _ := net.SplitHostPort(address)
		return []string{program, "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts", "--no-resolv",
			"--pid-file=" + filepath.Join(dir, "pid"), "--user=", "--group=",
			"--listen-address=127.0.0.1", "--bind-interfaces", "--port=" + port, "--local=/contract.test/",
			"--host-record=one.contract.test,10.0.0.1", "--host-record=two.contract.test,10.0.0.2", "--host-record=two.contract.test,10.0.0.3",
			"--cname=alias.contract.test,one.contract.test", "--txt-record=text.contract.test,v=1; all", "--mx-host=contract.test,one.contract.test,10",
			"--srv-host=_x._tcp.contract.test,two.contract.test,8080,5,7"}
	})
	return Place[Names]{Name: "dnsmasq", Real: true, With: func(_ testing.TB, play func(Names)) { play(Names{strings.TrimPrefix(s.URL, "http://")}) }}
}

func TestResolutions(t *testing.T) {
	real := dnsmasq(t)
	Test(t, Resolutions(), fakeNames("fake", false), real)
	lies(t, Resolutions(), `lying breaks "names are compared without case"`, fakeNames("lying", true), real)
}
