// Package history records what the clients of a system did: operations, each with its invocation and its return.
//
// A file of history has one record of JSON a line, in the order in which they were written. A client writes an invoke before it sends a request, and one
// completion when it knows the result: ok, fail (proof that nothing was done), or info (unknown).
//
//	{"client":"a","type":"invoke","op":"put","key":"x","input":"1"}
//	{"client":"a","type":"ok","op":"put","key":"x"}
//
// [Read] reads such a file, [Pair] makes operations of its events, and package check judges them. docs/reference/workloads.md describes the records that
// drivers write.
package history

// Type of an Event.
type Type string

const (
	Invoke Type = "invoke" // written before the first byte of the request is sent
	Ok     Type = "ok"     // the operation took effect and Output is its result
	Fail   Type = "fail"   // proof that the operation did nothing
	Info   Type = "info"   // unknown: it may take effect now, later or never
	// Marks: where a driver is. They are no operations: Stamp gives them, and Read leaves them out.
	Ready Type = "ready" // the driver is ready for faults
	Done  Type = "done"  // its operations are over
	Check Type = "check" // it begins to read back what the system has
	// Broken stands for bytes of a driver that are no record; Error says why. A history with a Broken event cannot be judged.
	Broken Type = "broken"
)

// IsMark reports whether records of a type say where a driver is, and are about no operation.
func (t Type) IsMark() bool { return t == Ready || t == Done || t == Check }

// Event is one record of a client.
type Event struct {
	// Number orders a history. In a run of Bloodhound it is the number of the system call that wrote the record.
	Number uint64 `json:"number"`
	TimeNs int64  `json:"time_ns"` // virtual
	Client string `json:"client"`
	Type   Type   `json:"type"`
	Op     string `json:"op"` // kind: put, get, delete, incr, ...
	Key    string `json:"key,omitempty"`
	Input  string `json:"input,omitempty"`
	Expect string `json:"expect,omitempty"` // cas: the value that Input may replace
	Output string `json:"output,omitempty"`
	// Found distinguishes an empty value from a missing key in the output of a get.
	Found bool `json:"found,omitempty"`
	// Group is the subscription or consumer group of a client that receives messages.
	Group string `json:"group,omitempty"`
	// NoInput and NoExpect distinguish null from an empty text: a write of null leaves the key without a value, and a cas that expects
	// null replaces nothing but a missing value.
	NoInput  bool   `json:"no_input,omitempty"`
	NoExpect bool   `json:"no_expect,omitempty"`
	Error    string `json:"error,omitempty"`
	Node     string `json:"node,omitempty"` // the server that got the request, if the client knows it
}

// Operation is an invoke paired with its completion. Return is Pending if the completion is info or missing.
type Operation struct {
	Client       string `json:"client"`
	Op           string `json:"op"`
	Key          string `json:"key,omitempty"`
	Input        string `json:"input,omitempty"`
	Expect       string `json:"expect,omitempty"`
	Output       string `json:"output,omitempty"`
	Found        bool   `json:"found,omitempty"`
	Group        string `json:"group,omitempty"` // of a receiver: its subscription or consumer group
	NoInput      bool   `json:"no_input,omitempty"`
	NoExpect     bool   `json:"no_expect,omitempty"`
	Type         Type   `json:"type"` // Ok, Fail or Info
	Error        string `json:"error,omitempty"`
	Node         string `json:"node,omitempty"`
	Call         uint64 `json:"call"`   // event number of the invoke
	Return       uint64 `json:"return"` // event number of the completion
	CallTimeNs   int64  `json:"call_time_ns"`
	ReturnTimeNs int64  `json:"return_time_ns"`
}

// Pending as Operation.Return means that no completion is known: the operation may still take effect.
const Pending = ^uint64(0)
