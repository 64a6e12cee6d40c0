package fleet

import (
	"net/http"
	"testing"
)

// The dashboard of the command line slows down guesses, and waits for nobody without a bound.
func TestDashboardIsGuarded(t *testing.T) {
	guard, err := (&dashboardFlags{}).guard()
	if err != nil || guard.Guesses == nil {
		t.Errorf("guesses of the token are not slowed down: %v", err)
	}
	s := serverOf(t.Context(), http.NotFoundHandler())
	if s.ReadHeaderTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("a client holds a connection: %+v", s)
	}
}
