package world

// Files that an engine serves on every node, and the lines that programs of a world write to ControlPath, one a write.
const (
	ControlPath = "/dev/bloodhound/control"
	// MishapPath is where programs with package sdk ask for draws. They write a line, and read the answer.
	MishapPath = "/dev/bloodhound/mishap"
	// QuietLine and a number of seconds ask for a time without faults; overlapping requests become one.
	QuietLine = "quiet "
	// FaultsOffLine keeps faults off until the driver that wrote it writes FaultsOnLine, or ends.
	FaultsOffLine = "faults off"
	FaultsOnLine  = "faults on"
	// CheckLine tells a driver that Announces, on its standard input, that the world has settled.
	CheckLine = "check"
)
