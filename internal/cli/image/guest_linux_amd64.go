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
		Short: "Download a kernel for the engine vm",
		Long: "Download Debian's kernel for cloud machines, with its modules, into bloodhound/kernels in your " +
			"cache folder. It uses apt-get download and the archives in this machine's sources.list, and does " +
			"not need root.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, err := vm.PullKernel(func(line string) { a.Note("%s", line) })
			if err != nil {
				return console.Failed(err)
			}
			fmt.Fprintf(a.Out, "the engine vm will use %s\n", file)
			return nil
		},
	}
}
