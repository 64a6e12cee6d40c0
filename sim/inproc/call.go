package inproc

// call is the kind of an event.
type call uint8

// The calls of programs, which rules of faults may name, and then what the engine itself reports.
const (
	callSend call = iota + 1
	callReceive
	callSleep
	callSpawn
	callRead
	callWrite
	callFsync
	callRename
	callUnlink
	callOperation
	callReturn
	callTurn
	callTick
	callStart
	callExit
	callPhase
	callFault
	callHeal
	callDeliver
	callPanic
	callSwitch

	firstEngine = callTick
)

var callNames = []string{"", "send", "receive", "sleep", "spawn", "read", "write", "fsync", "rename", "unlink", "operation", "return", "turn",
	"tick", "start", "exit", "phase", "fault", "end", "deliver", "panic", "switch"}
