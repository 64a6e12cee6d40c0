package wire

import "encoding/binary"

// FileRequest asks about a file of a tree. Paths are relative to the tree's root; the empty one is the root.
type FileRequest struct {
	Tree   int
	Path   string
	Offset int64 // Read: in bytes; List: the place of the first name
	Size   int   // Read
}

// Attr holds the attributes of a file. Mode includes the kind, like st_mode of stat(2).
type Attr struct {
	Errno    int
	Mode     uint32
	UID, GID uint32
	Size     int64
	Nlink    uint32
	Rdev     uint32
	MtimeNs  int64
	Target   string // of a symbolic link
}

// Name is a name in a folder.
type Name struct {
	Mode uint32
	Name string
}

type writer []byte

func (w *writer) u32(v uint32) { *w = binary.LittleEndian.AppendUint32(*w, v) }
func (w *writer) u64(v uint64) { *w = binary.LittleEndian.AppendUint64(*w, v) }
func (w *writer) str(s string) { w.u32(uint32(len(s))); *w = append(*w, s...) }

// reader reads what a writer has written. What is cut short reads as zero: the other side is this program itself.
type reader []byte

func (r *reader) u32() (v uint32) {
	if len(*r) >= 4 {
		v = binary.LittleEndian.Uint32(*r)
		*r = (*r)[4:]
	}
	return v
}

func (r *reader) u64() (v uint64) {
	if len(*r) >= 8 {
		v = binary.LittleEndian.Uint64(*r)
		*r = (*r)[8:]
	}
	return v
}

func (r *reader) str() string {
	n := min(int(r.u32()), len(*r))
	s := string((*r)[:n])
	*r = (*r)[n:]
	return s
}

// Append writes the request.
func (f FileRequest) Append(b []byte) []byte {
	w := writer(b)
	w.u32(uint32(f.Tree))
	w.u64(uint64(f.Offset))
	w.u32(uint32(f.Size))
	w.str(f.Path)
	return w
}

// ParseFileRequest reads what Append has written.
func ParseFileRequest(b []byte) (f FileRequest) {
	r := reader(b)
	f.Tree, f.Offset, f.Size, f.Path = int(int32(r.u32())), int64(r.u64()), int(r.u32()), r.str()
	return f
}

// Append writes the attributes.
func (a Attr) Append(b []byte) []byte {
	w := writer(b)
	for _, v := range []uint32{uint32(a.Errno), a.Mode, a.UID, a.GID, a.Nlink, a.Rdev} {
		w.u32(v)
	}
	w.u64(uint64(a.Size))
	w.u64(uint64(a.MtimeNs))
	w.str(a.Target)
	return w
}

// ParseAttr reads what Append has written.
func ParseAttr(b []byte) (a Attr) {
	r := reader(b)
	a.Errno, a.Mode, a.UID, a.GID, a.Nlink, a.Rdev = int(r.u32()), r.u32(), r.u32(), r.u32(), r.u32(), r.u32()
	a.Size, a.MtimeNs, a.Target = int64(r.u64()), int64(r.u64()), r.str()
	return a
}

// AppendNames writes names of a folder, as many as fit into the window.
func AppendNames(b []byte, errno int, names []Name) []byte {
	w := writer(b)
	w.u32(uint32(errno))
	for _, n := range names {
		if len(w)+len(n.Name)+16 > WindowBytes {
			break
		}
		w.u32(n.Mode)
		w.str(n.Name)
	}
	return w
}

// ParseNames reads what AppendNames has written.
func ParseNames(b []byte) (errno int, names []Name) {
	r := reader(b)
	errno = int(r.u32())
	for len(r) > 0 {
		mode := r.u32()
		names = append(names, Name{mode, r.str()})
	}
	return errno, names
}

// PacketRequest asks what becomes of a packet.
type PacketRequest struct {
	From, To int
	NowNs    int64
	Datagram bool // no TCP segment
	Size     int
	Bytes    []byte // of the packet, if they are wanted
}

// Fate decides how a packet is delivered.
type Fate struct {
	Lost    bool
	Copies  int   // further ones
	DelayNs int64 // beyond the link's latency
	Bit     int   // the one to flip, from 1 on; 0 is none
}

// Append writes the request.
func (p PacketRequest) Append(b []byte) []byte {
	w := writer(b)
	w.u32(uint32(p.From))
	w.u32(uint32(p.To))
	w.u64(uint64(p.NowNs))
	d := uint32(0)
	if p.Datagram {
		d = 1
	}
	w.u32(d)
	w.u32(uint32(p.Size))
	w.str(string(p.Bytes))
	return w
}

// ParsePacketRequest reads what Append has written.
func ParsePacketRequest(b []byte) (p PacketRequest) {
	r := reader(b)
	p.From, p.To, p.NowNs, p.Datagram, p.Size, p.Bytes = int(r.u32()), int(r.u32()), int64(r.u64()), r.u32() != 0, int(r.u32()), []byte(r.str())
	return p
}

// Append writes the fate.
func (f Fate) Append(b []byte) []byte {
	w := writer(b)
	lost := uint32(0)
	if f.Lost {
		lost = 1
	}
	w.u32(lost)
	w.u32(uint32(f.Copies))
	w.u64(uint64(f.DelayNs))
	w.u32(uint32(f.Bit))
	return w
}

// ParseFate reads what Append has written.
func ParseFate(b []byte) (f Fate) {
	r := reader(b)
	f.Lost, f.Copies, f.DelayNs, f.Bit = r.u32() != 0, int(r.u32()), int64(r.u64()), int(r.u32())
	return f
}
