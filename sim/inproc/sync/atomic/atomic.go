// Package atomic stands in for sync/atomic, like its parent package for sync: other goroutines may run before each
// operation.
package atomic

import (
	std "sync/atomic"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
)

// Int32 is atomic.Int32.
type Int32 struct{ std std.Int32 }

// Load returns the value.
func (x *Int32) Load() int32 {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Int32) Store(v int32) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Int32) Swap(v int32) int32 {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Int32) CompareAndSwap(old, v int32) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Add adds delta, and returns the sum.
func (x *Int32) Add(delta int32) int32 {
	points.Switch()
	return x.std.Add(delta)
}

// And keeps the bits of a mask, and returns the value before.
func (x *Int32) And(mask int32) int32 {
	points.Switch()
	return x.std.And(mask)
}

// Or sets the bits of a mask, and returns the value before.
func (x *Int32) Or(mask int32) int32 {
	points.Switch()
	return x.std.Or(mask)
}

// LoadInt32 returns a value.
func LoadInt32(at *int32) int32 {
	points.Switch()
	return std.LoadInt32(at)
}

// StoreInt32 sets a value.
func StoreInt32(at *int32, v int32) {
	points.Switch()
	std.StoreInt32(at, v)
}

// SwapInt32 sets a value, and returns the one before.
func SwapInt32(at *int32, v int32) int32 {
	points.Switch()
	return std.SwapInt32(at, v)
}

// CompareAndSwapInt32 sets a value if it is old.
func CompareAndSwapInt32(at *int32, old, v int32) bool {
	points.Switch()
	return std.CompareAndSwapInt32(at, old, v)
}

// AddInt32 adds delta, and returns the sum.
func AddInt32(at *int32, delta int32) int32 {
	points.Switch()
	return std.AddInt32(at, delta)
}

// AndInt32 keeps the bits of a mask, and returns the value before.
func AndInt32(at *int32, mask int32) int32 {
	points.Switch()
	return std.AndInt32(at, mask)
}

// OrInt32 sets the bits of a mask, and returns the value before.
func OrInt32(at *int32, mask int32) int32 {
	points.Switch()
	return std.OrInt32(at, mask)
}

// Int64 is atomic.Int64.
type Int64 struct{ std std.Int64 }

// Load returns the value.
func (x *Int64) Load() int64 {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Int64) Store(v int64) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Int64) Swap(v int64) int64 {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Int64) CompareAndSwap(old, v int64) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Add adds delta, and returns the sum.
func (x *Int64) Add(delta int64) int64 {
	points.Switch()
	return x.std.Add(delta)
}

// And keeps the bits of a mask, and returns the value before.
func (x *Int64) And(mask int64) int64 {
	points.Switch()
	return x.std.And(mask)
}

// Or sets the bits of a mask, and returns the value before.
func (x *Int64) Or(mask int64) int64 {
	points.Switch()
	return x.std.Or(mask)
}

// LoadInt64 returns a value.
func LoadInt64(at *int64) int64 {
	points.Switch()
	return std.LoadInt64(at)
}

// StoreInt64 sets a value.
func StoreInt64(at *int64, v int64) {
	points.Switch()
	std.StoreInt64(at, v)
}

// SwapInt64 sets a value, and returns the one before.
func SwapInt64(at *int64, v int64) int64 {
	points.Switch()
	return std.SwapInt64(at, v)
}

// CompareAndSwapInt64 sets a value if it is old.
func CompareAndSwapInt64(at *int64, old, v int64) bool {
	points.Switch()
	return std.CompareAndSwapInt64(at, old, v)
}

// AddInt64 adds delta, and returns the sum.
func AddInt64(at *int64, delta int64) int64 {
	points.Switch()
	return std.AddInt64(at, delta)
}

// AndInt64 keeps the bits of a mask, and returns the value before.
func AndInt64(at *int64, mask int64) int64 {
	points.Switch()
	return std.AndInt64(at, mask)
}

// OrInt64 sets the bits of a mask, and returns the value before.
func OrInt64(at *int64, mask int64) int64 {
	points.Switch()
	return std.OrInt64(at, mask)
}

