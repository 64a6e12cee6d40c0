package httpfault_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/httpcount"
	"github.com/bloodhound-dst/bloodhound/sdk/httpfault"
)

// charge is a program that pays by a service whose contract has the statuses 200 and 503. Where naive, it takes every other status for a payment.
func charge(client *http.Client, url, order string, naive bool) (paid bool) {
	answer, err := client.Post(url+"/charges", "text/plain", strings.NewReader(order))
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var receipt struct{ Paid bool }
	err = json.NewDecoder(answer.Body).Decode(&receipt)
	switch {
	case answer.StatusCode == http.StatusOK:
		return err == nil && receipt.Paid
	case answer.StatusCode == http.StatusServiceUnavailable:
		return false
	}
	return naive
}

// production serves calls of the program by a real server that gives each answer of its contract, and breaches, and returns what is counted of them.
func production(t *testing.T, calls int, breaches map[int]func(http.ResponseWriter)) []byte {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		if breach := breaches[n]; breach != nil {
			breach(w)
			return
		}
		io.WriteString(w, `{"paid": true}`)
	}))
	defer server.Close()
	counter := httpcount.New(httpcount.Operation{Name: "charge", Pattern: "POST /charges", Statuses: []int{200, 503}, JSON: true},
		httpcount.Operation{Name: "refund", Pattern: "POST /refunds", Statuses: []int{200}})
	client := &http.Client{Transport: counter.Transport(nil)}
	for range calls {
		charge(client, server.URL, "ann", true)
	}
	exported := httptest.NewServer(counter)
	defer exported.Close()
	answer, err := http.Get(exported.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	counts, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// rare is one of each: a lost call, a documented failure, an undocumented status, a body that is cut, and one that is no JSON.
var rare = map[int]func(http.ResponseWriter){
	10: func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	20: func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
	30: func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) },
	40: func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"paid"`)
	},
	50: func(w http.ResponseWriter) { io.WriteString(w, "<html>") },
}

var kinds = []string{"pay_charge_503_after", "pay_charge_503_before", "pay_charge_after", "pay_charge_before",
	"pay_charge_breach_200_after", "pay_charge_breach_200_before",
	"pay_charge_breach_418_after", "pay_charge_breach_418_before", "pay_charge_cut"}

// What a real server breached in production, rarely, happens in a test, and finds the program that fails on it. One that does not
// fail on it holds, and meets all kinds.
func TestProductionsBreachesArePlayed(t *testing.T) {
	counts := production(t, 500, rare)
	routes, err := httpfault.Observed(bytes.NewReader(counts), httpfault.Route{Pattern: "POST /charges", Operation: "charge"})
	if err != nil {
		t.Fatal(err)
	}
	for _, naive := range []bool{true, false} {
		t.Run(fmt.Sprintf("naive=%v", naive), func(t *testing.T) {
			t.Chdir(t.TempDir()) // where the failure is stored
			text, ok := sdk.Campaign{Runs: 100}.Search(t, func(r *sdk.Run) {
				charged := map[string]bool{}
				service := direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					order, err := io.ReadAll(r.Body)
					if err != nil {
						http.Error(w, err.Error(), http.StatusBadRequest)
						return
					}
					charged[string(order)] = true
					io.WriteString(w, `{"paid": true}`)
				})}
				client := &http.Client{Transport: httpfault.Transport(service, "pay", r, routes...)}
				for _, order := range []string{"ann", "bob"} {
					if charge(client, "http://pay", order, naive) && !charged[order] {
						r.Errorf("%s is taken for paid, and is not charged", order)
					}
				}
				r.Quiet()
			})
			if naive {
				if ok || !strings.Contains(text, "fault pay_charge_breach_418_before at call ") || !strings.Contains(text, " to 1\n") {
					t.Errorf("the failure reads:\n%s", text)
				}
				return
			}
			var got []string
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "pay_") {
					got = append(got, strings.Fields(line)[0])
				}
			}
			if !ok || !slices.Equal(got, kinds) {
				t.Errorf("the program that is right: %s\nkinds %q", text, got)
			}
		})
	}
}

// Rates give each kind its share of the calls, with a lower bound; what production has not seen does not happen.
func TestObserved(t *testing.T) {
	counts := `{"operations": {"charge": {"calls": 1000, "lost": 200, "failures": {"503": 1, "429": 0}, "breaches": {"codes": {"418": 200}, "cut": 200, "unparsable": {"200": 2}}}}}`
	routes, err := httpfault.Observed(strings.NewReader(counts),
		httpfault.Route{Pattern: "POST /charges", Operation: "charge", Rates: sdk.Rates{Slow: 0.1}, Answers: []httpfault.Answer{
			{Status: 429}, {Status: 503, Body: "later"}}})
	if err != nil || len(routes) != 1 {
		t.Fatalf("%v, %v", routes, err)
	}
	r := routes[0]
	want := []string{"429 \"\" 0 0 false", "503 \"later\" 0.05 0.05 false", "418 \"\" 0.1 0.1 true", "200 \"<html>\" 0.05 0.05 true"}
	left := 1.0 // of the calls
	share := func(rate float64) float64 {
		s := rate * left
		left -= s
		return math.Round(s*1e6) / 1e6
	}
	before, after := share(r.Before), share(r.After)
	var got []string
	for _, a := range r.Answers {
		got = append(got, fmt.Sprintf("%d %q %v %v %v", a.Status, a.Body, share(a.Before), share(a.After), a.Breach))
	}
	if cut := share(r.CutBody); before != 0.1 || after != 0.1 || r.Slow != 0.1 || cut != 0.2 || !slices.Equal(got, want) {
		t.Errorf("the shares are %v, %v, %v, and the answers\n%s", before, after, cut, strings.Join(got, "\n"))
	}
}

// Of a service with many codes, each happens, in as many runs as the failure of too few names.
func TestManyCodes(t *testing.T) {
	var failures []string
	for code := range 30 {
		failures = append(failures, fmt.Sprintf(`"%d": 1`, 400+code))
	}
	routes, err := httpfault.Observed(strings.NewReader(`{"operations": {"charge": {"calls": 100, "failures": {`+
		strings.Join(failures, ",")+`}}}}`), httpfault.Route{Pattern: "/", Operation: "charge"})
	if err != nil {
		t.Fatal(err)
	}
	play := func(runs int) (string, bool) {
		return sdk.Campaign{Runs: runs}.Search(t, func(r *sdk.Run) {
			client := &http.Client{Transport: httpfault.Transport(direct{http.NotFoundHandler()}, "pay", r, routes...)}
			for range 3 {
				if answer, err := client.Get("http://pay/"); err == nil {
					answer.Body.Close()
				}
			}
		})
	}
	text, ok := play(50)
	_, after, found := strings.Cut(text, "play more runs, such as sdk.Campaign{Runs: ")
	if ok || !found {
		t.Fatalf("50 runs meet 60 kinds: %s", text)
	}
	number, _, _ := strings.Cut(after, "}")
	enough, err := strconv.Atoi(number)
	if err != nil || enough > 400 {
		t.Fatalf("%d runs are asked for, %v", enough, err)
	}
	if text, ok := play(enough); !ok {
		t.Errorf("%d runs are too few: %s", enough, text)
	}
}

// Counts that do not fit the routes are errors with a remedy.
func TestObservedRefuses(t *testing.T) {
	const counts = `{"operations": {"charge": {"calls": 9, "failures": {"503": 1}, "breaches": {"codes": {"418": 1}}}, "odd": {"calls": 9, "breaches": {"codes": {"101": 1}}}, "refund": {"calls": 0}}}`
	for _, c := range []struct {
		counts string
		route  httpfault.Route
		want   string
	}{
		{counts, httpfault.Route{Operation: "list"}, `counted no operation "list", only charge, odd, refund: correct the name`},
		{counts, httpfault.Route{Operation: "refund"}, "no call of refund, so there are no rates: count for longer"},
		{counts, httpfault.Route{Operation: "odd"}, "odd: production counted the status 101, which no test can play: remove it"},
		{counts, httpfault.Route{Operation: "charge", Answers: []httpfault.Answer{{Status: 418}}},
			"charge: the answer 418 is documented in the test and a breach in production: give both"},
		{counts, httpfault.Route{Operation: "charge", Answers: []httpfault.Answer{{Status: 503, Breach: true}}},
			"503 is a breach in the test and documented in production: give both"},
		{counts, httpfault.Route{Operation: "charge", Answers: []httpfault.Answer{{Status: 503}, {Status: 503}}},
			"two answers 503, the numbers 1 and 2, and production only counts codes: leave one"},
		{counts, httpfault.Route{Operation: "charge", Rates: sdk.Rates{Before: 1.5}},
			"httpfault: charge: the test sets Before to 1.5, but the counts decide it: leave it 0, or change"},
		{counts, httpfault.Route{Operation: "charge", Rates: sdk.Rates{After: 0.3}}, "the test sets After to 0.3, but"},
		{counts, httpfault.Route{Operation: "charge", CutBody: 0.3}, "the test sets CutBody to 0.3, but"},
		{counts, httpfault.Route{Operation: "charge", Answers: []httpfault.Answer{{Status: 429, Before: 0.3}}},
			"the test sets Before of the answer 429 to 0.3, but"},
		{`{"operations": {"charge": {"calls": 40}}}`, httpfault.Route{Operation: "charge"},
			"httpfault: production saw nothing go wrong with charge, so there is nothing to play: count for longer"},
		{`{"operations": {"charge": {"calls": 40, "failures": {"200": 1}}}}`, httpfault.Route{Operation: "charge"},
			"charge: production counted the status 200 as a failure, but failures start at 400: store"},
		{`{"operations": {"charge": {"calls": 40, "breaches": {"unparsable": {"503": 1}}}}}`,
			httpfault.Route{Operation: "charge"}, "an invalid JSON body with the status 503, but only successful"},
		{counts[:50], httpfault.Route{Operation: "charge"}, "cut off at byte 50; store the JSON that a Counter serves"},
	} {
		if routes, err := httpfault.Observed(strings.NewReader(c.counts), c.route); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v", c.route, routes, err)
		}
	}
	// A service that is well may have faults that counts do not show.
	well := `{"operations": {"charge": {"calls": 40}}}`
	if routes, err := httpfault.Observed(strings.NewReader(well),
		httpfault.Route{Operation: "charge", Rates: sdk.Rates{Twice: 0.1}}); err != nil || len(routes) != 1 || routes[0].Twice != 0.1 {
		t.Errorf("%v, %v", routes, err)
	}
}
