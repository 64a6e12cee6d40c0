//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// behaviours has all kinds.
var behaviours = [kernel.NumKinds]Behaviour{
	kernel.FileInode: inodeFile, kernel.FileSynth: procFile, kernel.FileMemory: memoryFile, kernel.FilePipe: pipeFile,
	kernel.FileSocket: socketFile, kernel.FileEpoll: epollFile,
	kernel.FileEvent: eventFile, kernel.FileTimer: timerFile, kernel.FileSignal: signalFile, kernel.FileInotify: inotifyFile, kernel.FilePID: pidFile,
	kernel.FileNull: nullFile, kernel.FileZero: zeroFile, kernel.FileFull: fullFile, kernel.FileRandom: randomFile,
	kernel.FileLog: logFile, kernel.FileReport: reportFile,
	kernel.FileSDK: sdkFile, kernel.FileControl: controlFile, kernel.FileOrders: ordersFile, kernel.FileEdges: edgesFile,
	kernel.FileMishap: mishapFile, kernel.FilePath: pathFile,
}

// pathFile is O_PATH: a place in the tree, of which no byte is read.
var pathFile = Behaviour{Ready: func(*Kernel, *File) uint32 { return unix.POLLNVAL }}
