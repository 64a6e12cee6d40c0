package failure

import (
	"regexp"
	"strings"
	"sync"
)

// Until causes had codes, a signature was the property and the reason, without what varies. Failures of that time are in files and databases, and are
// known again: the words that such builds wrote are listed here, with the causes that they stand for. The list is closed. Words that it does not have
// stay the signature of their failure.

// MissingKey and StaleValue are the two forms of one failure: whether a read after a lost write finds no value or an older one is decided by the
// operations before it.
const (
	MissingKey Code = "register/missing"
	StaleValue Code = "register/stale"
)

// Alike reports whether two signatures are of one kind of failure: they are equal, or two forms of one. A run that has changed may show the other form.
func Alike(a, b string) bool { return form(a) == form(b) }

func form(signature string) string {
	return strings.Replace(signature, ": "+string(MissingKey)+" (", ": "+string(StaleValue)+" (", 1)
}

// former is a reason of earlier builds, written as it was or without what varies.
type former struct {
	words *regexp.Regexp
	code  Code
	// fields are texts, what groups of the regular expression match ($1 is the first), and parts, by their names.
	fields []string
}

// was is a reason by a regular expression, in which names stand for a value between quotes, a time, a transaction, and parts.
func was(words string, code Code, fields ...string) former {
	return former{regexp.MustCompile("(?s)^" + formerNames(words) + "$"), code, fields}
}

// wasObject is a reason of earlier builds by which an object was not linearizable, without its beginning.
func wasObject(words string, code Code, fields ...string) former {
	return was("not linearizable: key VALUE: "+words, code, fields...)
}

// formerNames are made with the lists that use them.
func formerNames(words string) string {
	return strings.NewReplacer(
		"VALUE", `(?:"(?:[^"\\]|\\.)*"(?:\.\.\. \(\S+ bytes\))?|nothing)`,
		"TIME", `\S+ s`,
		"TXN", `(?:the transaction of client .* at event \S+|T\d+|#)`,
		"OP", `(\S+)`,
		"SUBJECT", `(?P<SUBJECT>.*?)`, "WITHOUT", `(?P<WITHOUT>.*?)`, "WHEN", `(?P<WHEN>.*?)`, "WHILE", `(?P<WHILE>.*?)`, "SAID", `(?P<SAID>.*)`).Replace(words)
}

// formerParts are parts of reasons: each has its words, in an order, and the fields that they stand for.
var formerParts = sync.OnceValue(func() map[string][]former {
	return map[string][]former{
		"SUBJECT": {
			was(`every (\S+)`, "", "every/$1"),
			was(`job VALUE(?: on \S+)?`, "", "job"),
			was(`(\S+) of key VALUE`, "", "$1/key"),
			was(`key VALUE`, "", "key"),
			was(`(\S+) VALUE`, "", "$1/key"),
			was(`(\S+)`, "", "$1"),
		},
		"WITHOUT": {
			was(``, "", ""),
			was(` without a fault`, "", "calm"),
			was(` without a fault other than (.*)`, "", "calm, $1"),
			was(` while WHILE`, "", "WHILE"),
		},
		"WHEN": {
			was(`the start`, "", "start"),
			was(`(?:a|the) heal`, "", "heal"),
			was(`(?:a|the) moment from which on WHILE`, "", "WHILE"),
		},
		"WHILE": {
			was(`no fault lasted`, "", "calm"),
			was(`no fault lasted, ignoring (.*)`, "", "calm, $1"),
			was(`\S+ of \S+ nodes were up and connected with each other`, "", "connected"),
			was(`\S+ of \S+ nodes were up and connected with each other, ignoring (.*)`, "", "connected, $1"),
		},
		// What a probe says: those that come with Bloodhound begin with the address that they asked.
		"SAID": {
			was(`it says nothing`, "", ""),
			was(`the nodes differ: .*`, "", "differ"),
			was(`the answers? of .* do(?:es)? not match .*`, "", "strange"),
			was(`\S+(?:, \S+)* did not answer(?:; .*)?`, "", "silent"),
			was(`\S+://\S+: status \S+ instead of \S+`, "", "status"),
			was(`\S+://\S+: body VALUE instead of VALUE`, "", "body"),
			was(`\S+://\S+: .* says VALUE instead of VALUE`, "", "reply"),
			was(`\S+://\S+: .* says VALUE`, "", "error"),
			was(`\S+://\S+: .* gives VALUE instead of VALUE`, "", "rows"),
			was(`\S+://\S+: (?i:select|insert|update|delete|show|with|call|explain|begin|set|create)\b[^:]*: (.*)`, "", "refused", "$1"),
			was(`\S+://\S+: .*`, "", "no-answer"),
			was(`(.*)`, "", "$1"),
		},
	}
})

