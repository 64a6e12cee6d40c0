package flags

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm"
)

// addVM adds the flags of the engine vm, which every verb has that runs a world.
func addVM(c *cobra.Command) {
	for _, v := range []struct{ name, variable, usage string }{
		{"kernel", vm.KernelVariable, "engine vm: boot this kernel, a `file` vmlinuz-VERSION"},
		{"initrd", vm.InitrdVariable, "engine vm: unpack this cpio `file` in the guest first"},
		{"base-image", vm.RootVariable, "engine vm: nodes see the files in this `folder` instead of the files of this machine"},
		{"qemu", vm.QEMUVariable, "engine vm: use this qemu-system-x86_64 `program`"},
	} {
		c.Flags().Var(variableFlag(v.variable), v.name, v.usage)
	}
}

// variableFlag is a flag that sets a variable of the environment, which processes that make the runs have, too.
type variableFlag string

func (v variableFlag) String() string { return "" }
func (v variableFlag) Type() string   { return "string" }

func (v variableFlag) Set(text string) error {
	if text == "" {
		return errors.New("the value is empty")
	}
	full, err := filepath.Abs(text)
	if err != nil {
		return err
	}
	if string(v) == vm.QEMUVariable && !strings.Contains(text, "/") { // a name to look up
		full = text
	}
	return os.Setenv(string(v), full)
}
