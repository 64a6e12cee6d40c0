package histories

import (
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

// kind of an operation on one key.
type kind uint8

const (
	unmodelled kind = iota
	write
	read
	remove
	incr
	cas
	grow
)

// kindOf maps the names that drivers use to the kinds that the model knows.
func kindOf(op string) kind {
	switch strings.ToLower(op) {
	case "put", "set", "write":
		return write
	case "get", "read":
		return read
	case "delete", "del", "remove":
		return remove
	case "incr", "incrby":
		return incr
	case "cas":
		return cas
	case "append":
		return grow
	}
	return unmodelled
}

// changeOf is the kind of an operation. A write of null leaves its key as a delete does.
func changeOf(o *history.Operation) kind {
	k := kindOf(o.Op)
	if k == write && o.NoInput {
		return remove
	}
	return k
}

func (k kind) String() string {
	return [...]string{"unmodelled", "write", "read", "delete", "incr", "cas", "append"}[k]
}

// state of one key. The zero state is a key that does not exist.
type state struct {
	found bool
	value string
}

// call is the request of an operation on its key.
type call struct {
	kind   kind
	value  string // write, cas: what to store; append: what to add at the end
	expect string // cas: what it may replace
	delta  int64  // incr
	// noValue and noExpect are of a cas that stores null, or replaces nothing but a missing value.
	noValue, noExpect bool
}

// reply is the result of an operation. When known is false, only its effect is part of the model: no answer shows the
// result, or the property does not judge it.
type reply struct {
	known bool
	found bool   // read
	value string // read: the value; remove: "", "0" or "1"; incr: the new number, or ""; cas: "true" or "false"
}

// step reports whether an operation with this reply may happen in state s, and the state after it. It is the
// sequential specification of a register that can be missing, written, read, deleted, counted up, compared and appended to.
func step(s state, c call, r reply) (bool, state) {
	switch c.kind {
	case write:
		return true, state{true, c.value}
	case read:
		return !r.known || r.found == s.found && (!s.found || r.value == s.value), s
	case remove:
		if r.known && r.value != "" && r.value != count(s.found) {
			return false, s
		}
		return true, state{}
	case incr:
		n, ok := number(s)
		sum := n + c.delta
		if overflow := (sum > n) != (c.delta > 0) && c.delta != 0; !ok || overflow {
			// The server answers with an error and changes nothing, so a known result was impossible.
			return !r.known, s
		}
		text := strconv.FormatInt(sum, 10)
		return !r.known || r.value == "" || r.value == text, state{true, text}
	case cas:
		matches := s.found && !c.noExpect && s.value == c.expect || !s.found && c.noExpect
		if r.known && r.value != strconv.FormatBool(matches) {
			return false, s
		}
		switch {
		case matches && c.noValue:
			return true, state{}
		case matches:
			return true, state{true, c.value}
		}
		return true, s
	case grow:
		return true, state{true, s.value + c.value}
	}
	panic("check: step of an operation without a model")
}

func count(found bool) string {
	if found {
		return "1"
	}
	return "0"
}

// number reads a state as INCR does: missing is 0, and only the canonical spelling of an integer is a number.
func number(s state) (int64, bool) {
	if !s.found {
		return 0, true
	}
	n, err := strconv.ParseInt(s.value, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s.value
}

// placed is an operation of the model with the interval in which it took effect.
type placed struct {
	op     *history.Operation
	call   call
	reply  reply
	from   int64 // event number of the invoke
	to     int64 // event number of the completion, or forever
	simple bool  // its reply shows no more of the state than a read does, and its effect does not depend on the state
}