// Uint32 is atomic.Uint32.
type Uint32 struct{ std std.Uint32 }

// Load returns the value.
func (x *Uint32) Load() uint32 {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Uint32) Store(v uint32) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Uint32) Swap(v uint32) uint32 {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Uint32) CompareAndSwap(old, v uint32) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Add adds delta, and returns the sum.
func (x *Uint32) Add(delta uint32) uint32 {
	points.Switch()
	return x.std.Add(delta)
}

// And keeps the bits of a mask, and returns the value before.
func (x *Uint32) And(mask uint32) uint32 {
	points.Switch()
	return x.std.And(mask)
}

// Or sets the bits of a mask, and returns the value before.
func (x *Uint32) Or(mask uint32) uint32 {
	points.Switch()
	return x.std.Or(mask)
}

// LoadUint32 returns a value.
func LoadUint32(at *uint32) uint32 {
	points.Switch()
	return std.LoadUint32(at)
}

// StoreUint32 sets a value.
func StoreUint32(at *uint32, v uint32) {
	points.Switch()
	std.StoreUint32(at, v)
}

// SwapUint32 sets a value, and returns the one before.
func SwapUint32(at *uint32, v uint32) uint32 {
	points.Switch()
	return std.SwapUint32(at, v)
}

// CompareAndSwapUint32 sets a value if it is old.
func CompareAndSwapUint32(at *uint32, old, v uint32) bool {
	points.Switch()
	return std.CompareAndSwapUint32(at, old, v)
}

// AddUint32 adds delta, and returns the sum.
func AddUint32(at *uint32, delta uint32) uint32 {
	points.Switch()
	return std.AddUint32(at, delta)
}

// AndUint32 keeps the bits of a mask, and returns the value before.
func AndUint32(at *uint32, mask uint32) uint32 {
	points.Switch()
	return std.AndUint32(at, mask)
}

// OrUint32 sets the bits of a mask, and returns the value before.
func OrUint32(at *uint32, mask uint32) uint32 {
	points.Switch()
	return std.OrUint32(at, mask)
}

// Uint64 is atomic.Uint64.
type Uint64 struct{ std std.Uint64 }

// Load returns the value.
func (x *Uint64) Load() uint64 {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Uint64) Store(v uint64) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Uint64) Swap(v uint64) uint64 {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Uint64) CompareAndSwap(old, v uint64) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Add adds delta, and returns the sum.
func (x *Uint64) Add(delta uint64) uint64 {
	points.Switch()
	return x.std.Add(delta)
}

// And keeps the bits of a mask, and returns the value before.
func (x *Uint64) And(mask uint64) uint64 {
	points.Switch()
	return x.std.And(mask)
}

// Or sets the bits of a mask, and returns the value before.
func (x *Uint64) Or(mask uint64) uint64 {
	points.Switch()
	return x.std.Or(mask)
}

// LoadUint64 returns a value.
func LoadUint64(at *uint64) uint64 {
	points.Switch()
	return std.LoadUint64(at)
}

// StoreUint64 sets a value.
func StoreUint64(at *uint64, v uint64) {
	points.Switch()
	std.StoreUint64(at, v)
}

// SwapUint64 sets a value, and returns the one before.
func SwapUint64(at *uint64, v uint64) uint64 {
	points.Switch()
	return std.SwapUint64(at, v)
}

// CompareAndSwapUint64 sets a value if it is old.
func CompareAndSwapUint64(at *uint64, old, v uint64) bool {
	points.Switch()
	return std.CompareAndSwapUint64(at, old, v)
}

// AddUint64 adds delta, and returns the sum.
func AddUint64(at *uint64, delta uint64) uint64 {
	points.Switch()
	return std.AddUint64(at, delta)
}

// AndUint64 keeps the bits of a mask, and returns the value before.
func AndUint64(at *uint64, mask uint64) uint64 {
	points.Switch()
	return std.AndUint64(at, mask)
}

// OrUint64 sets the bits of a mask, and returns the value before.
func OrUint64(at *uint64, mask uint64) uint64 {
	points.Switch()
	return std.OrUint64(at, mask)
}

