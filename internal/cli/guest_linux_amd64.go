package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
)

func (a *app) imagePullKernelVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "pull-kernel",
		Short: "Bring a kernel for the engine vm",
		Long: `Brings Debian's kernel for virtual machines of clouds, with its modules, into bloodhound/kernels in the user's cache folder: by
apt-get download, from the archives that this machine's sources.list names. Root is not needed.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, err := vm.PullKernel(func(line string) { a.note("%s", line) })
			if err != nil {
				return failed(err)
			}
			fmt.Fprintf(a.out, "the engine vm takes %s\n", file)
			return nil
		},
	}
}
