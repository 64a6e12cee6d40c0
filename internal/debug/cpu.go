package debug

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// RIP is the place of the instruction pointer in struct user_regs_struct (sys/user.h).
const RIP = 16

// register is a register as gdb knows it, in the order of its numbers.
type register struct {
	feature, name, kind string
	bytes               int
	read                func(c *engine.CPU, b []byte)
	write               func(c *engine.CPU, b []byte)
}

// registers lists the registers of the standard features of x86-64 (appendix G of the gdb manual).
var registers = makeRegisters()

// Places in the area that FXSAVE stores, and of the upper halves of the vector registers in that of XSAVE (Intel SDM volume 1, 10.5 and 13.4).
const (
	fxControl, fxStatus, fxTags, fxOp  = 0, 2, 4, 6
	fxIP, fxDP, fxMXCSR, fxST, fxXMM   = 8, 16, 24, 32, 160
	xsaveStates, xsaveAVX, xsaveHasAVX = 512, 576, 1 << 2
)

func makeRegisters() (list []register) {
	add := func(feature, name, kind string, bytes int, read, write func(*engine.CPU, []byte)) {
		list = append(list, register{feature, name, kind, bytes, read, write})
	}
	general := func(feature, name, kind string, bytes, place int) {
		add(feature, name, kind, bytes, func(c *engine.CPU, b []byte) {
			var v [8]byte
			binary.LittleEndian.PutUint64(v[:], c.General[place])
			copy(b, v[:])
		}, func(c *engine.CPU, b []byte) {
			var v [8]byte
			copy(v[:], b)
			c.General[place] = binary.LittleEndian.Uint64(v[:])
		})
	}
	extended := func(feature, name, kind string, bytes, at int) {
		add(feature, name, kind, bytes, func(c *engine.CPU, b []byte) {
			if at < len(c.Extended) {
				copy(b, c.Extended[at:])
			}
		}, func(c *engine.CPU, b []byte) {
			if at < len(c.Extended) {
				copy(c.Extended[at:], b)
			}
		})
	}
	const core, sse, linux, segments, avx = "core", "sse", "linux", "segments", "avx"
	for _, r := range []struct {
		name  string
		place int
	}{{"rax", 10}, {"rbx", 5}, {"rcx", 11}, {"rdx", 12}, {"rsi", 13}, {"rdi", 14}, {"rbp", 4}, {"rsp", 19}, {"r8", 9}, {"r9", 8}, {"r10", 7}, {"r11", 6},
		{"r12", 3}, {"r13", 2}, {"r14", 1}, {"r15", 0}, {"rip", RIP}} {
		kind := "int64"
		switch r.name {
		case "rbp", "rsp":
			kind = "data_ptr"
		case "rip":
			kind = "code_ptr"
		}
		general(core, r.name, kind, 8, r.place)
	}
	general(core, "eflags", "i386_eflags", 4, 18)
	for i, name := range []string{"cs", "ss", "ds", "es", "fs", "gs"} {
		general(core, name, "int32", 4, []int{17, 20, 23, 24, 25, 26}[i])
	}
	for i := range 8 {
		extended(core, fmt.Sprintf("st%d", i), "i387_ext", 10, fxST+16*i)
	}
	short := func(name string, at, bytes int) {
		add(core, name, "int", 4, func(c *engine.CPU, b []byte) {
			if at+bytes <= len(c.Extended) {
				copy(b[:bytes], c.Extended[at:])
			}
		}, func(c *engine.CPU, b []byte) {
			if at+bytes <= len(c.Extended) {
				copy(c.Extended[at:], b[:bytes])
			}
		})
	}
	short("fctrl", fxControl, 2)
	short("fstat", fxStatus, 2)
	add(core, "ftag", "int", 4, func(c *engine.CPU, b []byte) {
		tags := uint16(0)
		for i := range 8 {
			if len(c.Extended) <= fxTags || c.Extended[fxTags]>>i&1 == 0 {
				tags |= 3 << (2 * i) // empty
			}
		}
		binary.LittleEndian.PutUint16(b, tags)
	}, func(c *engine.CPU, b []byte) {
		used := byte(0)
		for i := range 8 {
			if binary.LittleEndian.Uint16(b)>>(2*i)&3 != 3 {
				used |= 1 << i
			}
		}
		if len(c.Extended) > fxTags {
			c.Extended[fxTags] = used
		}
	})
	short("fiseg", fxIP+4, 2)
	short("fioff", fxIP, 4)
	short("foseg", fxDP+4, 2)
	short("fooff", fxDP, 4)
	short("fop", fxOp, 2)
	for i := range 16 {
		extended(sse, fmt.Sprintf("xmm%d", i), "vec128", 16, fxXMM+16*i)
	}
	extended(sse, "mxcsr", "i386_mxcsr", 4, fxMXCSR)
	general(linux, "orig_rax", "int64", 8, 15)
	general(segments, "fs_base", "int64", 8, 21)
	general(segments, "gs_base", "int64", 8, 22)
	for i := range 16 {
		at := xsaveAVX + 16*i
		add(avx, fmt.Sprintf("ymm%dh", i), "uint128", 16, func(c *engine.CPU, b []byte) {
			if at+16 <= len(c.Extended) && c.Extended[xsaveStates]&xsaveHasAVX != 0 {
				copy(b, c.Extended[at:])
			}
		}, func(c *engine.CPU, b []byte) {
			if at+16 <= len(c.Extended) {
				if c.Extended[xsaveStates]&xsaveHasAVX == 0 { // then what lies there means nothing
					clear(c.Extended[xsaveAVX : xsaveAVX+16*16])
				}
				c.Extended[xsaveStates] |= xsaveHasAVX
				copy(c.Extended[at:], b)
			}
		})
	}
	return list
}

