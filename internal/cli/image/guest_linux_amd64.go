package image

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
)

func imagePullKernelVerb(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pull-kernel",
		Short: "Bring a kernel for the engine vm",
		Long: `Brings Debian's kernel for virtual machines of clouds, with its modules, into bloodhound/kernels in the user's cache folder: by
apt-get download, from the archives that this machine's sources.list names. Root is not needed.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, err := vm.PullKernel(func(line string) { a.Note("%s", line) })
			if err != nil {
				return console.Failed(err)
			}
			fmt.Fprintf(a.Out, "the engine vm takes %s\n", file)
			return nil
		},
	}
}
