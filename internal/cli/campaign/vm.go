package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func vmVerb(a *console.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "vm",
		Short: "Control a virtual machine that runs in real time: pause it, inject faults",
		Long: "Control a system that `bloodhound run --engine vm --async-vm` runs in real time. Such a run happens " +
			"once and cannot be replayed.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		vmOrder(a, "status", "Print the phase, the nodes and the faults of the running system", vm.AskStatus),
		vmOrder(a, "pause", "Pause the running system", vm.Pause),
		vmOrder(a, "resume", "Resume the paused system", vm.Resume),
		vmFaultVerb(a))
	return c
}

// vmFlags are those of each order.
type vmFlags struct {
	dir  string
	json bool
}

func (f *vmFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "project", ".", "`folder` of the running project")
	flags.AddSwitch(c, &f.json, "json", "print one JSON document and nothing else")
}

func vmOrder(a *console.App, name, short, order string) *cobra.Command {
	f := &vmFlags{}
	c := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return sendOrder(a, f, vm.Request{Do: order}) }}
	f.flags(c)
	return c
}

func vmFaultVerb(a *console.App) *cobra.Command {
	f := &vmFlags{}
	c := &cobra.Command{Use: "fault RULE", Short: "Inject a fault now",
		Long: `Inject a fault now. Write the rule as in faults.rules, without a moment:

  bloodhound vm fault crash on n1 for 2s
  bloodhound vm fault partition on n1-n2 one way for 500ms
`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return sendOrder(a, f, vm.Request{Do: vm.Inject, Fault: strings.Join(args, " ")})
		}}
	f.flags(c)
	return c
}

func sendOrder(a *console.App, f *vmFlags, r vm.Request) error {
	s, err := vm.Ask(filepath.Join(project.StateFolder(f.dir), vm.SocketName), r)
	if err != nil {
		return err
	}
	if f.json {
		return a.PrintJSON(s)
	}
	state := "runs"
	if s.Paused {
		state = "is paused"
	}
	fmt.Fprintf(a.Out, "world %s %s: phase %s, %.3f s of virtual time, %s\n", s.World, state, s.Phase, float64(s.VirtualNs)/1e9,
		plural.Count(s.Events, "event"))
	for _, n := range s.Nodes {
		fmt.Fprintf(a.Out, "  node %s: %s\n", n.Name, n.State)
	}
	for _, u := range s.Faults {
		fmt.Fprintf(a.Out, "  fault %s on %s: ends at %.3f s\n", u.Kind, u.Target, float64(u.EndNs)/1e9)
	}
	return nil
}

// runInRealTime has the worlds of this project run in real time, and take orders.
func runInRealTime(p *project.Project) error {
	if p.Spec.Engine != world.VM {
		return errors.New("--async-vm needs the engine vm; add --engine vm")
	}
	return os.Setenv(vm.AsyncVariable, filepath.Join(p.State, vm.SocketName))
}