// formers is the list, the special words before the general ones. It is made when the first old failure is read: drivers are this program, too.
var formers = sync.OnceValue(func() []former {
	return []former{
		was(`(?:(\S+) on (\S+): (.*) ended with exit code \S+)`, "program/ended", "$1", "$2", "$3", "exit"),
		was(`(\S+) on (\S+): (.*?) ended with (.*)`, "program/ended", "$1", "$2", "$3", "$4"),
		was(`its condition was false on (\S+) at a place that it does not name`, "assertion/false", "$1", ""),
		was(`it was reached on (\S+) at a place that it does not name`, "assertion/reached", "$1", ""),
		was(`its condition was false on (\S+) at (.*)`, "assertion/false", "$1", "$2"),
		was(`it was reached on (\S+) at (.*)`, "assertion/reached", "$1", "$2"),
		was(`alert (\S+) fires: (.*)`, "alerts/fires", "$1", "$2"),
		was(`(\S+) does not run in the end: its main process ended with exit code .*`, "running/not-up", "$1", "ended"),
		was(`(\S+) does not run in the end: it waits for its dependencies`, "running/not-up", "$1", "waiting"),
		was(`(\S+) does not run in the end: it down`, "running/not-up", "$1", "down"),
		was(`(\S+) does not run in the end: it waits for its restart`, "running/not-up", "$1", "restarting"),
		was(`(\S+) does not run in the end: its healthcheck has not succeeded since its last start`, "running/not-up", "$1", "unhealthy"),

		was(`not linearizable: a (\S+) by client (\S+) found nothing, although the key was there`, MissingKey, "$1", "$2"),
		was(`not linearizable: a (\S+) by client (\S+) returned VALUE, which was no longer the value`, StaleValue, "$1", "$2"),
		was(`not linearizable: a (\S+) by client (\S+) returned VALUE, which only an operation had written that failed`, "register/of-failed-write", "$1", "$2"),
		was(`not linearizable: a (\S+) by client (\S+) returned VALUE, which nobody had written`, "register/never-written", "$1", "$2"),
		was(`not linearizable: no order of the operations explains a (\S+) by client (\S+) -> nothing`, "register/no-order", "$1", "$2", "nothing"),
		was(`not linearizable: no order of the operations explains a (\S+) by client (\S+) -> VALUE`, "register/no-order", "$1", "$2", "value"),
		was(`not linearizable: no order of the operations explains a (\S+) by client (\S+)`, "register/no-order", "$1", "$2", "none"),
		wasObject(`no order of the operations explains all their results`, "object/no-order"),
		wasObject(`no order of the operations explains OP( VALUE)? -> nothing`, "object/no-order", "$1", "nothing"),
		wasObject(`no order of the operations explains OP( VALUE)? -> VALUE`, "object/no-order", "$1", "value"),
		wasObject(`no order of the operations explains OP( VALUE)?`, "object/no-order", "$1", "none"),
		wasObject(`OP( VALUE)?(?: -> VALUE)? and OP( VALUE)?(?: -> VALUE)? cannot both be right: neither can come before the other`,
			"set/contradiction", "$1", "$3"),
		wasObject(`OP( VALUE)?(?: -> VALUE)? holds VALUE twice, which was put in once`, "list/twice", "$1"),
		wasObject(`OP( VALUE)?(?: -> VALUE)? holds VALUE twice`, "set/twice", "$1"),
		wasObject(`OP( VALUE)?(?: -> VALUE)? holds VALUE, which nobody had put in`, "object/never-put-in", "$1"),
		wasObject(`OP( VALUE)?(?: -> VALUE)?: nobody had put that in`, "object/never-put-in", "$1"),
		wasObject(`OP( VALUE)?(?: -> VALUE)? returned before OP( VALUE)?(?: -> VALUE)? began, but what was seen puts it behind`, "object/behind", "$1", "$3"),
		wasObject(`VALUE was taken twice and put in once`, "queue/taken-twice"),
		wasObject(`the queue was found empty, although something was in it all the time`, "queue/empty"),
		wasObject(`VALUE was taken before it was put in`, "queue/taken-early"),
		wasObject(`VALUE was taken, but VALUE, which was put in before it, was not`, "queue/passed-over"),
		wasObject(`VALUE was taken before VALUE, which was put in before it`, "queue/overtaken"),
		wasObject(`VALUE acquired the lock twice and did not release it between`, "lock/acquired-twice"),
		wasObject(`VALUE could not release the lock, although it held it`, "lock/not-released"),
		wasObject(`VALUE released the lock, although it did not hold it`, "lock/released-unheld"),
		wasObject(`VALUE was refused the lock, although nobody held it`, "lock/refused"),
		wasObject(`VALUE and VALUE held the lock at once`, "lock/held-twice"),
		wasObject(`two changes made the counter \S+`, "counter/same-number"),
		wasObject(`the counter was never \S+`, "counter/impossible-number"),
		wasObject(`OP( VALUE)?(?: -> VALUE)? had returned before OP( VALUE)?(?: -> VALUE)? was called`, "counter/too-late", "$1", "$3"),
		wasObject(`no change had made the counter \S+ by then`, "counter/unaccounted"),

		was(`key VALUE went back from \S+ to nothing`, "monotonic/went-back", "missing"),
		was(`key VALUE went back from \S+ to \S+`, "monotonic/went-back", "less"),
		was(`key VALUE: VALUE was acknowledged \S+ times and is there \S+ times at the end`, "durability/too-few"),
		was(`key VALUE: VALUE was acknowledged and is not there at the end`, "durability/gone"),
		was(`key VALUE: the removal of VALUE was acknowledged, and it is there at the end`, "durability/not-removed"),
		was(`key VALUE: no order of its acknowledged changes makes VALUE, which a read at the end returned`, "durability/unmade"),
		was(`key VALUE: (\S+)(?: VALUE)? was acknowledged, and a read at the end returned nothing`, "durability/vanished", "$1"),
		was(`key VALUE: (\S+)(?: VALUE)? was acknowledged, and a read at the end returned VALUE`, "durability/overwritten", "$1"),

		was(`step \S+, (\w+)\(.*\), is not one of the model: (.*) is false \((\S+), line \S+, column \S+\)`, "model/step", "$1", "$2", "$3"),
		was(`step \S+, (\w+)(?:\(.*\))?, is not one of the model: (\w+)\(.*\) is .* after it, and the system shows .*`, "model/state", "$1", "$2"),
		was(`step \S+, (\w+)\(.*\), is not one of the model`, "model/step", "$1"),
		was(`the check failed: step \S+, (\w+)\(.*\), is not one of the model: (.*) is false \((\S+), line \S+, column \S+\)`, "probe/failed", "model/step", "$1", "$2", "$3"),
		was(`the check failed: step \S+, (\w+)(?:\(.*\))?, is not one of the model: (\w+)\(.*\) is .* after it, and the system shows .*`,
			"probe/failed", "model/state", "$1", "$2"),
		was(`the check failed: step \S+, (\w+)\(.*\), is not one of the model`, "probe/failed", "model/step", "$1"),
		was(`(?:at event \S+, TIME: )?the expression is false: (.*)`, "expression/false", "$1"),
		was(`(?:at event \S+, TIME: )?the expression finds \S+: (.*)`, "expression/finds", "$1"),

		was(`account .* has no balance`, "bank/no-balance"),
		was(`a read has accounts .*, and the first one had .*`, "bank/accounts"),
		was(`the balances add up to \S+, not to \S+`, "bank/sum"),
		was(`account .* is \S+, below zero`, "bank/below-zero"),
		was(`long fork: two reads of keys .* each saw a write that the other one did not see`, "long-fork/fork"),
		was(`a transaction read key VALUE twice and saw two values`, "long-fork/two-values"),
		was(`a read has element .* twice`, "set-full/twice"),
		was(`a read has element .*, which nobody had added.*`, "set-full/not-added"),
		was(`element .* was there and is lost: the last reads do not have it.*`, "set-full/lost"),
		was(`a read has .*, but not .*, whose write had returned before`, "comments/lost"),
		was(`a read has a subkey, and not one that was written before it`, "sequential/lost"),

		was(`internal: TXN read .* of key VALUE, which does not end with its own .*`, "isolation/internal", "not-at-end"),
		was(`internal: TXN read its own VALUE in key VALUE at a different position from where it appended it`, "isolation/internal", "elsewhere"),
		was(`internal: TXN read VALUE in key VALUE after it had written VALUE`, "isolation/internal", "other-value"),
		was(`internal: TXN read its own VALUE in key VALUE before it wrote it`, "isolation/internal", "too-early"),
		was(`(?:G1a|#): TXN read VALUE in key VALUE, which nobody had (?:appended|written)`, "isolation/G1a-unwritten"),
		was(`(?:G1a|#): TXN read VALUE in key VALUE, which TXN had (?:appended|written), and that failed`, "isolation/G1a-aborted"),
		was(`(?:G1b|#): TXN read key VALUE up to VALUE, in the middle of the appends of TXN`, "isolation/G1b"),
		was(`(?:G1b|#): TXN read VALUE in key VALUE, which TXN had overwritten itself`, "isolation/G1b"),
		was(`incompatible order: TXN read .* of key VALUE, and TXN read .*: no order of the appends explains both`, "isolation/incompatible-order", "diverging"),
		was(`incompatible order: TXN read VALUE twice in key VALUE, where it was appended once`, "isolation/incompatible-order", "twice"),
		was(`incompatible order: TXN read the appends of TXN to key VALUE out of order, or only some of them`, "isolation/incompatible-order", "unordered"),
		was(`G-single: no order of the appends that nobody read gives each transaction a snapshot`, "isolation/no-order", "snapshot-isolation"),
		was(`G-single: TXN read key VALUE twice and saw two values`, "isolation/two-values"),
		was(`(\S+): no order of the \S+ transactions explains what they read`, "isolation/no-order", "$1"),
		was(`a cycle in time: \S+ transactions each come before the next one, in a cycle`, "isolation/cycle", "time"),
		was(`(\S+): \S+ transactions each come before the next one, in a cycle`, "isolation/cycle", "$1"),

		was(`(\S+|a cycle in time): TXN appended VALUE to key VALUE, and TXN appended VALUE behind it`, "isolation/self-cycle", "$1", "ww"),
		was(`(\S+|a cycle in time): TXN appended VALUE to key VALUE, and TXN read it`, "isolation/self-cycle", "$1", "wr"),
		was(`(\S+|a cycle in time): TXN read key VALUE with \S+ elements, and TXN appended (?:VALUE|a value that nobody read) behind them`,
			"isolation/self-cycle", "$1", "rw"),
		was(`(\S+|a cycle in time): TXN wrote key VALUE, and TXN read that`, "isolation/self-cycle", "$1", "wr"),
		was(`(\S+|a cycle in time): TXN read key VALUE before TXN wrote it`, "isolation/self-cycle", "$1", "rw"),
		was(`(\S+|a cycle in time): TXN wrote key VALUE, but TXN, which must have seen that, found nothing there`, "isolation/self-cycle", "$1", "implied"),
		was(`(\S+|a cycle in time): TXN wrote key VALUE before TXN did, since TXN must have seen the first and read the second`,
			"isolation/self-cycle", "$1", "implied"),
		was(`(\S+|a cycle in time): TXN wrote key VALUE before TXN did`, "isolation/self-cycle", "$1", "ww"),

		was(`SUBJECT failed \S+ times in a rowWITHOUT, from TIME on`, "progress/fails", "SUBJECT", "WITHOUT"),
		was(`SUBJECT was under way for TIMEWITHOUT, from TIME on`, "progress/hangs", "SUBJECT", "WITHOUT"),
		was(`SUBJECT did not succeed within TIME after WHEN at TIME: its last run failed before that, and there was no other one`,
			"recovery/not-again", "SUBJECT", "WHEN"),
		was(`SUBJECT did not succeed within TIME after WHEN at TIME`, "recovery/fails", "SUBJECT", "WHEN"),

		was(`the check failed: SAID`, "probe/failed", "SAID"),
		was(`not within TIME after WHEN: SAID`, "probe/late", "WHEN", "SAID"),
		was(`did not hold for TIME although WHILE: SAID`, "liveness/failed-meanwhile", "WHILE", "SAID"),
	}
})

