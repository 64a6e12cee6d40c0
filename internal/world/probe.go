package world

// Exit codes of a probing check: what Bloodhound's own probes find, and those of the user's scripts.
const (
	ProbeHolds    = 0
	ProbeViolated = 1
	// ProbeNoAnswer says that no node answered a probe of Bloodhound's. Any other code means that the probe itself
	// failed; from a user's script, this one too.
	ProbeNoAnswer = 2
	// ProbeLater says that a user's script could not get an answer now (EX_TEMPFAIL of sysexits.h).
	ProbeLater = 75
	// ProbeFailed says that a probe of Bloodhound's could not do its work.
	ProbeFailed = 3
	// ProbeNotExecuted and ProbeNotFound are the answers of shells for a script that cannot be executed (POSIX.1-2017,
	// XCU 2.8.2). The first one also stands for a probe of Bloodhound's that came to no end: it proves nothing about
	// the world.
	ProbeNotExecuted = 126
	ProbeNotFound    = 127
	// ProbeHung stands for the exit code of a check that computed without end and was broken off.
	ProbeHung = -1
)

// ProbeOrder asks a world's prober to perform a check. It is one line of JSON.
type ProbeOrder struct {
	ID    int64 `json:"id"`
	Check Check `json:"check"`
}

// DriverOrder tells a driver that comes with Bloodhound which operations of its Workload to leave out and to schedule.
// The driver reads it before it begins, as one line of JSON.
type DriverOrder struct {
	Skip     []Skip      `json:"skip,omitempty"`     // that of its Workload
	Schedule []Scheduled `json:"schedule,omitempty"` // that of its Workload
}

// ProbeAnswer returns the result of a ProbeOrder, in one write.
type ProbeAnswer struct {
	ID   int64  `json:"id"`
	Code int    `json:"code"` // an exit code
	Text string `json:"text"` // says why; of an agreement, several lines
	// Scrapes holds the findings of an alerts check, in the order of its targets.
	Scrapes []Scraped `json:"scrapes,omitempty"`
}
