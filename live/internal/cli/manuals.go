package cli

import (
	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

var (
	wrongUsage = program.Exit{Code: exitcode.Usage, When: "the command or the configuration is wrong"}
	noFinding  = program.Exit{Code: exitcode.Holds, When: "no finding"}
)

// manuals document the commands, by their path.
var manuals = map[string]program.Manual{
	"": {Examples: []string{"bloodhound live --config live.yaml --once"}, Exits: []program.Exit{
		{Code: exitcode.Holds, When: "the last checkpoints show no finding"},
		{Code: exitcode.Violated, When: "the last checkpoints show a finding"},
		wrongUsage,
	}},
	"build": {Examples: []string{"bloodhound live build ./cmd/server -o server"}},
	"federate": {Examples: []string{"bloodhound live federate --config federation.yaml"}, Exits: []program.Exit{
		{Code: exitcode.Holds, When: "a signal ended it"},
		{Code: exitcode.Usage, When: "the configuration is wrong"},
	}},
	"federate audit": {Examples: []string{"bloodhound live federate audit answers.log --of transit"}, Exits: []program.Exit{
		{Code: exitcode.Holds, When: "the log is intact"},
		{Code: exitcode.Usage, When: "the log was changed, or the configuration is wrong"},
	}},
	"federate check": {Examples: []string{"bloodhound live federate check --from transit --prefix 192.0.2.0/24 --path '65001 65002'"}, Exits: []program.Exit{
		{Code: exitcode.Holds, When: "no finding, and all messages were followed"},
		{Code: exitcode.Violated, When: "a finding"},
		wrongUsage,
		{Code: exitcode.Unknown, When: "no finding, but some messages were not followed"},
	}},
	"federate key": {Examples: []string{"bloodhound live federate key domain.key"}},
	"federate origin": {Examples: []string{"bloodhound live federate origin --prefix 192.0.2.0/24 --asn 65001"}, Exits: []program.Exit{
		{Code: exitcode.Holds, When: "all peers answered"},
		{Code: exitcode.Usage, When: "the configuration is wrong, or a domain does not answer"},
	}},
	"test": {Examples: []string{"bloodhound live test ./internal/parser --run TestParse"}, Exits: []program.Exit{
		noFinding,
		{Code: exitcode.Violated, When: "a check does not hold, a handler panics, or another test of the package fails"},
		{Code: exitcode.Usage, When: "the package cannot be built or explored"},
	}},
	"try": {Examples: []string{"bloodhound live try --change new.conf n1"}, Exits: []program.Exit{
		{Code: exitcode.Holds, When: "the change brings no finding"},
		{Code: exitcode.Violated, When: "the change brings a finding, or a copy refuses it"},
		wrongUsage,
	}},
}
