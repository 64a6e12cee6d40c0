// Package history holds what the clients of a run did: operations with invoke and return, as judged by checks
// and as stored in files.
package history

// Type of an Event.
type Type string

const (
	Invoke Type = "invoke" // written before the first byte of the request
	Ok     Type = "ok"     // the operation took effect and Output is its result
	Fail   Type = "fail"   // proof that the operation did nothing
	Info   Type = "info"   // unknown: it may take effect now, later or never
	// Broken stands for a write of a driver that is no record; Error says why. It makes a history unjudgeable.
	Broken Type = "broken"
)

// Event is one record of a driver, stamped by the engine.
type Event struct {
	// Number is the engine's event number of the call that wrote the record; it orders a history.
	Number uint64 `json:"number"`
	TimeNs int64  `json:"time_ns"` // virtual
	Client string `json:"client"`
	Type   Type   `json:"type"`
	Op     string `json:"op"` // kind: put, get, delete, incr, ...
	Key    string `json:"key,omitempty"`
	Input  string `json:"input,omitempty"`
	Expect string `json:"expect,omitempty"` // cas: the value that Input may replace
	Output string `json:"output,omitempty"`
	// Found tells an empty value from a missing key in the output of a get.
	Found bool   `json:"found,omitempty"`
	Error string `json:"error,omitempty"`
	Node  string `json:"node,omitempty"` // the server that was asked, where the driver knows it
}

// Operation is an invoke paired with its completion. Return is Pending for info and for what never returned.
type Operation struct {
	Client       string `json:"client"`
	Op           string `json:"op"`
	Key          string `json:"key,omitempty"`
	Input        string `json:"input,omitempty"`
	Expect       string `json:"expect,omitempty"`
	Output       string `json:"output,omitempty"`
	Found        bool   `json:"found,omitempty"`
	Type         Type   `json:"type"` // Ok, Fail or Info
	Error        string `json:"error,omitempty"`
	Node         string `json:"node,omitempty"`
	Call         uint64 `json:"call"`   // event number of the invoke
	Return       uint64 `json:"return"` // event number of the completion
	CallTimeNs   int64  `json:"call_time_ns"`
	ReturnTimeNs int64  `json:"return_time_ns"`
}

// Pending as Operation.Return means: no completion is known, the operation may still take effect.
const Pending = ^uint64(0)
