package explore

// maxUnready bounds the servers that were never ready and are kept of a run.
const maxUnready = 16

// hopeless says why a run without faults shows that no other can show anything, or is empty: no operation succeeded, and a server was
// never ready or a driver failed.
func (s *Summary) hopeless() string {
	switch {
	case s.Operations.Ok > 0 || len(Violated(s.Verdicts)) > 0:
		return ""
	case len(s.NeverReady) > 0:
		return NoServer
	case s.DriverFailed != "":
		return NoDriver
	}
	return ""
}
