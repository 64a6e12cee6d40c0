package guest

import "encoding/binary"

// stub is a program for process 1 of a node: it mounts /proc, ignores the ends of its children, which the kernel then forgets by
// itself, and waits forever.
func stub() []byte {
	code := []byte{
		0x48, 0x8d, 0x3d, 0, 0, 0, 0, // lea rdi, [rip+proc]
		0x48, 0x8d, 0x35, 0, 0, 0, 0, // lea rsi, [rip+path]
		0x48, 0x8d, 0x15, 0, 0, 0, 0, // lea rdx, [rip+proc]
		0x4d, 0x31, 0xd2, // xor r10, r10: the flags
		0x4d, 0x31, 0xc0, // xor r8, r8: the data
		0xb8, 165, 0, 0, 0, // mov eax, mount
		0x0f, 0x05, // syscall
		0xbf, 17, 0, 0, 0, // mov edi, SIGCHLD
		0x48, 0x8d, 0x35, 0, 0, 0, 0, // lea rsi, [rip+action]
		0x48, 0x31, 0xd2, // xor rdx, rdx
		0x41, 0xba, 8, 0, 0, 0, // mov r10d, 8: the size of a set of signals
		0xb8, 13, 0, 0, 0, // mov eax, rt_sigaction
		0x0f, 0x05, // syscall
		0xb8, 34, 0, 0, 0, // wait: mov eax, pause
		0x0f, 0x05, // syscall
		0xeb, 0xf7, // jmp wait
	}
	const (
		base = 0x400000
		head = 64 + 56 // the ELF header and one program header
	)
	proc := len(code)
	path := proc + len("proc\x00")
	action := path + len("/proc\x00")
	for at, target := range map[int]int{3: proc, 10: path, 17: proc, 42: action} { // of the displacements of the four lea
		binary.LittleEndian.PutUint32(code[at:], uint32(target-(at+4)))
	}
	code = append(code, "proc\x00/proc\x00"...)
	code = append(code, 1)                     // a struct sigaction of the kernel: SIG_IGN,
	code = append(code, make([]byte, 7+24)...) // without flags, restorer and mask
	le := binary.LittleEndian
	elf := make([]byte, head)
	copy(elf, "\x7fELF\x02\x01\x01")
	le.PutUint16(elf[16:], 2)  // ET_EXEC
	le.PutUint16(elf[18:], 62) // EM_X86_64
	le.PutUint32(elf[20:], 1)
	le.PutUint64(elf[24:], base+head)
	le.PutUint64(elf[32:], 64) // e_phoff
	le.PutUint16(elf[52:], 64)
	le.PutUint16(elf[54:], 56)
	le.PutUint16(elf[56:], 1)
	ph := elf[64:]
	le.PutUint32(ph, 1)     // PT_LOAD
	le.PutUint32(ph[4:], 5) // readable and executable
	le.PutUint64(ph[16:], base)
	le.PutUint64(ph[24:], base)
	le.PutUint64(ph[32:], uint64(head+len(code)))
	le.PutUint64(ph[40:], uint64(head+len(code)))
	le.PutUint64(ph[48:], 0x1000)
	return append(elf, code...)
}
