package world

// Exit codes of a probing check: of `bloodhound driver probe`, and of the user's scripts.
const (
	ProbeHolds    = 0
	ProbeViolated = 1
	// ProbeNoAnswer is what `bloodhound driver probe` says when nobody answered. Any other code means that the probe
	// itself failed; from a user's script, this one too.
	ProbeNoAnswer = 2
	// ProbeFailed is what `bloodhound driver probe` says when it could not do its work.
	ProbeFailed = 3
	// ProbeHung stands for the exit code of a check that computed without end and was broken off.
	ProbeHung = -1
)