// baseRegisters are the bytes of the registers that every x86-64 has, in gdb's order. gdb asks for others one by one. To processes that it meets while it is
// connected it gives no description but its own, which has these alone.
func baseRegisters(c *engine.CPU) (b []byte) {
	for i := range registers {
		r := &registers[i]
		if r.feature == "avx" {
			break
		}
		part := make([]byte, r.bytes)
		r.read(c, part)
		b = append(b, part...)
	}
	return b
}

// oneRegister are the bytes of the register with a number.
func oneRegister(c *engine.CPU, number uint64) ([]byte, bool) {
	if number >= uint64(len(registers)) {
		return nil, false
	}
	r := &registers[number]
	b := make([]byte, r.bytes)
	r.read(c, b)
	return b, true
}

// setRegister writes the register with a number, and reports whether it holds that now.
func setRegister(c *engine.CPU, number uint64, b []byte) bool {
	registers[number].write(c, b)
	now, _ := oneRegister(c, number)
	return bytes.Equal(now, b)
}

// descriptions are the documents of qXfer:features by name: target.xml includes one for each feature, as delve wants it.
var descriptions = describe()

const (
	flagTypes = `<flags id="i386_eflags" size="4"><field name="CF" start="0" end="0"/><field name="" start="1" end="1"/><field name="PF" start="2" end="2"/><field name="AF" start="4" end="4"/>` +
		`<field name="ZF" start="6" end="6"/><field name="SF" start="7" end="7"/><field name="TF" start="8" end="8"/><field name="IF" start="9" end="9"/><field name="DF" start="10" end="10"/>` +
		`<field name="OF" start="11" end="11"/></flags>`
	vectorTypes = `<vector id="v4f" type="ieee_single" count="4"/><vector id="v2d" type="ieee_double" count="2"/><vector id="v16i8" type="int8" count="16"/><vector id="v8i16" type="int16" count="8"/>` +
		`<vector id="v4i32" type="int32" count="4"/><vector id="v2i64" type="int64" count="2"/><union id="vec128"><field name="v4_float" type="v4f"/><field name="v2_double" type="v2d"/>` +
		`<field name="v16_int8" type="v16i8"/><field name="v8_int16" type="v8i16"/><field name="v4_int32" type="v4i32"/><field name="v2_int64" type="v2i64"/><field name="uint128" type="uint128"/></union>` +
		`<flags id="i386_mxcsr" size="4"><field name="IE" start="0" end="0"/><field name="DE" start="1" end="1"/><field name="ZE" start="2" end="2"/><field name="OE" start="3" end="3"/>` +
		`<field name="UE" start="4" end="4"/><field name="PE" start="5" end="5"/><field name="DAZ" start="6" end="6"/><field name="FZ" start="15" end="15"/></flags>`
)

func describe() map[string]string {
	const head = `<?xml version="1.0"?><!DOCTYPE %s SYSTEM "gdb-target.dtd">`
	target := fmt.Sprintf(head, "target") + `<target><architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>`
	list := map[string]string{}
	for i := range registers {
		r := &registers[i]
		file := r.feature + ".xml"
		if list[file] == "" {
			target += fmt.Sprintf(`<xi:include href="%s"/>`, file)
			list[file] = fmt.Sprintf(head, "feature") + fmt.Sprintf(`<feature name="org.gnu.gdb.i386.%s">`, r.feature) +
				map[string]string{"core": flagTypes, "sse": vectorTypes}[r.feature]
		}
		group := ""
		if r.kind == "int" {
			group = ` group="float"`
		}
		list[file] += fmt.Sprintf(`<reg name="%s" bitsize="%d" type="%s" regnum="%d"%s/>`, r.name, 8*r.bytes, r.kind, i, group)
	}
	for file := range list {
		list[file] += "</feature>"
	}
	list["target.xml"] = target + "</target>"
	return list
}
