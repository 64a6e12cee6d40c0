package explore

// maxUnready bounds the servers that were never ready and are kept of a run.
const maxUnready = 16

// hopeless explains why further runs cannot show more than this one without faults: no operation succeeded, and a server was never
// ready or a driver failed. It is empty if they can.
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