// stands gives the fields that words stand for; false if these are others.
func (f *former) stands(words string) (fields []string, ok bool) {
	at := f.words.FindStringSubmatchIndex(words)
	if at == nil {
		return nil, false
	}
	for _, field := range f.fields {
		parts, isPart := formerParts()[field]
		if !isPart {
			fields = append(fields, string(f.words.ExpandString(nil, field, words, at)))
			continue
		}
		k := f.words.SubexpIndex(field)
		list, ok := partOf(parts, words[at[2*k]:at[2*k+1]])
		if !ok {
			return nil, false
		}
		fields = append(fields, list...)
	}
	return fields, true
}

func partOf(parts []former, words string) ([]string, bool) {
	for i := range parts {
		if list, ok := parts[i].stands(words); ok {
			return list, true
		}
	}
	return nil, false
}

// FormerCause is the cause of a violation that an earlier build put into these words; false if the list does not have them.
func FormerCause(reason string) (c Cause, ok bool) {
	list := formers()
	for i := range list {
		f := &list[i]
		if fields, ok := f.stands(reason); ok {
			c = Cause{Code: f.code}
			for _, field := range fields {
				c.Fields = append(c.Fields, normalise(field))
			}
			return c, true
		}
	}
	return Cause{}, false
}

// present matches a code and its fields, which follow the property in today's signatures.
var present = regexp.MustCompile(`(?s)^[a-z-]+/[A-Za-z0-9-]+(?: \(.*)?$`)

// Former is the signature of a failure that a build gave this reason and, if it is known, this signature. If an earlier build has written it in words
// that the list does not have, it stays as it was.
func Former(property, reason, signature string) string {
	if words, ok := strings.CutPrefix(signature, property+": "); ok && present.MatchString(words) {
		return signature
	}
	if c, ok := FormerCause(reason); ok && reason != "" {
		return Signature(property, c)
	}
	if signature == "" {
		s := property + ": " + normalise(reason)
		signature = s[:min(len(s), MaxSignatureBytes)]
	}
	words, ok := strings.CutPrefix(signature, property+": ")
	if !ok || len(signature) >= MaxSignatureBytes { // it may have been cut short
		return signature
	}
	if c, ok := FormerCause(words); ok {
		return Signature(property, c)
	}
	return signature
}