// Uintptr is atomic.Uintptr.
type Uintptr struct{ std std.Uintptr }

// Load returns the value.
func (x *Uintptr) Load() uintptr {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Uintptr) Store(v uintptr) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Uintptr) Swap(v uintptr) uintptr {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Uintptr) CompareAndSwap(old, v uintptr) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Add adds delta, and returns the sum.
func (x *Uintptr) Add(delta uintptr) uintptr {
	points.Switch()
	return x.std.Add(delta)
}

// And keeps the bits of a mask, and returns the value before.
func (x *Uintptr) And(mask uintptr) uintptr {
	points.Switch()
	return x.std.And(mask)
}

// Or sets the bits of a mask, and returns the value before.
func (x *Uintptr) Or(mask uintptr) uintptr {
	points.Switch()
	return x.std.Or(mask)
}

// LoadUintptr returns a value.
func LoadUintptr(at *uintptr) uintptr {
	points.Switch()
	return std.LoadUintptr(at)
}

// StoreUintptr sets a value.
func StoreUintptr(at *uintptr, v uintptr) {
	points.Switch()
	std.StoreUintptr(at, v)
}

// SwapUintptr sets a value, and returns the one before.
func SwapUintptr(at *uintptr, v uintptr) uintptr {
	points.Switch()
	return std.SwapUintptr(at, v)
}

// CompareAndSwapUintptr sets a value if it is old.
func CompareAndSwapUintptr(at *uintptr, old, v uintptr) bool {
	points.Switch()
	return std.CompareAndSwapUintptr(at, old, v)
}

// AddUintptr adds delta, and returns the sum.
func AddUintptr(at *uintptr, delta uintptr) uintptr {
	points.Switch()
	return std.AddUintptr(at, delta)
}

// AndUintptr keeps the bits of a mask, and returns the value before.
func AndUintptr(at *uintptr, mask uintptr) uintptr {
	points.Switch()
	return std.AndUintptr(at, mask)
}

// OrUintptr sets the bits of a mask, and returns the value before.
func OrUintptr(at *uintptr, mask uintptr) uintptr {
	points.Switch()
	return std.OrUintptr(at, mask)
}

// LoadPointer returns a pointer.
func LoadPointer(at *unsafe.Pointer) unsafe.Pointer {
	points.Switch()
	return std.LoadPointer(at)
}

// StorePointer sets a pointer.
func StorePointer(at *unsafe.Pointer, v unsafe.Pointer) {
	points.Switch()
	std.StorePointer(at, v)
}

// SwapPointer sets a pointer, and returns the one before.
func SwapPointer(at *unsafe.Pointer, v unsafe.Pointer) unsafe.Pointer {
	points.Switch()
	return std.SwapPointer(at, v)
}

// CompareAndSwapPointer sets a pointer if it is old.
func CompareAndSwapPointer(at *unsafe.Pointer, old, v unsafe.Pointer) bool {
	points.Switch()
	return std.CompareAndSwapPointer(at, old, v)
}

// Bool is atomic.Bool.
type Bool struct{ std std.Bool }

// Load returns the value.
func (x *Bool) Load() bool {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Bool) Store(v bool) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Bool) Swap(v bool) bool {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Bool) CompareAndSwap(old, v bool) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Pointer is atomic.Pointer.
type Pointer[T any] struct{ std std.Pointer[T] }

// Load returns the value.
func (x *Pointer[T]) Load() *T {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Pointer[T]) Store(v *T) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Pointer[T]) Swap(v *T) *T {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Pointer[T]) CompareAndSwap(old, v *T) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}

// Value is atomic.Value.
type Value struct{ std std.Value }

// Load returns the value.
func (x *Value) Load() any {
	points.Switch()
	return x.std.Load()
}

// Store sets the value.
func (x *Value) Store(v any) {
	points.Switch()
	x.std.Store(v)
}

// Swap sets the value, and returns the one before.
func (x *Value) Swap(v any) any {
	points.Switch()
	return x.std.Swap(v)
}

// CompareAndSwap sets the value if it is old.
func (x *Value) CompareAndSwap(old, v any) bool {
	points.Switch()
	return x.std.CompareAndSwap(old, v)
}
