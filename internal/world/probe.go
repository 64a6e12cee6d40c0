package world

// Exit codes of a probing check: what Bloodhound's own probes find, and those of the user's scripts.
const (
	ProbeHolds    = 0
	ProbeViolated = 1
	// ProbeNoAnswer is what a probe of Bloodhound's says when no node answered. Any other code means that the probe
	// itself failed; from a user's script, this one too.
	ProbeNoAnswer = 2
	// ProbeLater is what a user's script says when it could not get an answer now (EX_TEMPFAIL of sysexits.h).
	ProbeLater = 75
	// ProbeFailed is what a probe of Bloodhound's says when it could not do its work.
	ProbeFailed = 3
	// ProbeNotExecuted and ProbeNotFound are what shells answer for a script that cannot be executed (POSIX.1-2017, XCU 2.8.2). The
	// first one also stands for a probe of Bloodhound's that came to no end: it proves nothing about the world.
	ProbeNotExecuted = 126
	ProbeNotFound    = 127
	// ProbeHung stands for the exit code of a check that computed without end and was broken off.
	ProbeHung = -1
)

// ProbeOrder is what a world's prober reads, as a line of JSON: a check to perform.
type ProbeOrder struct {
	ID    int64 `json:"id"`
	Check Check `json:"check"`
}

// DriverOrder is what a driver that comes with Bloodhound reads before it begins, as a line of JSON.
type DriverOrder struct {
	Skip     []Skip      `json:"skip,omitempty"`     // that of its Workload
	Schedule []Scheduled `json:"schedule,omitempty"` // that of its Workload
}

// ProbeAnswer is what it answers, in one write.
type ProbeAnswer struct {
	ID   int64  `json:"id"`
	Code int    `json:"code"` // an exit code
	Text string `json:"text"` // says why; of an agreement, several lines
	// Scrapes are what an alerts check found, in the order of its targets.
	Scrapes []Scraped `json:"scrapes,omitempty"`
}
