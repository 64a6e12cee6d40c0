package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func (a *app) vmVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "vm",
		Short: "Look at a virtual machine that runs in real time, pause it, and inject faults by hand",
		Long: `Gives orders to a world that ` + "`bloodhound run --engine vm --async-vm`" + ` runs in real time. Such a run happens once: nothing of it repeats.
`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		a.vmOrder("status", "Print phase, nodes and faults of the world", vm.AskStatus),
		a.vmOrder("pause", "Have the world stand still", vm.Pause),
		a.vmOrder("resume", "Have the world go on", vm.Resume),
		a.vmFaultVerb())
	return c
}

// vmFlags are those of each order.
type vmFlags struct {
	dir  string
	json bool
}

func (f *vmFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "project", ".", "the `folder` of the project whose world runs")
	addSwitch(c, &f.json, "json", "print one JSON document")
}

func (a *app) vmOrder(name, short, order string) *cobra.Command {
	f := &vmFlags{}
	c := &cobra.Command{Use: name, Short: short, Long: short + ".\n", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.order(f, vm.Request{Do: order}) }}
	f.flags(c)
	return c
}

func (a *app) vmFaultVerb() *cobra.Command {
	f := &vmFlags{}
	c := &cobra.Command{Use: "fault RULE", Short: "Inject a fault now",
		Long: `Injects a fault now. The rule is that of faults.rules without a moment, such as

  bloodhound vm fault crash on n1 for 2s
  bloodhound vm fault partition on n1-n2 one way for 500ms
`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.order(f, vm.Request{Do: vm.Inject, Fault: strings.Join(args, " ")})
		}}
	f.flags(c)
	return c
}

func (a *app) order(f *vmFlags, r vm.Request) error {
	s, err := vm.Ask(filepath.Join(stateFolder(f.dir), vm.SocketName), r)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(s)
	}
	state := "runs"
	if s.Paused {
		state = "is paused"
	}
	fmt.Fprintf(a.out, "world %s %s: phase %s, %.3f s of virtual time, %s\n", s.World, state, s.Phase, float64(s.VirtualNs)/1e9,
		plural.Count(s.Events, "event"))
	for _, n := range s.Nodes {
		fmt.Fprintf(a.out, "  node %s: %s\n", n.Name, n.State)
	}
	for _, u := range s.Faults {
		fmt.Fprintf(a.out, "  fault %s on %s: ends at %.3f s\n", u.Kind, u.Target, float64(u.EndNs)/1e9)
	}
	return nil
}

// inRealTime has the worlds of this project run in real time, and take orders.
func (p *project) inRealTime() error {
	if p.spec.Engine != world.VM {
		return errors.New("--async-vm runs a world of the engine vm in real time; add --engine vm")
	}
	return os.Setenv(vm.AsyncVariable, filepath.Join(p.state, vm.SocketName))
}
