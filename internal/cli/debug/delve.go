package debug

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/debug"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// Delve debugs Go programs forward, and backward where rr (https://rr-project.org) has recorded them: it starts a program named rr with the
// folder of a trace, and reads from its standard error where to connect. `debug --delve` makes such a folder, and a folder with a program
// named rr, which is this one.

// RRName is the name by which delve finds this program.
const RRName = "rr"

// traceArguments is the file of a trace folder: the run that it stands for.
const traceArguments = "bloodhound.json"

// rrTrace is the run of a trace folder.
type rrTrace struct {
	Dir  string   `json:"dir"`  // where the command is executed
	Args []string `json:"args"` // of `bloodhound debug`
}

// RR is the program that delve starts: it has the command line debug the run of a trace folder.
func RR(args []string, out, errs io.Writer, main func([]string, io.Writer, io.Writer) int) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintln(out, "rr version 5.8.0") // whose packets are spoken
		return check.ExitHolds
	}
	folder := ""
	if len(args) > 1 && args[0] == "replay" {
		folder = args[len(args)-1]
	}
	text, err := os.ReadFile(filepath.Join(folder, traceArguments))
	var t rrTrace
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err == nil {
		err = os.Chdir(t.Dir)
	}
	if folder == "" || err != nil {
		fmt.Fprintf(errs, "rr: this is bloodhound, for delve; it replays a folder of `bloodhound debug ID --delve`: %v\n", err)
		return check.ExitUsage
	}
	return main(append([]string{"debug"}, t.Args...), out, errs)
}

// prepareDelve makes the folders that delve wants, and prints how to use them: in a terminal, or in VS Code.
func prepareDelve(a *console.App, c *cobra.Command, f *flags.Set, d *debugged, o *debugOptions, args []string) error {
	if d.only == nil {
		return fmt.Errorf("choose the process to debug with --process NODE or NODE/PID; nodes are %s",
			strings.Join(stored.NodeNames(d.spec), ", "))
	}
	var given []string
	c.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"delve", "launch-json", "process", "listen", "compose"}, flag.Name) {
			given = append(given, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	for _, file := range f.Compose {
		given = append(given, "--compose="+file)
	}
	run := slices.Concat(args, given, []string{"--process", o.process})
	dir, err := os.Getwd()
	if err != nil {
		return console.Failed(err)
	}
	self, err := os.Executable()
	if err != nil {
		return console.Failed(err)
	}
	p, id := d.project, strconv.FormatUint(d.tape.Own(), 10)
	if d.failure != nil {
		id = d.failure.ID
	}
	name := id + "-" + strings.ReplaceAll(o.process, "/", "-")
	state, err := filepath.Abs(p.State)
	if err != nil {
		return console.Failed(err)
	}
	bin, trace := filepath.Join(state, "delve", "bin"), filepath.Join(state, "delve", name)
	text, err := json.MarshalIndent(rrTrace{dir, slices.Concat(run, []string{"--listen", "127.0.0.1:0", "--rr"})}, "", "  ")
	if err != nil {
		return console.Failed(err)
	}
	if err := writeTrace(state, bin, trace, self, append(text, '\n')); err != nil {
		return console.Failed(err)
	}
	if o.launch {
		address, err := listenAddress(o.listen)
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(launchJSON(name, bin, trace, address), "", "  ")
		if err != nil {
			return console.Failed(err)
		}
		fmt.Fprintf(a.Out, "%s\n", text)
		for i := range run {
			run[i] = flags.ShellQuote(run[i])
		}
		a.Note("for C, C++ and Rust, VS Code connects to: bloodhound debug %s --listen %s", strings.Join(run, " "), address)
	} else {
		fmt.Fprintf(a.Out, "to debug process %s forward and backward with delve:\n  PATH=%s:$PATH dlv replay %s\n",
			o.process, flags.ShellQuote(bin), flags.ShellQuote(trace))
	}
	if paranoid, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err == nil {
		if n, _ := strconv.Atoi(strings.TrimSpace(string(paranoid))); n > 1 {
			a.Note("delve does not start while kernel.perf_event_paranoid is above 1, a limit that rr needs and "+
				"Bloodhound does not. It is %d here; run: sudo sysctl kernel.perf_event_paranoid=1", n)
		}
	}
	return nil
}

// writeTrace makes the folder of a trace for delve, and the one in which delve finds this program as rr.
func writeTrace(state, bin, trace, self string, arguments []byte) error {
	for _, folder := range []string{bin, trace} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return report.DiskError(err, state)
		}
	}
	link := filepath.Join(bin, RRName)
	os.Remove(link)
	if err := os.Symlink(self, link); err != nil {
		return report.DiskError(err, state)
	}
	return report.WriteFile(filepath.Join(trace, traceArguments), arguments)
}

// launchJSON is a launch.json of VS Code for one process of a run: for its Go extension, which starts delve, and for Native Debug
// (webfreak.debug), which has gdb connect to an address.
func launchJSON(name, bin, trace, address string) any {
	type object = map[string]any
	return object{"version": "0.2.0", "configurations": []object{
		{"name": "bloodhound " + name + " (Go)", "type": "go", "request": "launch", "mode": "replay", "traceDirPath": trace,
			"stopOnEntry": true, "env": object{"PATH": bin + ":${env:PATH}"}},
		{"name": "bloodhound " + name + " (C, C++, Rust)", "type": "gdb", "request": "attach", "remote": true, "target": address,
			"cwd": "${workspaceFolder}", "stopAtConnect": true, "valuesFormatting": "parseText"},
	}}
}

// launch prints what delve reads of rr: where to connect, and the program.
func launch(errs io.Writer, s *debug.Session, address, scratch string) error {
	program, err := s.Program(scratch)
	if err != nil {
		return fmt.Errorf("the program for delve: %w", err)
	}
	quote := func(text string) string { return "'" + text + "'" }
	if strings.Contains(program, "'") {
		return fmt.Errorf("delve cannot read the path %s, which contains a quote", program)
	}
	fmt.Fprintf(errs, "Launch debugger with\n  'gdb' '-l' '10000' '-ex' 'set sysroot /' '-ex' 'target extended-remote %s' %s\n", address, quote(program))
	return nil
}

// listenAddress completes an address: what has no host is of this machine alone.
func listenAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if host, port, err = net.SplitHostPort(":" + text); err != nil {
			return "", fmt.Errorf("--listen %s: give an address and a port, such as %s", text, defaultListen)
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	address := net.JoinHostPort(host, port)
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return "", fmt.Errorf("--listen %s: %w; give an address of this machine and a port, such as %s", text, err, defaultListen)
	}
	return address, nil
}
