//go:build linux && amd64

package kernel

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"

// Argument is the register of a system call's argument, which a handler reads as the type that the call's manual page gives it.
type Argument uint64

// arguments gives the arguments of the call at which a thread has stopped.
func arguments(s *machine.Stop) (args [6]Argument) {
	for i, register := range s.Args {
		args[i] = Argument(register)
	}
	return args
}

// Int reads an int: a descriptor, flags, a number of a process.
func (a Argument) Int() int { return int(int32(a)) }

// Uint reads an unsigned int: an id of a user, a mask.
func (a Argument) Uint() uint32 { return uint32(a) }

// Int64 reads a long: an offset, the size of a file.
func (a Argument) Int64() int64 { return int64(a) }

// Uint64 reads an unsigned long: flags, or what has another type for each command.
func (a Argument) Uint64() uint64 { return uint64(a) }

// Pointer reads an address in the program's memory.
func (a Argument) Pointer() uint64 { return uint64(a) }

// Size reads a number of bytes.
func (a Argument) Size() uint64 { return uint64(a) }

// Mode reads permissions of a file, with its type where a call takes both.
func (a Argument) Mode() uint32 { return uint32(a) }
