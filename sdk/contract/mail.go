package contract

import (
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// Mail is a server of SMTP (RFC 5321) that accepts mail for anyone in the domain contract.test.
type Mail struct {
	Address string // host:port
	// Box returns the bodies of the messages to a recipient, in any order, with lines that end in "\n". Each clause
	// uses its own recipients.
	Box func(recipient string) ([]string, error)
}

// Mails returns the clauses of an SMTP server.
func Mails() []Clause[Mail] {
	send := func(m Mail, body string, to ...string) error {
		return smtp.SendMail(m.Address, nil, "sender@contract.test", to, []byte("Subject: contract\r\n\r\n"+body))
	}
	return []Clause[Mail]{
		{"a message arrives", func(m Mail) error {
			return errors.Join(send(m, "one\r\n\r\ntwo\r\n", "plain@contract.test"), box(m, "plain@contract.test", "one\n\ntwo\n"))
		}},
		{"lines that begin with a dot keep it", func(m Mail) error {
			return errors.Join(send(m, ".\r\n..\r\n.a\r\n", "dots@contract.test"), box(m, "dots@contract.test", ".\n..\n.a\n"))
		}},
		{"long lines arrive whole", func(m Mail) error { // RFC 5321, 4.5.3.1.6: 1000 octets with the line's end
			long := strings.Repeat("x", 998)
			return errors.Join(send(m, long+"\r\n", "long@contract.test"), box(m, "long@contract.test", long+"\n"))
		}},
		{"each recipient gets the message", func(m Mail) error {
			return errors.Join(send(m, "all\r\n", "a@contract.test", "b@contract.test"), box(m, "a@contract.test", "all\n"), box(m, "b@contract.test", "all\n"))
		}},
		{"a connection carries several messages", func(m Mail) error {
			return talk(m, "HELO x", 250, "MAIL FROM:<s@contract.test>", 250, "RCPT TO:<several@contract.test>", 250, "DATA", 354, "\r\n1\r\n.", 250,
				"MAIL FROM:<s@contract.test>", 250, "RCPT TO:<several@contract.test>", 250, "DATA", 354, "\r\n2\r\n.", 250,
				"QUIT", 221)(box(m, "several@contract.test", "1\n", "2\n"))
		}},
		{"RSET forgets the recipients", func(m Mail) error {
			return talk(m, "HELO x", 250, "MAIL FROM:<s@contract.test>", 250, "RCPT TO:<forgotten@contract.test>", 250, "RSET", 250,
				"MAIL FROM:<s@contract.test>", 250, "RCPT TO:<kept@contract.test>", 250, "DATA", 354, "\r\n1\r\n.",
				250)(box(m, "kept@contract.test", "1\n"), box(m, "forgotten@contract.test"))
		}},
		{"commands out of order are refused", func(m Mail) error {
			return talk(m, "HELO x", 250, "RCPT TO:<a@contract.test>", 503, "DATA", 503, "MAIL FROM:<s@contract.test>", 250,
				"MAIL FROM:<s@contract.test>", 503, "DATA", 503)()
		}},
		{"unknown commands are refused, and the connection goes on", func(m Mail) error {
			return talk(m, "HELO x", 250, "FOO", 500, "NOOP", 250)()
		}},
		{"a message without its end is not delivered", func(m Mail) error {
			return talk(m, "HELO x", 250, "MAIL FROM:<s@contract.test>", 250, "RCPT TO:<half@contract.test>", 250, "DATA", 354,
				"\r\nhalf", 0)(box(m, "half@contract.test"))
		}},
	}
}

// talk sends lines and compares the codes of the answers; 500 also stands for 502 (RFC 5321, 4.2.4), and 0
// expects no answer.
// Then the connection ends. It returns a function that adds what was found afterwards.
func talk(m Mail, steps ...any) func(...error) error {
	err := func() error {
		c, err := net.DialTimeout("tcp", m.Address, 10*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		text := textproto.NewConn(c)
		if _, _, err := text.ReadResponse(220); err != nil {
			return fmt.Errorf("the greeting: %w", err)
		}
		for i := 0; i < len(steps); i += 2 {
			line, want := steps[i].(string), steps[i+1].(int)
			if err := text.PrintfLine("%s", line); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			if want == 0 {
				continue
			}
			code, _, err := text.ReadResponse(0)
			if code == 502 && want == 500 {
				code = 500
			}
			if code != want {
				return fmt.Errorf("%q is answered by %d (%v), not %d", line, code, err, want)
			}
		}
		return nil
	}()
	return func(more ...error) error { return errors.Join(append([]error{err}, more...)...) }
}

func box(m Mail, recipient string, want ...string) error {
	got, err := m.Box(recipient)
	if err != nil {
		return err
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s has %.80q, not %.80q", recipient, got, want)
	}
	return nil
}
